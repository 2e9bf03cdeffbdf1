"""Heavy-edge matching by handshakes, then two-hop matching if too many vertices are unmatched."""

from __future__ import annotations

from typing import Any

from jetpy.coarsening.constraints import WeightBounds, constrain
from jetpy.coarsening.two_hop import match_two_hop
from jetpy.device.device_graph import DeviceGraph, all_vertices
from jetpy.engines.base import Array, Backend
from jetpy.problem.options import CoarsenOptions
from jetpy.workloads.coarsening import matching as kernels
from jetpy.workloads.coarsening.matching import COMPARERS, Handshakes
from jetpy.workloads.common.groups import NO_VERTEX, Constraints
from jetpy.workloads.common.long_rows import LANES
from jetpy.workloads.common.values import count_outside


def match_vertices(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    bounds: WeightBounds,
    seed: int,
    parts: Array | None = None,
) -> Array:
    """Return each vertex's partner (int32, shape (n,)), or `NO_VERTEX`.

    If `parts` (int32, shape (n,)) are given, the vertices of a pair are in one part.
    """
    constraints = constrain(backend, graph, bounds, parts)
    match = shake_hands(backend, graph, options, constraints, seed)
    match_two_hop(backend, graph, options, match, constraints)
    return match


def shake_hands(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    constraints: Constraints,
    seed: int,
) -> Array:
    """Return each vertex's partner among its neighbours (int32, shape (n,)), or `NO_VERTEX`."""
    n, long_rows, halo = graph.n, graph.long_rows.fine, graph.halo
    bans_light_edges = graph.is_weighted and not options.light_edges
    handshakes = Handshakes(
        backend.full(graph.n_with_ghosts, NO_VERTEX),
        backend.full(graph.n_with_ghosts, NO_VERTEX),
        backend.empty(LANES * long_rows.count, backend.sum_type),
        _find_least(backend, graph, constraints, bans_light_edges),
        bans_light_edges,
        options.rating == "weight",
        are_all_units(backend, graph, constraints),
        seed,
    )
    choosing: dict[str, Any] = {
        "graph": graph,
        "handshakes": handshakes,
        "constraints": constraints,
    }
    active = all_vertices(backend, n)

    def choose(count: int, vertices: Array) -> None:
        long_rows.launch_whole(
            count, kernels.prefer_heaviest, count=count, vertices=vertices, **choosing
        )
        long_rows.launch_each(kernels.compare_lanes, share=COMPARERS, **choosing)
        long_rows.launch_each(kernels.prefer_lane_best, **choosing)
        halo.exchange_ghost_vertices(handshakes.preferred)

    def shake() -> None:
        choose(n, active)
        backend.parallel_for(n, kernels.match_mutual, active=active, handshakes=handshakes)
        halo.exchange_ghosts(handshakes.match)

    if backend.is_asynchronous:
        backend.repeat(options.rounds, shake)
        return handshakes.match
    remaining, count = backend.empty(n), n
    for _ in range(options.rounds):
        choose(count, active)
        count = backend.scan(
            count,
            kernels.match_and_list,
            active=active,
            handshakes=handshakes,
            remaining=remaining,
        )
        if halo.total(count) == 0:
            break
        active, remaining = remaining, active
        halo.exchange_ghosts(handshakes.match)
    return handshakes.match


def are_all_units(backend: Backend, graph: DeviceGraph, constraints: Constraints) -> bool:
    """Return whether all weights are 1, and any two adjacent vertices may match."""
    is_free = not constraints.within_parts and constraints.heaviest > 1
    if not is_free or constraints.lightest > 1 or graph.is_weighted or backend.is_wide:
        return False
    return not any(
        backend.reduce(len(weights), count_outside, values=weights, lowest=1, highest=1)
        for weights in (graph.vertex_weights, graph.edge_weights)
    )


def _find_least(
    backend: Backend, graph: DeviceGraph, constraints: Constraints, bans_light_edges: bool
) -> Array:
    """Return the minimum weight of edges that a vertex selects, shape (n,); empty if any weight."""
    if not bans_light_edges:
        return backend.empty(0, backend.sum_type)
    least = backend.full(graph.n_with_ghosts, 0, backend.sum_type)
    graph.long_rows.launch(
        graph.n, kernels.find_least, graph=graph, constraints=constraints, least=least
    )
    graph.halo.exchange_ghosts(least)
    return least
