"""The state of one level's refinement: the partition, its table and the update of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend, Workunit
from jetpy.backends.level import DeviceGraph
from jetpy.workloads import connectivity as kernels
from jetpy.workloads import projection as projection_kernels

REBUILD_SHARE = 10
"""Rows are rebuilt rather than updated when more than 1/10 of the vertices moved."""


@dataclass(frozen=True, eq=False)
class Measures:
    """Cut (total weight of undirected cut edges) and part weights (int64, shape (k,), host).

    Projection to a finer level leaves both as they are.
    """

    cut: int
    part_weights: npt.NDArray[np.int64]

    @property
    def heaviest(self) -> int:
        """Weight of the heaviest part."""
        return int(self.part_weights.max())


class RefinementState:
    """A partition of one level, mutable, with everything that depends on it kept up to date.

    Attributes
    ----------
    parts : int32, shape (n,)
    measures : Measures
        Of `parts`.
    best : int32, shape (n,)
        Cached best destination: -1 no adjacent part, -2 unknown.
    rows, slots, weights : the connectivity table (`jetpy.workloads.connectivity`)
    """

    def __init__(
        self,
        backend: Backend,
        graph: DeviceGraph,
        parts: Array,
        k: int,
        known: Measures | None = None,
    ) -> None:
        self.backend, self.graph, self.k = backend, graph, k
        n = graph.n
        self.sources = backend.empty(n)
        self.best, self.gains, self.own = backend.empty(n), backend.empty(n), backend.empty(n)
        self.locks = backend.full(n, 0)
        self.priorities = backend.empty(n)
        self.proposals, self.accepted = backend.empty(n), backend.empty(n)
        self.moves, self.destinations = backend.empty(n), backend.empty(n)
        self.rows = backend.empty(n)
        size = backend.scan(n, kernels.size_rows, indptr=graph.indptr, rows=self.rows, k=k)
        self.slots, self.weights = backend.empty(size), backend.empty(size)
        self.start(parts, known)

    def start(self, parts: Array, known: Measures | None = None) -> None:
        """Take over `parts` (int32, shape (n,), modified from now on).

        `known` are its measures, where the caller has them.
        """
        self.parts = parts
        self.sources[:] = parts
        self.measures = known or measure(self.backend, self.graph, parts, self.k)
        weights = self.measures.part_weights.astype(np.int32)
        self._part_weights = self.backend.from_host(weights)
        self._rows_of(kernels.build_rows)

    @property
    def table(self) -> dict[str, Array]:
        """The table's arrays, as workunits name them."""
        return {"rows": self.rows, "slots": self.slots, "weights": self.weights}

    @property
    def adjacency(self) -> dict[str, Array]:
        """The graph's adjacency, as workunits name it."""
        return {
            "indptr": self.graph.indptr,
            "indices": self.graph.indices,
            "edge_weights": self.graph.edge_weights,
        }

    def _rows_of(self, workunit: Workunit, **own: Array) -> None:
        self.backend.parallel_for(
            self.graph.n,
            workunit,
            parts=self.parts,
            best=self.best,
            k=self.k,
            **self.adjacency,
            **self.table,
            **own,
        )

    def move(self, count: int, destinations: Array) -> None:
        """Move the first `count` vertices of `moves` to their `destinations` (by vertex).

        Each of them has to change its part: that is how a moved vertex is told from others.
        """
        backend = self.backend
        moved = {"moves": self.moves, "parts": self.parts, "sources": self.sources}
        backend.parallel_for(
            count,
            kernels.move_vertices,
            destinations=destinations,
            vertex_weights=self.graph.vertex_weights,
            part_weights=self._part_weights,
            best=self.best,
            **moved,
        )
        marked = {**moved, "best": self.best, **self.adjacency}
        if count > self.graph.n // REBUILD_SHARE:
            change = backend.reduce(count, kernels.change_of_cut, **marked)
            self._rows_of(kernels.rebuild_rows, sources=self.sources)
        else:
            change = backend.reduce(count, kernels.subtract_moves, k=self.k, **marked, **self.table)
            backend.parallel_for(
                count,
                kernels.add_moves,
                k=self.k,
                **moved,
                **self.adjacency,
                **self.table,
            )
        weights = backend.to_host(self._part_weights).astype(np.int64)
        self.measures = Measures(self.measures.cut + change // 2, weights)


def measure(backend: Backend, graph: DeviceGraph, parts: Array, k: int) -> Measures:
    """Compute the measures of a partition from scratch."""
    part_weights = backend.full(k, 0)
    backend.parallel_for(
        graph.n,
        projection_kernels.weigh_parts,
        parts=parts,
        vertex_weights=graph.vertex_weights,
        part_weights=part_weights,
    )
    directed = backend.reduce(
        graph.n,
        projection_kernels.cut_of_vertex,
        indptr=graph.indptr,
        indices=graph.indices,
        edge_weights=graph.edge_weights,
        parts=parts,
    )
    return Measures(directed // 2, backend.to_host(part_weights).astype(np.int64))
