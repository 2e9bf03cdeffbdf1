"""Placement of the vertices that modifiers have loosened (iG-kway, section V-C)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend
from jetpy.graph import IntArray
from jetpy.incremental.buckets import LANES, BucketList
from jetpy.incremental.column import row_offsets, upload_together
from jetpy.workloads import connectivity as table_kernels
from jetpy.workloads import contraction as contraction_kernels
from jetpy.workloads import placement as kernels

SEEN_ONCE = 16
"""A round of placement looks at so much less than refinement of a graph of the same size."""
KEY_BITS, PULL_BITS = 63, 31
"""Bits of what choices are sorted by, and those of them for an edge weight, if so many are left."""


@dataclass(frozen=True, eq=False)
class Loose:
    """The vertices that are to be placed, and their edges, on a back end that suits their number.

    Attributes
    ----------
    indptr, ends, edge_weights : int32
        Rows, with ends as `gather_loose` of `jetpy.workloads.placement` tells them.
    weights, homes : int32
        Weights of the vertices, and the parts where they were; k for new ones.
    """

    backend: Backend
    indptr: Array
    ends: Array
    edge_weights: Array
    weights: Array
    homes: Array

    @property
    def rows(self) -> dict[str, Array]:
        """The rows, as workunits name them."""
        return {"indptr": self.indptr, "ends": self.ends, "edge_weights": self.edge_weights}


@dataclass(frozen=True)
class Placed:
    """What placement led to.

    Attributes
    ----------
    moved : int
        How many vertices are in another part than before; new ones do not count.
    growth : int
        By how much the weight of edges between parts has grown.
    loss : int
        How much of the cut is there because parts had no room: each vertex's edges into the part
        that it is in weigh so much less than those into another one.
    """

    moved: int
    growth: int
    loss: int


class Placement:
    """Finds the loose vertices of a graph in buckets, and places them."""

    def __init__(self, graph: BucketList, k: int, seed: int, highest_degree: int) -> None:
        self._graph, self._k, self._seed = graph, k, seed
        self._highest_degree = highest_degree
        self._marks, self._numbers = graph.backend.empty(0), graph.backend.empty(0)

    def update(self, touched: IntArray, part_weights: npt.NDArray[np.int64], limit: int) -> Placed:
        """Place new vertices, and those that more draws to other parts than to theirs.

        Parameters
        ----------
        touched : int32, ascending
            Vertices whose edges have changed, and new ones.
        part_weights : int64, shape (k,)
            Brought up to date in place.
        limit : int
            Largest part weight; the lightest part gets a vertex that no part has room for.
        """
        vertices = self._loosen(touched)
        if len(vertices) == 0:
            return Placed(0, 0, 0)
        graph = self._graph
        weights, homes = graph.vertex_weights.host[vertices], graph.parts.host[vertices]
        old = homes < self._k
        np.subtract.at(part_weights, homes[old], weights[old])
        loose = self._gather(vertices, weights, homes)
        parts, growth, loss = place(loose, part_weights, limit, self._seed)
        graph.parts.set(vertices, parts)
        return Placed(int((parts[old] != homes[old]).sum()), growth, loss)

    def _loosen(self, touched: IntArray) -> IntArray:
        """Return the vertices to place (int32, ascending): touched ones and neighbours of such."""
        graph, backend = self._graph, self._graph.backend
        if len(self._marks) < graph.ids:
            size = graph.ids + graph.ids // 2
            self._marks, self._numbers = backend.full(size, 0), backend.full(size, -1)
        count = len(touched)
        found = backend.empty(count + int(graph.length.host[touched].sum()))
        found[:count] = backend.from_host(touched)
        self._mark_loose(found[:count])
        counts = backend.full(1, count)
        backend.parallel_for(
            count * graph.lanes,
            kernels.find_neighbours,
            vertices=found[:count],
            length=graph.length.device,
            marks=self._marks,
            found=found,
            counts=counts,
            lanes=graph.lanes,
            **graph.rows,
        )
        found = found[: backend.to_host(counts)[0]]
        self._mark_loose(found[count:])
        loose = backend.empty(len(found))
        number = backend.scan(
            len(found), kernels.list_loose, found=found, marks=self._marks, vertices=loose
        )
        backend.parallel_for(len(found), kernels.clear_marks, vertices=found, marks=self._marks)
        return np.sort(backend.to_host(loose[:number]))

    def _mark_loose(self, vertices: Array) -> None:
        graph, backend = self._graph, self._graph.backend
        balances = backend.full(len(vertices), 0)
        listed = {"vertices": vertices, "balances": balances, "marks": self._marks}
        backend.parallel_for(
            len(vertices) * graph.lanes,
            kernels.weigh_rows,
            length=graph.length.device,
            parts=graph.parts.device,
            lanes=graph.lanes,
            most=self._highest_degree,
            **listed,
            **graph.rows,
        )
        backend.parallel_for(
            len(vertices), kernels.mark_loose, parts=graph.parts.device, k=self._k, **listed
        )

    def _gather(self, vertices: IntArray, weights: IntArray, homes: IntArray) -> Loose:
        """Fetch the rows of vertices that are to be placed."""
        graph, backend = self._graph, self._graph.backend
        indptr = row_offsets(graph.length.host[vertices])
        nnz = int(indptr[-1])
        listed, offsets = upload_together(backend, vertices, indptr)
        entries = backend.empty(2 * nnz)
        numbering = {"vertices": listed, "numbers": self._numbers}
        backend.parallel_for(len(vertices), kernels.number_listed, forget=0, **numbering)
        backend.parallel_for(
            len(vertices) * graph.lanes,
            kernels.gather_loose,
            parts=graph.parts.device,
            indptr=offsets,
            ends=entries[:nnz],
            edge_weights=entries[nnz:],
            lanes=graph.lanes,
            **numbering,
            **graph.rows,
        )
        backend.parallel_for(len(vertices), kernels.number_listed, forget=1, **numbering)
        worker = backend.for_size((len(vertices) + nnz) // SEEN_ONCE)
        if worker is not backend:
            entries = backend.to_host(entries)
        offsets, weights, homes = upload_together(worker, indptr, weights, homes)
        return Loose(worker, offsets, entries[:nnz], entries[nnz:], weights, homes)


def place(
    loose: Loose, part_weights: npt.NDArray[np.int64], limit: int, seed: int
) -> tuple[IntArray, int, int]:
    """Place loose vertices by rounds, in each of which no two neighbours move.

    In a round, everyone whose neighbours of lower number are placed chooses a part with room, most
    often the one that most of its edges go to; each part admits those with most such edges until
    it is full (iG-kway, Algorithm 4; there it is full for all when it is for one).

    Parameters
    ----------
    loose : Loose
    part_weights : int64, shape (k,)
        Without the loose vertices; brought up to date in place.
    limit : int
        Largest part weight; the lightest part gets a vertex that no part has room for.
    seed : int

    Returns
    -------
    int32, shape (n,)
        The part of each.
    growth, loss : int
        As in `Placed`.
    """
    backend, n, k = loose.backend, len(loose.weights), len(part_weights)
    lanes = 1 if backend.prefers_lists else LANES
    rows = backend.empty(n)
    size = backend.scan(n, table_kernels.size_rows, indptr=loose.indptr, rows=rows, k=k)
    table = {
        "rows": rows,
        "slots": backend.full(size, -1),
        "weights": backend.full(size, 0),
        "waits": backend.full(n, 0),
    }
    backend.parallel_for(n * lanes, kernels.connect, k=k, lanes=lanes, **loose.rows, **table)
    parts, targets = backend.full(n, -1), backend.empty(n)
    pulls, losses = backend.empty(n), backend.empty(n)
    keys, queued = backend.empty(n, np.int64), backend.empty(n, np.int64)
    starts, lightest = backend.empty(k, np.int64), backend.empty(1)
    sums = backend.from_host(part_weights)
    number_bits = n.bit_length()
    pull_bits = min(PULL_BITS, KEY_BITS - number_bits - k.bit_length())
    left = n
    while left > 0:
        backend.parallel_for(1, kernels.find_lightest, part_weights=sums, lightest=lightest, k=k)
        backend.parallel_for(
            n,
            kernels.choose,
            indptr=loose.indptr,
            vertex_weights=loose.weights,
            parts=parts,
            part_weights=sums,
            lightest=lightest,
            targets=targets,
            pulls=pulls,
            losses=losses,
            limit=limit,
            seed=seed,
            k=k,
            **table,
        )
        count = backend.scan(
            n,
            kernels.list_choices,
            targets=targets,
            pulls=pulls,
            keys=keys,
            pull_bits=pull_bits,
            number_bits=number_bits,
        )
        chosen = {
            "keys": backend.sorted(keys[:count]),
            "vertex_weights": loose.weights,
            "number_bits": number_bits,
        }
        line = {"targets": targets, "queued": queued, "starts": starts}
        backend.scan(count, kernels.queue, **chosen, **line)
        left -= backend.reduce(
            count, kernels.admit, part_weights=sums, parts=parts, limit=limit, **chosen, **line
        )
        backend.parallel_for(
            count * lanes,
            kernels.settle,
            part_weights=sums,
            parts=parts,
            lanes=lanes,
            k=k,
            **chosen,
            **loose.rows,
            **table,
        )
    growth = backend.reduce(
        n * lanes,
        kernels.change_of_cut,
        homes=loose.homes,
        parts=parts,
        lanes=lanes,
        **loose.rows,
    )
    loss = backend.reduce(n, contraction_kernels.add_weights, edge_weights=losses)
    part_weights[:] = backend.to_host(sums)
    return backend.to_host(parts), growth // 2, loss
