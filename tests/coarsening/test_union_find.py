"""Union-find coarsening: selections, rounds and groups, compared with plain Python."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.coarsening.constraints import WeightBounds
from jetpy.coarsening.methods import COARSENINGS
from jetpy.coarsening.union_find import FAITHFUL, group_vertices
from jetpy.device.device_graph import DeviceGraph, upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid, rmat
from jetpy.problem.options import CoarsenOptions
from tests.graphs import SMALL_GRAPHS, edge_dict, from_edges, isolated, star
from tests.hashing import mix
from tests.strategies import weighted_graphs

NO_LIMIT = 2**31 - 1

quick = settings(max_examples=100)


def selections(
    graph: Graph, heaviest: int, seed: int, parts: list[int] | None, score: bool
) -> list[int]:
    """Select each vertex's neighbour by heaviest edge, then by lowest degree, then by hash."""
    edges, weights = edge_dict(graph), graph.vertex_weights.tolist()
    degrees = np.diff(graph.indptr).tolist()
    selected, best = [-1] * graph.n, [(-1, 0, 0, 0)] * graph.n
    for (u, v), w in edges.items():
        if weights[u] + weights[v] > heaviest or (parts and parts[u] != parts[v]):
            continue
        rank = (w, -degrees[v] if score else 0, mix(v ^ seed), -v)
        if rank > best[u]:
            selected[u], best[u] = v, rank
    return selected


def rounds(selected: list[int]) -> tuple[list[int], list[int]]:
    """Return subsets, labelled by their lowest vertex, and the round in which each vertex joined.

    Rounds after those of the paper also join the vertices that label the subsets.
    """
    subsets = list(range(len(selected)))
    labels, label, old = [0] * len(selected), 0, None
    while subsets != old:
        label, old = label + 1, subsets
        subsets = old.copy()
        for u, v in enumerate(selected):
            if v >= 0:
                lower = min(old[u], old[v])
                joined = [(u, lower), (v, lower)]
                if label > FAITHFUL:
                    joined += [(old[u], lower), (old[v], lower), (u, old[old[u]])]
                for w, name in joined:
                    subsets[w] = min(subsets[w], name)
        labels = [label if a != b else c for a, b, c in zip(subsets, old, labels, strict=True)]
    return subsets, labels


def groups(graph: Graph, selected: list[int], heaviest: int, most: int) -> list[int]:
    """Return the subsets; those too large or too heavy are split in the order of joining."""
    subsets, labels = rounds(selected)
    weights = graph.vertex_weights.tolist()
    members: dict[int, list[int]] = defaultdict(list)
    for v in sorted(range(graph.n), key=lambda v: (labels[v], v)):
        members[subsets[v]].append(v)
    group_of = subsets.copy()
    for subset in members.values():
        if len(subset) <= most and sum(weights[v] for v in subset) <= heaviest:
            continue
        for first in range(0, len(subset), most):
            representatives: dict[int, int] = {}
            before = 0
            for v in subset[first : first + most]:
                number, after = before // heaviest, before + weights[v]
                fits = after <= (number + 1) * heaviest
                group_of[v] = representatives.setdefault(number, v) if fits else v
                before = after
    return group_of


def grouped(
    backend: Backend,
    graph: Graph,
    heaviest: int = NO_LIMIT,
    most: int = NO_LIMIT,
    seed: int = 0,
    parts: list[int] | None = None,
    score: bool = True,
) -> list[int]:
    """Return the groups, after checking their invariants."""
    within = None if parts is None else backend.from_host(np.array(parts, np.int32))
    options, device = CoarsenOptions(score=score), upload(backend, graph)
    found = group_vertices(backend, device, options, heaviest, seed, within, most)
    group_of: list[int] = backend.to_host(found).tolist()
    sizes, weights = np.bincount(group_of), np.bincount(group_of, graph.vertex_weights)
    for v, name in enumerate(group_of):
        assert group_of[name] == name
        assert parts is None or parts[v] == parts[name]
        assert sizes[name] == 1 or (sizes[name] <= most and weights[name] <= heaviest)
    return group_of


@quick
@given(
    graph=weighted_graphs(most=24),
    heaviest=st.sampled_from([2, 5, 20, NO_LIMIT]),
    most=st.sampled_from([1, 2, 3, 6, NO_LIMIT]),
    seed=st.integers(0, 2**31 - 1),
    colours=st.integers(0, 3),
    score=st.booleans(),
)
def test_groups_equal_the_oracle_on_random_graphs(
    backend: Backend,
    graph: Graph,
    heaviest: int,
    most: int,
    seed: int,
    colours: int,
    score: bool,
) -> None:
    parts = [v * 7 % colours for v in range(graph.n)] if colours else None
    expected = groups(graph, selections(graph, heaviest, seed, parts, score), heaviest, most)
    assert grouped(backend, graph, heaviest, most, seed, parts, score) == expected


@pytest.mark.parametrize("most", [1, 6, NO_LIMIT])
@pytest.mark.parametrize("graph", [delaunay(1100), rmat(10, 8), grid(40, 30)], ids=str)
def test_groups_equal_the_oracle_on_large_graphs(backend: Backend, graph: Graph, most: int) -> None:
    heaviest = 60
    expected = groups(graph, selections(graph, heaviest, 5, None, True), heaviest, most)
    assert grouped(backend, graph, heaviest, most, 5) == expected


