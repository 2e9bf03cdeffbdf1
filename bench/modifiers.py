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
    """Return about `b` modifiers, the same for the same graph and generator.

    They delete b / 5 edges and b / 5 vertices, and insert b / 5 vertices with two edges each: to
    two random vertices, or to a vertex and one of its neighbours (`near`). `graph` is
    ``live.graph``.
    """
    ids, share, first = live.vertices, b // 5, len(live.partition)
    dead = rng.choice(graph.n, share, replace=False)
    entries = rng.choice(2 * graph.m, share, replace=False)
    u = np.searchsorted(graph.indptr, entries, side="right") - 1
    deleted = np.unique(np.sort(np.stack([u, graph.indices[entries]], axis=1), axis=1), axis=0)
    alive = np.delete(np.arange(graph.n), dead)
    one, other = rng.choice(alive, share), rng.choice(alive, share)
    if near:
        entries = graph.indptr[one] + (rng.random(share) * graph.degrees[one]).astype(int)
        other = graph.indices[np.minimum(entries, 2 * graph.m - 1)]
    new = first + np.arange(share)
    edges = np.concatenate([np.stack([new, ids[one]], axis=1), np.stack([new, ids[other]], axis=1)])
    edges = np.unique(edges[~np.isin(edges[:, 1], ids[dead])], axis=0)
    return jetpy.Batch(
        delete_edges=ids[deleted],
        delete_vertices=ids[dead],
        insert_vertices=share,
        insert_edges=edges,
    )
