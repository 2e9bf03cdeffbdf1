"""Two-hop matching: leaves, then twins, then relatives, each only while too many are unmatched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph
from jetpy.options import CoarsenOptions
from jetpy.workloads import matching as matching_kernels
from jetpy.workloads import two_hop as kernels

INT64_MAX = (1 << 63) - 1


def match_two_hop(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    match: Array,
    heaviest: int,
    within: Mapping[str, Any],
) -> None:
    """Match unmatched vertices at distance two, in place (Jet, section 3.1).

    `within` names the parts that pairs must respect, as the workunits take them.
    """
    unmatched = backend.empty(graph.n)
    digests = backend.full(graph.n, 0)
    rows = {
        "unmatched": unmatched,
        "indptr": graph.indptr,
        "indices": graph.indices,
        "hub_degree": graph.hubs.degree,
    }
    limit = {"highest_degree": options.highest_matchmaker}
    stages = (
        (kernels.key_leaves, {"n": graph.n}),
        (kernels.key_twins, {"digests": digests, **limit}),
        (kernels.key_relatives, limit),
    )
    for workunit, own in stages:
        count = backend.scan(
            graph.n, matching_kernels.list_unmatched, match=match, unmatched=unmatched
        )
        if count <= options.two_hop_share * graph.n:
            return
        keys = backend.empty(count, "int64")
        if workunit is kernels.key_relatives:
            digests.fill(0)
            own = {**limit, "matchmakers": _find_matchmakers(backend, graph, match)}
        backend.parallel_for(count, workunit, keys=keys, **rows, **own)
        _pair(backend, graph, keys, match, digests, heaviest, within)


def _find_matchmakers(backend: Backend, graph: DeviceGraph, match: Array) -> Array:
    """Return those of hubs (int64, shape (n,)), as `jetpy.workloads.two_hop` keeps them."""
    matchmakers = backend.full(graph.n if graph.hubs.count else 0, INT64_MAX, "int64")
    graph.hubs.launch_lanes(
        kernels.find_matchmakers,
        match=match,
        indptr=graph.indptr,
        indices=graph.indices,
        matchmakers=matchmakers,
    )
    return matchmakers


def _pair(
    backend: Backend,
    graph: DeviceGraph,
    keys: Array,
    match: Array,
    digests: Array,
    heaviest: int,
    within: Mapping[str, Any],
) -> None:
    """Match neighbours within each group of equal keys (upper 32 bits)."""
    count = len(keys)
    keys = backend.sorted(keys)
    group_of, starts = backend.empty(count), backend.empty(count)
    backend.scan(count, kernels.rank_groups, keys=keys, group_of=group_of, starts=starts)
    backend.parallel_for(
        count,
        kernels.pair_in_group,
        count=count,
        keys=keys,
        group_of=group_of,
        starts=starts,
        vertex_weights=graph.vertex_weights,
        digests=digests,
        match=match,
        heaviest=heaviest,
        **within,
    )
