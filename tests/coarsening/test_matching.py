"""Matching: invariants on random graphs, a greedy oracle, and each kind of two-hop matching."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.choices import Rating
from jetpy.coarsening.constraints import WeightBounds, constrain
from jetpy.coarsening.matching import are_all_units, match_vertices
from jetpy.coarsening.two_hop import Grouped
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.problem.options import CoarsenOptions
from jetpy.workloads.coarsening.two_hop import rank_groups
from tests.graphs import clique, edge_dict, from_edges, isolated, path, star
from tests.hashing import MASK, mix
from tests.strategies import weighted_graphs

HEAVY_ONLY = CoarsenOptions(rounds=100, two_hop_share=1.0)
EVERYTHING = CoarsenOptions(rounds=100, two_hop_share=0.0)
NO_LIMIT = 2**31 - 1

quick = settings(max_examples=80)
limits = st.sampled_from([1, 2, 4, 9, NO_LIMIT])
seeds = st.integers(0, 2**31 - 1)
part_lists = st.none() | st.lists(st.integers(0, 1), min_size=16, max_size=16)


def matched(
    backend: Backend,
    graph: Graph,
    options: CoarsenOptions,
    heaviest: int = NO_LIMIT,
    seed: int = 0,
    parts: list[int] | None = None,
    lightest: int = 1,
) -> list[int]:
    """Return the partners, after checking the invariants of a matching."""
    within = None if parts is None else backend.from_host(np.array(parts[: graph.n], np.int32))
    bounds = WeightBounds(heaviest, lightest)
    found = match_vertices(backend, upload(backend, graph), options, bounds, seed, within)
    match: list[int] = backend.to_host(found).tolist()
    assert len(match) == graph.n
    for u, v in enumerate(match):
        assert -1 <= v < graph.n
        if v >= 0:
            assert v != u
            assert match[v] == u
            assert graph.vertex_weights[u] + graph.vertex_weights[v] <= heaviest
            assert parts is None or parts[u] == parts[v]
    return match


def with_units(graph: Graph) -> Graph:
    """Return a graph with weights of 1 only."""
    ones = np.ones_like(graph.edge_weights), np.ones_like(graph.vertex_weights)
    return replace(graph, edge_weights=ones[0], vertex_weights=ones[1])


def pairs_of(match: list[int]) -> set[frozenset[int]]:
    return {frozenset((u, v)) for u, v in enumerate(match) if v >= 0}


def edge_hash(u: int, v: int, seed: int) -> int:
    h = (mix(u ^ seed) + mix(v ^ seed)) * 1597334677 & MASK
    return h ^ h >> 15


def greedy(
    graph: Graph,
    heaviest: int,
    seed: int,
    parts: list[int] | None,
    options: CoarsenOptions = HEAVY_ONLY,
    lightest: int = 1,
) -> set[frozenset[int]]:
    """Match greedily by falling rating, then hash: the result of all handshake rounds together.

    Light edges are matched, too, in a graph whose edges have an average weight of 1.
    """
    weights = graph.vertex_weights.tolist()

    def order(edge: tuple[int, int]) -> tuple[float, int]:
        u, v = edge
        w = float(edges[edge])
        w = w or 2.0**-100
        rating = (w * w) / (float(max(weights[u], lightest)) * float(max(weights[v], lightest)))
        return w if options.rating == "weight" else rating, edge_hash(u, v, seed)

    edges = {(u, v): w for (u, v), w in edge_dict(graph).items() if u < v}
    is_any_matched = options.light_edges or sum(edges.values()) == len(edges)
    most = [max((w for edge, w in edges.items() if v in edge), default=0) for v in range(graph.n)]
    assert len({order(edge) for edge in edges}) == len(edges), "no two edges of one hash"
    free, taken = set(range(graph.n)), set()
    for u, v in sorted(edges, key=order, reverse=True):
        fits = weights[u] + weights[v] <= heaviest
        fits &= is_any_matched or 2 * edges[u, v] >= min(most[u], most[v])
        if {u, v} <= free and fits and (parts is None or parts[u] == parts[v]):
            free -= {u, v}
            taken.add(frozenset((u, v)))
    return taken


@quick
@given(
    graph=weighted_graphs(),
    heaviest=limits,
    seed=seeds,
    parts=part_lists,
    rating=st.sampled_from(get_args(Rating)),
    light_edges=st.booleans(),
    lightest=st.sampled_from([1, 2, 5, 100]),
)
def test_handshakes_equal_greedy_matching(
    backend: Backend,
    graph: Graph,
    heaviest: int,
    seed: int,
    parts: list[int] | None,
    rating: Rating,
    light_edges: bool,
    lightest: int,
) -> None:
    options = replace(HEAVY_ONLY, rating=rating, light_edges=light_edges)
    match = matched(backend, graph, options, heaviest, seed, parts, lightest)
    assert pairs_of(match) == greedy(graph, heaviest, seed, parts, options, lightest)


@quick
@given(weighted_graphs().map(with_units), limits, seeds, part_lists, st.sampled_from([1, 2, 100]))
def test_handshakes_of_unit_weights_equal_greedy_matching(
    backend: Backend,
    graph: Graph,
    heaviest: int,
    seed: int,
    parts: list[int] | None,
    lightest: int,
) -> None:
    match = matched(backend, graph, HEAVY_ONLY, heaviest, seed, parts, lightest)
    assert pairs_of(match) == greedy(graph, heaviest, seed, parts, lightest=lightest)


@pytest.mark.parametrize(
    ("edge_weights", "vertex_weights", "heaviest", "lightest", "has_parts", "expected"),
    [
        ([1, 1, 1], [1, 1, 1, 1], 2, 1, False, True),
        ([1, 1, 1], [1, 1, 1, 1], 1, 1, False, False),
        ([1, 1, 1], [1, 1, 1, 1], 2, 2, False, False),
        ([1, 1, 1], [1, 1, 1, 1], 2, 1, True, False),
        ([0, 1, 2], [1, 1, 1, 1], 2, 1, False, False),
        ([1, 1, 1], [0, 1, 1, 2], 2, 1, False, False),
        ([2, 2, 2], [1, 1, 1, 1], 2, 1, False, False),
    ],
)
def test_weights_are_read_unless_all_are_1(
    backend: Backend,
    edge_weights: list[int],
    vertex_weights: list[int],
    heaviest: int,
    lightest: int,
    has_parts: bool,
    expected: bool,
) -> None:
    graph = from_edges(4, [(0, 1), (1, 2), (2, 3)], edge_weights, vertex_weights)
    level, parts = upload(backend, graph), backend.full(4, 0) if has_parts else None
    bounds = WeightBounds(heaviest, lightest)
    assert are_all_units(backend, level, constrain(backend, level, bounds, parts)) == expected


@quick
@given(graph=weighted_graphs(), heaviest=limits, seed=seeds, parts=part_lists)
def test_two_hop_pairs_share_a_neighbour(
    backend: Backend, graph: Graph, heaviest: int, seed: int, parts: list[int] | None
) -> None:
    match = matched(backend, graph, EVERYTHING, heaviest, seed, parts)
    heavy = greedy(graph, heaviest, seed, parts)
    assert heavy <= pairs_of(match)
    edges = edge_dict(graph)
    neighbours = [{v for u, v in edges if u == w} for w in range(graph.n)]
    for u, v in map(sorted, pairs_of(match) - heavy):
        assert neighbours[u] & neighbours[v] or not neighbours[u] | neighbours[v]


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_each_round_matches_the_heaviest_remaining_edge(backend: Backend, rounds: int) -> None:
    """Weights rise along a path, so that one edge is locally heaviest in each round."""
    graph = from_edges(20, [(v, v + 1) for v in range(19)], [v + 20 for v in range(19)])
    match = matched(backend, graph, CoarsenOptions(rounds=rounds, two_hop_share=1.0))
    best = {frozenset((18 - 2 * i, 19 - 2 * i)) for i in range(rounds)}
    assert pairs_of(match) == best


def test_ratings_prefer_light_vertices(backend: Backend) -> None:
    """2*2/(1*1) beats 3*3/(1*9)."""
    graph = from_edges(3, [(0, 1), (1, 2)], [2, 3], [1, 1, 9])
    assert matched(backend, graph, HEAVY_ONLY) == [1, 0, -1]


@pytest.mark.parametrize(("middle", "expected"), [(4, [-1, -1]), (5, [3, 2])])
def test_edges_below_half_the_heaviest_are_not_matched(
    backend: Backend, middle: int, expected: list[int]
) -> None:
    """The heavier neighbours of 2 and 3, by edges of weight 10, are already matched."""
    graph = from_edges(6, [(v, v + 1) for v in range(5)], [20, 10, middle, 10, 20])
    assert matched(backend, graph, HEAVY_ONLY) == [1, 0, *expected, 5, 4]


def test_large_graphs_match_most_vertices(backend: Backend) -> None:
    """The graph is large enough for several threads."""
    graph = path(30_000)
    match = matched(backend, graph, CoarsenOptions())
    assert sum(v < 0 for v in match) <= 0.25 * graph.n


def test_seed_breaks_ties_differently(backend: Backend) -> None:
    graph = path(100)
    assert len({tuple(matched(backend, graph, HEAVY_ONLY, seed=s)) for s in range(5)}) == 5


# Two-hop kinds


def test_sorted_keys_are_grouped_by_rank(backend: Backend) -> None:
    """The entry before the view of the keys belongs to the group of the first key."""
    pairs = [(3, 0), (3, 1), (3, 4), (5, 2), (8, 3), (8, 7)]
    keys = backend.from_host(np.array([(group << 32) + v for group, v in pairs]))[1:]
    grouped = Grouped(keys, backend.empty(5), backend.full(5, -1))
    assert backend.scan(5, rank_groups, grouped=grouped) == 3
    assert backend.to_host(grouped.numbers).tolist() == [0, 0, 1, 2, 2]
    assert backend.to_host(grouped.starts).tolist() == [0, 2, 3, -1, -1]


def test_leaves_of_a_star_match(backend: Backend) -> None:
    match = matched(backend, star(20), EVERYTHING)
    hub = match[0]
    rest = [v for v in range(1, 21) if v != hub]
    leaves = pairs_of(match) - {frozenset((0, hub))}
    assert leaves == {frozenset(rest[i : i + 2]) for i in range(0, 18, 2)}
    assert match[rest[-1]] == -1


def test_leaves_of_different_hubs_do_not_match(backend: Backend) -> None:
    """Two stars with an odd number of leaves left over each."""
    edges = [(0, v) for v in range(2, 8)] + [(1, v) for v in range(8, 14)]
    match = matched(backend, from_edges(14, edges), EVERYTHING)
    for u, v in map(sorted, pairs_of(match)):
        assert u in (0, 1) or (u < 8) == (v < 8)
    assert match.count(-1) == 2


def test_isolated_vertices_match(backend: Backend) -> None:
    assert matched(backend, isolated(7), EVERYTHING) == [1, 0, 3, 2, 5, 4, -1]
    assert matched(backend, isolated(7), HEAVY_ONLY) == [-1] * 7
    assert matched(backend, isolated(7), EVERYTHING, heaviest=1) == [-1] * 7


def test_two_hop_matching_starts_above_its_share(backend: Backend) -> None:
    """One vertex of three is unmatched: more than 0.25, less than 0.4."""
    graph = from_edges(6, [(0, 1), (1, 2), (3, 4), (4, 5)], [9, 1, 9, 1])
    joined = from_edges(7, [(6, 0), (6, 2), (6, 5)], [1, 1, 1])
    assert matched(backend, graph, CoarsenOptions(two_hop_share=0.4)) == [1, 0, -1, 4, 3, -1]
    hub = from_edges(7, [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6)], [9, 1, 1, 1, 1, 1])
    assert matched(backend, hub, CoarsenOptions(two_hop_share=0.8)).count(-1) == 5
    assert matched(backend, hub, CoarsenOptions(two_hop_share=0.25)).count(-1) == 1
    assert matched(backend, joined, EVERYTHING).count(-1) == 1


def many_twins() -> Graph:
    """Vertices 3..12 have the neighbours {0, 1}, 13..22 {1, 2}; the hubs are too heavy to match."""
    edges = [(h, v) for v in range(3, 13) for h in (0, 1)]
    edges += [(h, v) for v in range(13, 23) for h in (1, 2)]
    return from_edges(23, edges, None, [100] * 3 + [1] * 20)


def test_twins_match(backend: Backend) -> None:
    match = matched(backend, many_twins(), EVERYTHING, heaviest=50)
    assert match[:3] == [-1, -1, -1]
    expected = [v + 1 if v % 2 else v - 1 for v in range(3, 23)]
    assert match[3:] == expected


def test_leaf_of_vertex_0_is_not_the_twin_of_an_isolated_vertex(backend: Backend) -> None:
    match = matched(backend, from_edges(4, [(0, 1), (0, 2)]), EVERYTHING)
    assert match[3] == -1


def test_twins_respect_parts(backend: Backend) -> None:
    parts = [v // 5 % 2 for v in range(23)]
    match = matched(backend, many_twins(), EVERYTHING, heaviest=50, parts=parts)
    assert len(pairs_of(match)) >= 8


def test_relatives_match(backend: Backend) -> None:
    """Vertices 1..10 share only the hub 0; each has another neighbour, which is too heavy."""
    edges = [(0, v) for v in range(1, 11)] + [(v, v + 10) for v in range(1, 11)]
    edges += [(v, 21 + (v * 3 + j) % 11) for v in range(11, 21) for j in range(11)]
    weights = [1000] + [1] * 10 + [1000] * 21
    graph = from_edges(32, edges, None, weights)
    match = matched(backend, graph, EVERYTHING, heaviest=50)
    assert {v for pair in pairs_of(match) for v in pair} == set(range(1, 11))
    lone = CoarsenOptions(rounds=100, two_hop_share=0.0, max_matchmaker=9)
    assert not pairs_of(matched(backend, graph, lone, heaviest=50))


def test_clique_is_matched_completely(backend: Backend) -> None:
    assert len(pairs_of(matched(backend, clique(40), HEAVY_ONLY))) == 20
