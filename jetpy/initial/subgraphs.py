"""Subgraphs induced by the blocks of a small graph."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from jetpy.graph.csr import Graph, IntArray


def subgraphs(
    graph: Graph, blocks: IntArray, count: int
) -> Iterator[tuple[int, npt.NDArray[np.intp], Graph]]:
    """Yield each block that has vertices, with its vertices and its induced subgraph.

    `blocks` (int32, shape (n,)) has each vertex's block, in 0..count - 1. Rows are sorted.
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
