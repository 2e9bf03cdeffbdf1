"""Random batches of modifiers, and the graph after each batch."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.graph.csr import Graph, IntArray
from jetpy.incremental.batch import Batch, is_among

KINDS = 5
"""A batch of b modifiers deletes b / KINDS edges and vertices each, and inserts b / KINDS vertices
and twice this number of edges."""


class Step(NamedTuple):
    """A batch, the graph after it, and the seconds of building this graph on the host.

    Vertex i of the graph has the id `vertices[i]`; int32, shape (n,), ascending.
    """

    batch: Batch
    graph: Graph
    vertices: IntArray
    seconds: float


def steps(graph: Graph, modifiers: int, batches: int) -> Iterator[Step]:
    """Yield random batches of about `modifiers` modifiers, the same in each call.

    Requires ``modifiers // KINDS < graph.n``.
    """
    rng = np.random.default_rng(modifiers)
    ids, first_new = np.arange(graph.n, dtype=np.int32), graph.n
    for _ in range(batches):
        batch = random_batch(rng, graph, ids, first_new, modifiers)
        start = perf_counter()
        graph = rebuilt(graph, ids, first_new, batch)
        seconds = perf_counter() - start
        ids = _ids_after(ids, first_new, batch)
        first_new = int(ids[-1]) + 1
        yield Step(batch, graph, ids, seconds)


def random_batch(
    rng: np.random.Generator,
    graph: Graph,
    ids: IntArray,
    first_new: int,
    b: int,
    near: bool = False,
) -> Batch:
    """Return a batch of about `b` modifiers, which depends only on `rng` and the current graph.

    The batch deletes b / 5 edges and b / 5 vertices. It inserts b / 5 vertices with two edges each:
    to two random vertices, or with `near` to a vertex and one of its neighbours. All inserted
    weights are 1.

    Parameters
    ----------
    ids : int32, shape (n,), ascending
        Id of each vertex.
    first_new : int
        Id of the first inserted vertex.
    """
    share = b // KINDS
    dead = rng.choice(graph.n, share, replace=False)
    entries = rng.choice(2 * graph.m, min(share, 2 * graph.m), replace=False)
    u = np.searchsorted(graph.indptr, entries, side="right") - 1
    deleted = np.unique(np.sort(np.stack([u, graph.indices[entries]], axis=1), axis=1), axis=0)
    alive = np.delete(np.arange(graph.n), dead)
    first, second = rng.choice(alive, share), rng.choice(alive, share)
    if near:
        entries = graph.indptr[first] + (rng.random(share) * graph.degrees[first]).astype(int)
        second = graph.indices[np.minimum(entries, 2 * graph.m - 1)]
    new = first_new + np.arange(share)
    edges = np.concatenate(
        [np.stack([new, ids[first]], axis=1), np.stack([new, ids[second]], axis=1)]
    )
    edges = np.unique(edges[~np.isin(edges[:, 1], ids[dead])], axis=0)
    return Batch(
        delete_edges=ids[deleted],
        delete_vertices=ids[dead],
        insert_vertices=share,
        insert_edges=edges,
    )


def rebuilt(graph: Graph, ids: IntArray, first_new: int, batch: Batch) -> Graph:
    """Build the rows (CSR) of a graph again after a batch of `random_batch`, on the host.

    This is how a partitioner without incremental updates gets the modified graph.

    Parameters
    ----------
    graph
        The graph before the batch.
    ids : int32, shape (n,), ascending
        Id of each vertex.
    first_new : int
        Id of the first inserted vertex.
    """
    after = _ids_after(ids, first_new, batch)
    is_dead = np.zeros(first_new, bool)
    is_dead[np.asarray(batch.delete_vertices)] = True
    sources, targets = ids[graph.sources(0, graph.n)], ids[graph.indices]
    deleted = np.sort(_keys(*np.asarray(batch.delete_edges).T))
    kept = ~(is_dead[sources] | is_dead[targets] | is_among(_keys(sources, targets), deleted))
    u, v = np.asarray(batch.insert_edges).T
    index_of = np.empty(int(after[-1]) + 1, np.int32)
    index_of[after] = np.arange(len(after))
    rows = index_of[np.concatenate([sources[kept], u, v])]
    columns = index_of[np.concatenate([targets[kept], v, u])]
    weights = np.concatenate([graph.edge_weights[kept], np.ones(2 * len(u), np.int32)])
    n, old = len(after), ids[~is_dead[ids]]
    matrix = sp.coo_array((weights, (rows, columns)), shape=(n, n)).tocsr()
    vertex_weights = np.ones(n, np.int32)
    vertex_weights[: len(old)] = graph.vertex_weights[~is_dead[ids]]
    starts = matrix.indptr.astype(graph.indptr.dtype)
    return Graph(starts, matrix.indices, matrix.data, vertex_weights)


def _ids_after(ids: IntArray, first_new: int, batch: Batch) -> IntArray:
    dead = np.sort(np.asarray(batch.delete_vertices))
    new = np.arange(first_new, first_new + int(np.asarray(batch.insert_vertices)))
    return np.concatenate([ids[~is_among(ids, dead)], new]).astype(np.int32)


def _keys(u: npt.NDArray[np.integer], v: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Return an integer for each undirected edge."""
    keys: npt.NDArray[np.int64] = np.minimum(u, v).astype(np.int64) << 32 | np.maximum(u, v)
    return keys
