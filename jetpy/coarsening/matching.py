"""Heavy-edge matching by handshakes, two-hop matching where it leaves too many alone."""

from __future__ import annotations

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph
from jetpy.coarsening.two_hop import match_two_hop
from jetpy.options import CoarsenOptions
from jetpy.workloads import matching as kernels
from jetpy.workloads.long_rows import LANES

FINALS = 16
"""Indices that compare the finalists of a hub, as in `jetpy.workloads.matching`."""


def match_vertices(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    heaviest: int,
    seed: int,
    parts: Array | None = None,
) -> Array:
    """Return each vertex's partner (int32, shape (n,)), -1 for none.

    No pair weighs more than `heaviest`; both vertices of a pair are in the same part where
    `parts` (int32, shape (n,)) are given.
    """
    n = graph.n
    within = {
        "parts": graph.vertex_weights if parts is None else parts,
        "within_parts": int(parts is not None),
    }
    match = backend.full(n, -1)
    preferred = backend.full(n, -2)
    active = backend.xp.arange(n, dtype=match.dtype)
    remaining = backend.empty(n)
    finalists = backend.empty(LANES * graph.hubs.count)
    choices = {
        "indices": graph.indices,
        "edge_weights": graph.edge_weights,
        "vertex_weights": graph.vertex_weights,
        "match": match,
        "preferred": preferred,
        "finalists": finalists,
        "seed": seed,
    }
    count = n
    for _ in range(options.rounds):
        graph.hubs.launch_uncut(
            count,
            kernels.prefer_heaviest,
            vertices=active,
            indptr=graph.indptr,
            heaviest=heaviest,
            **choices,
            **within,
        )
        graph.hubs.launch_each(kernels.compare_finalists, share=FINALS, **choices)
        graph.hubs.launch_each(kernels.prefer_finalist, **choices)
        backend.parallel_for(
            count, kernels.match_mutual, active=active, match=match, preferred=preferred
        )
        if backend.prefers_lists:
            count = backend.scan(
                count,
                kernels.list_active,
                active=active,
                match=match,
                preferred=preferred,
                remaining=remaining,
            )
            active, remaining = remaining, active
            if count == 0:
                break
    match_two_hop(backend, graph, options, match, heaviest, within)
    return match
