"""Minimum degree orderings on the host."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import Graph
from jetpy.ordering.symbolic import Permutation
from jetpy.workloads.ordering import minimum_degree as kernels
from jetpy.workloads.ordering.minimum_degree import Block, Kind, Quotient

ROOM = 2
"""Entries of a quotient graph, per directed edge: lists, and the new element in addition."""


def minimum_degree_order(
    host: Backend, graph: Graph, halo: npt.NDArray[np.bool_] | None = None
) -> Permutation:
    """Return the vertices outside the halo (bool, shape (n,)) in an order of elimination."""
    n, nnz = graph.n, len(graph.indices)
    kinds = np.full(n, Kind.VARIABLE, np.int32)
    if halo is not None:
        kinds[halo] = Kind.HALO
    entries = np.empty(ROOM * nnz + n, np.int32)
    entries[:nnz] = graph.indices
    numbers = np.zeros(Block.COUNT, np.int32)
    numbers[[Block.END, Block.FREE, Block.ROOM, Block.LEAST]] = n, nnz, len(entries), n

    def empty() -> Array:
        return host.empty(n)

    quotient = Quotient(
        entries=host.from_host(entries),
        starts=host.from_host(graph.indptr[:-1].astype(np.int32)),
        lengths=host.from_host(np.diff(graph.indptr).astype(np.int32)),
        element_counts=empty(),
        kinds=host.from_host(kinds),
        weights=host.from_host(graph.vertex_weights.copy()),
        degrees=empty(),
        uncovered=host.empty(n, np.int64),
        heads=empty(),
        nexts=empty(),
        befores=empty(),
        buckets=empty(),
        hashes=empty(),
        next_members=empty(),
        last_members=empty(),
        order=empty(),
    )
    held = host.from_host(numbers)
    host.run_tasks(1, kernels.order_blocks, graph=quotient, numbers=held)
    return host.to_host(quotient.order)[: int(host.to_host(held)[Block.ORDERED])]
