"""Cutting the blocks of a small graph into parts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from jetpy.graph import Graph, IntArray
from jetpy.initial.metis import bisect_recursively
from jetpy.problem import Problem


def split_blocks(
    graph: Graph, blocks: IntArray, problem: Problem, seed: int
) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)) of a graph whose blocks are cut into siblings each.

    `blocks` are the groups of the vertices (int32, shape (n,)).
    """
    arity = problem.siblings
    rooms = problem.limits.reshape(problem.groups, arity).sum(1)
    parts = np.zeros(graph.n, np.int32)
    for block, members, subgraph in subgraphs(graph, blocks, problem.groups):
        imbalance = rooms[block] / subgraph.total_vertex_weight - 1
        parts[members] = block * arity + bisect_recursively(
            subgraph, arity, imbalance, seed + block
        )
    return parts


def subgraphs(
    graph: Graph, blocks: IntArray, count: int
) -> Iterator[tuple[int, npt.NDArray[np.intp], Graph]]:
    """Yield each block that has vertices, these, and the subgraph that they induce.

    `blocks` are those of the vertices (int32, shape (n,)), in 0..count - 1; rows are sorted.
    """
    order = np.argsort(blocks, kind="stable")
    ranks = np.empty(graph.n, np.int32)
    ranks[order] = np.arange(graph.n)
    sources = graph.sources(0, graph.n)
    inside = blocks[sources] == blocks[graph.indices]
    entries = ranks[sources[inside]], ranks[graph.indices[inside]]
    rows = coo_array((graph.edge_weights[inside], entries), shape=(graph.n, graph.n)).tocsr()
    rows.sort_indices()
    stop = 0
    for block, size in enumerate(np.bincount(blocks, minlength=count).tolist()):
        start, stop = stop, stop + size
        if size > 0:
            first, last = rows.indptr[start], rows.indptr[stop]
            members = order[start:stop]
            yield (
                block,
                members,
                Graph(
                    rows.indptr[start : stop + 1] - first,
                    rows.indices[first:last] - np.int32(start),
                    rows.data[first:last],
                    graph.vertex_weights[members],
                ),
            )
