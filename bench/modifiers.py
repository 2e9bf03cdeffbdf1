"""Random batches of modifiers for graphs that change."""

from __future__ import annotations

import numpy as np

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
