"""Two-hop matching: leaves, twins, relatives; each step runs only if too many are unmatched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend, Workunit
from jetpy.problem.options import CoarsenOptions
from jetpy.workloads.coarsening import matching as matching_kernels
from jetpy.workloads.coarsening import two_hop as kernels
from jetpy.workloads.coarsening.two_hop import Grouped
from jetpy.workloads.common.groups import Constraints


class Weighted(Protocol):
    """A graph, as far as pairing reads it."""

    @property
    def vertex_weights(self) -> Array:
        """Vertex weights, indexed by the vertices in the keys."""


Pairing = Callable[[Backend, Any, Array, Array, Array, Constraints], None]


def match_two_hop(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    match: Array,
    constraints: Constraints,
    pair: Pairing | None = None,
) -> None:
    """Match unmatched vertices at distance two, in place (Jet, section 3.1).

    `pair` replaces `pair_sorted` if the vertices of a group may be in several pieces.
    """
    n, pair = graph.n, pair or pair_sorted
    unmatched, digests = backend.empty(n), backend.full(n, 0)
    limit = {"max_degree": options.max_matchmaker}

    def of_relatives() -> dict[str, Any]:
        backend.fill(digests, 0)
        matchmakers = find_matchmakers(backend, graph, match)
        longest = graph.long_rows.chunks.longest
        return {"matchmakers": matchmakers, "longest": longest, **limit}

    stages: tuple[tuple[Workunit, Callable[[], dict[str, Any]]], ...] = (
        (kernels.key_leaves, lambda: {"n": graph.global_n}),
        (kernels.key_twins, lambda: {"digests": digests, **limit}),
        (kernels.key_relatives, of_relatives),
    )
    for workunit, own in stages:
        count = backend.scan(n, matching_kernels.list_unmatched, match=match, unmatched=unmatched)
        if graph.halo.total(count) <= options.two_hop_share * graph.global_n:
            return
        keys = backend.empty(count, np.int64)
        backend.parallel_for(count, workunit, graph=graph, unmatched=unmatched, keys=keys, **own())
        pair(backend, graph, keys, match, digests, constraints)


def find_matchmakers(backend: Backend, graph: DeviceGraph, match: Array) -> Array:
    """Return the matchmakers of high-degree vertices (int64, shape (n,)), for `key_relatives`."""
    n = graph.n if graph.long_rows.count else 0
    matchmakers = backend.full(n, kernels.NO_MATCHMAKER, np.int64)
    graph.long_rows.launch_lanes(
        kernels.find_matchmakers, graph=graph, match=match, matchmakers=matchmakers
    )
    return matchmakers


def pair_sorted(
    backend: Backend,
    graph: Weighted,
    keys: Array,
    match: Array,
    digests: Array,
    constraints: Constraints,
) -> None:
    """Match consecutive vertices of each group, in ascending order, in place in `match`."""
    count = len(keys)
    grouped = Grouped(backend.sorted(keys), backend.empty(count), backend.empty(count))
    backend.scan(count, kernels.rank_groups, grouped=grouped)
    backend.parallel_for(
        count,
        kernels.pair_in_group,
        count=count,
        graph=graph,
        grouped=grouped,
        digests=digests,
        match=match,
        constraints=constraints,
    )
