"""Minimum degree orderings, on one CPU thread."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.backends import CPU, lease
from jetpy.device.device_graph import with_required_width
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.initial.subgraphs import subgraphs
from jetpy.kernel_language import Width
from jetpy.ordering.ordering import Ordering
from jetpy.ordering.symbolic import Permutation, analysed, pattern_graph
from jetpy.workloads.ordering import minimum_degree as kernels
from jetpy.workloads.ordering.minimum_degree import Block, Kind, Quotient

ROOM = 2
"""Entries of a quotient graph, per directed edge: the lists, and a new element in addition."""
DENSE, FEW = 10, 16
"""A row is dense if it has more than DENSE * sqrt(n) entries off the diagonal, and more than
FEW."""


def minimum_degree(matrix: Any, *, n: int | None = None, symmetrize: bool = False) -> Ordering:
    """Order a sparse symmetric matrix by approximate minimum degree.

    Each step eliminates a row that is then adjacent to few others (Amestoy, Davis, Duff, SIAM
    Journal on Matrix Analysis and Applications 17, 1996). Dense rows, which have more than 10
    sqrt(n) entries, come last. The order depends on the matrix alone.

    Parameters
    ----------
    matrix, n, symmetrize
        As for `symbolic`.

    Returns
    -------
    Ordering

    Raises
    ------
    GraphError
        As `symbolic` does.

    Examples
    --------
    >>> import jetpy
    >>> order = jetpy.minimum_degree(jetpy.generators.grid(30, 30))
    >>> order.fill < jetpy.symbolic(jetpy.generators.grid(30, 30)).fill / 2
    True
    """
    graph = pattern_graph(matrix, n, symmetrize=symmetrize)
    with lease(CPU, 1) as host, host.using():
        start = perf_counter()
        order = eliminated_by_degree(host, graph)
        seconds = perf_counter() - start
        structure = analysed(with_required_width(host, graph), graph, order)
    return Ordering(order, structure, "minimum_degree", seconds)


def eliminated_by_degree(host: Backend, graph: Graph) -> Permutation:
    """Return the vertices in order of elimination (int32, shape (n,)), dense ones last."""
    degrees = np.diff(graph.indptr)
    is_dense = degrees > max(FEW, DENSE * graph.n**0.5)
    if not is_dense.any():
        return quotient_order(host, graph)
    dense = np.flatnonzero(is_dense)
    order = [
        members[quotient_order(host, rest)]
        for block, members, rest in subgraphs(graph, is_dense.astype(np.int32), 2)
        if block == 0
    ]
    order.append(dense[np.argsort(degrees[dense], kind="stable")])
    return np.concatenate(order).astype(np.int32)


def quotient_order(
    host: Backend, graph: Graph, halo: npt.NDArray[np.bool_] | None = None
) -> Permutation:
    """Return the vertices outside the halo (bool, shape (n,)) in order of elimination."""
    n, nnz = graph.n, len(graph.indices)
    room = ROOM * nnz + n
    if room > INT32_MAX:
        host = host.with_width(Width.WIDE)
    kinds = np.full(n, Kind.VARIABLE, np.int32)
    if halo is not None:
        kinds[halo] = Kind.HALO
    entries = np.empty(room, np.int32)
    entries[:nnz] = graph.indices
    numbers = np.zeros(Block.COUNT, host.sum_type)
    numbers[[Block.END, Block.FREE, Block.ROOM, Block.LEAST]] = n, nnz, room, n

    def empty() -> Array:
        return host.empty(n)

    quotient = Quotient(
        entries=host.from_host(entries),
        starts=host.from_host(graph.indptr[:-1].astype(host.sum_type)),
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