@pytest.mark.parametrize("name", [n for n in SMALL_GRAPHS if n != "empty"])
def test_groups_equal_the_oracle_on_small_graphs(backend: Backend, name: str) -> None:
    graph = SMALL_GRAPHS[name]()
    for heaviest in (1, 10, NO_LIMIT):
        expected = groups(graph, selections(graph, heaviest, 1, None, True), heaviest, 6)
        assert grouped(backend, graph, heaviest, 6, 1) == expected


def test_scores_prefer_low_degrees(backend: Backend) -> None:
    """Figure 2 of the paper: v3 selects v4, not v2, which gives two subsets."""
    graph = from_edges(5, [(0, 1), (1, 2), (2, 3), (1, 4)])
    assert grouped(backend, graph) == [0, 0, 2, 2, 0]
    without = {tuple(grouped(backend, graph, score=False, seed=seed)) for seed in range(20)}
    assert (0,) * 5 in without


def test_heavy_edges_come_before_low_degrees(backend: Backend) -> None:
    graph = from_edges(4, [(0, 1), (1, 2), (2, 3)], [1, 2, 1])
    assert grouped(backend, graph) == [0, 0, 0, 0]
    graph = from_edges(4, [(0, 1), (1, 2), (2, 3)], [2, 1, 2])
    assert grouped(backend, graph) == [0, 0, 2, 2]


def test_star_is_split_by_weight_and_size(backend: Backend) -> None:
    """The row of the centre has several chunks."""
    for most, size in ((NO_LIMIT, 700), (6, 6)):
        sizes = np.bincount(grouped(backend, star(3000), heaviest=700, most=most))
        assert sizes.max() == size
        assert np.count_nonzero(sizes) == -(-3001 // size)


def test_isolated_vertices_stay_alone(backend: Backend) -> None:
    assert grouped(backend, isolated(7)) == list(range(7))


@pytest.mark.parametrize("seed", range(8))
def test_groups_equal_the_oracle_on_chains(backend: Backend, seed: int) -> None:
    """A few vertices are out of order; some chains need more rounds than the paper has."""
    rng, n = np.random.default_rng(seed), 4 * FAITHFUL
    order = np.arange(n)
    for i, j in rng.integers(0, n, (seed, 2)):
        order[[i, j]] = order[[j, i]]
    graph = from_edges(n, pairwise(order.tolist()), range(1, n))
    expected = groups(graph, selections(graph, NO_LIMIT, 0, None, True), NO_LIMIT, 6)
    assert grouped(backend, graph, most=6) == expected


@pytest.mark.parametrize("falling", [False, True])
def test_long_chains_take_few_rounds(
    backend: Backend, falling: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights rise along the path, so that each vertex selects the next vertex."""
    n, launched = 20_000, []
    order = range(n)[:: -1 if falling else 1]
    graph = from_edges(n, pairwise(order), range(1, n))
    reduce = backend.reduce

    def count(*arguments: object, **others: object) -> int:
        launched.append(arguments)
        return reduce(*arguments, **others)

    monkeypatch.setattr(backend, "reduce", count)
    assert grouped(backend, graph) == [0] * n
    assert len(launched) < 2 * FAITHFUL + 10
    assert max(np.bincount(grouped(backend, graph, most=6))) == 6


@pytest.mark.parametrize("method", COARSENINGS)
def test_weights_are_conserved_on_every_level(backend: Backend, method: str) -> None:
    fine = delaunay(4000)
    graph: DeviceGraph = upload(backend, fine)
    parts = backend.from_host(np.zeros(fine.n, np.int32))
    options = CoarsenOptions(method=method)
    for seed in range(3):
        coarse, coarse_of = COARSENINGS[method](
            backend, graph, options, WeightBounds(90), seed, parts
        )
        ids, weights = backend.to_host(coarse_of), backend.to_host(graph.vertex_weights)
        assert coarse.n < graph.n
        summed = np.bincount(ids, weights, coarse.n)
        assert backend.to_host(coarse.vertex_weights).tolist() == summed.tolist()
        assert summed.max() <= 90
        sources = np.repeat(np.arange(graph.n), np.diff(backend.to_host(graph.indptr)))
        inside = ids[sources] == ids[backend.to_host(graph.indices)]
        lost = backend.to_host(graph.edge_weights)[inside].sum()
        assert coarse.edge_weight == graph.edge_weight - lost
        graph = coarse
        parts = backend.from_host(np.zeros(graph.n, np.int32))


def test_constrained_coarsening_is_more_even(backend: Backend) -> None:
    sizes = {}
    for method in ("union-find", "constrained"):
        graph = upload(backend, delaunay(4000))
        for seed in range(3):
            graph, _ = COARSENINGS[method](
                backend, graph, CoarsenOptions(method=method), WeightBounds(NO_LIMIT), seed, None
            )
        weights = backend.to_host(graph.vertex_weights)
        sizes[method] = weights.max() / weights.mean()
    assert sizes["constrained"] < sizes["union-find"]
