"""Random batches of modifiers for graphs that change."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import jetpy


def random_batch(
    rng: np.random.Generator,
    live: jetpy.IncrementalPartitioner,
    graph: jetpy.Graph,
    b: int,
    near: bool,
) -> jetpy.Batch:
    """Return a batch of about `b` modifiers, which depends only on `rng` and the current graph.

    The batch deletes b / 5 edges and b / 5 vertices. It inserts b / 5 vertices with two edges each:
    to two random vertices, or with `near` to a vertex and one of its neighbours.

    Parameters
    ----------
    graph
        The value of ``live.graph``.
    """
    ids, share, first_new = live.vertices, b // 5, len(live.partition)
    dead = rng.choice(graph.n, share, replace=False)
    entries = rng.choice(2 * graph.m, share, replace=False)
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
    return jetpy.Batch(
        delete_edges=ids[deleted],
        delete_vertices=ids[dead],
        insert_vertices=share,
        insert_edges=edges,
    )


def rebuilt(
    graph: jetpy.Graph, ids: npt.NDArray[np.int32], first_new: int, batch: jetpy.Batch
) -> jetpy.Graph:
    """Build the rows (CSR) of a graph again after a batch of `random_batch`, on the host.

    This is how a partitioner without incremental updates gets the modified graph.

    Parameters
    ----------
    graph
        The graph before the batch, with unit weights.
    ids
        Id of each vertex, ascending.
    first_new
        Id of the first inserted vertex.
    """
    is_dead = np.zeros(first_new, bool)
    is_dead[batch.delete_vertices] = True
    sources, targets = ids[graph.sources(0, graph.n)], ids[graph.indices]
    deleted = np.sort(_keys(*np.asarray(batch.delete_edges).T))
    keys = _keys(sources, targets)
    is_deleted = deleted[np.searchsorted(deleted[:-1], keys)] == keys
    kept = ~(is_dead[sources] | is_dead[targets] | is_deleted)
    u, v = np.asarray(batch.insert_edges).T
    new = first_new + np.arange(batch.insert_vertices)
    new_ids = np.concatenate([ids[~is_dead[ids]], new])
    place = np.empty(first_new + len(new), np.int32)
    place[new_ids] = np.arange(len(new_ids))
    rows = place[np.concatenate([sources[kept], u, v])]
    columns = place[np.concatenate([targets[kept], v, u])]
    n, ones = len(new_ids), np.ones(len(rows), np.int32)
    matrix = sp.coo_array((ones, (rows, columns)), shape=(n, n)).tocsr()
    starts = matrix.indptr.astype(graph.indptr.dtype)
    return jetpy.Graph(starts, matrix.indices, ones, np.ones(n, np.int32))


def _keys(u: npt.NDArray[np.integer], v: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Return an integer for each undirected edge."""
    return np.minimum(u, v).astype(np.int64) << 32 | np.maximum(u, v)
