"""Hierarchies as objects: their levels, runs on them, values moved between levels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
import jetpy.graph.csr
from jetpy.engines.base import Backend
from jetpy.errors import GraphError, OptionError
from jetpy.graph.csr import INT32_MAX, Graph
from tests.graphs import MULTILEVEL, edge_dict, from_edges, isolated, path, two_cliques
from tests.strategies import weighted_graphs

CPU: dict[str, Any] = {"backend": "cpu", "threads": 2}
ONE_HIERARCHY = {"branches": (), "cycles": 0, "initial.task_size": 0}
MESH = jetpy.generators.delaunay(6000, seed=1)
WEB = jetpy.generators.rmat(11, 8)


def weighted(graph: Graph, factor: int = 1) -> Graph:
    """Random weights; those of vertices are multiples of a factor."""
    rng = np.random.default_rng(0)
    ends = rng.integers(1, 9, graph.n)
    edges = ends[graph.sources(0, graph.n)] + ends[graph.indices]
    vertices = factor * rng.integers(1, 9, graph.n)
    return jetpy.as_graph(graph, edge_weights=edges, vertex_weights=vertices)


GRAPHS = {
    "mesh": MESH,
    "web": WEB,
    "weighted": weighted(MESH),
    "weights with a common divisor": weighted(MESH, 6),
    "components": two_cliques(60),
}


def check(hierarchy: jetpy.Hierarchy) -> None:
    """Check each level against a contraction in plain Python."""
    levels = hierarchy.levels
    assert levels[-1].coarse_of is None
    for fine, coarse in pairwise(levels):
        assert fine.coarse_of.dtype == np.int32
        assert fine.coarse_of.shape == (fine.n,)
        coarse_of = fine.coarse_of.tolist()
        assert set(coarse_of) == set(range(coarse.n))
        weights, edges = [0] * coarse.n, dict[tuple[int, int], int]()
        for v, weight in enumerate(fine.vertex_weights.tolist()):
            weights[coarse_of[v]] += weight
        for (u, v), weight in edge_dict(fine.graph).items():
            ends = coarse_of[u], coarse_of[v]
            if ends[0] != ends[1]:
                edges[ends] = edges.get(ends, 0) + weight
        assert coarse.vertex_weights.tolist() == weights
        assert edge_dict(coarse.graph) == edges


def same_levels(one: jetpy.Hierarchy, two: jetpy.Hierarchy, *, rows: bool = True) -> None:
    """Compare two hierarchies; with `rows`, also the order of the neighbours of each vertex."""
    assert len(one) == len(two)
    for first, second in zip(one.levels, two.levels, strict=True):
        assert np.array_equal(first.vertex_weights, second.vertex_weights)
        assert edge_dict(first.graph) == edge_dict(second.graph)
        if first.coarse_of is not None:
            assert np.array_equal(first.coarse_of, second.coarse_of)
        if rows:
            assert np.array_equal(first.graph.indices, second.graph.indices)


@pytest.mark.parametrize("method", ["two-hop", "union-find", "constrained"])
@pytest.mark.parametrize("name", GRAPHS)
def test_levels_are_contractions(name: str, method: Any) -> None:
    graph = GRAPHS[name]
    options = {"coarsen.coarsest": "per-part", "coarsen.per_part": 9}
    hierarchy = jetpy.coarsen(graph, 3, coarsening=method, options=options, **CPU)
    assert hierarchy.graph is hierarchy.levels[0].graph is graph
    assert len(hierarchy) > 2 - (name == "components")
    check(hierarchy)


def test_every_mode_of_a_back_end_makes_the_same_levels(backend: Backend) -> None:
    for graph in (weighted(MESH, 2), WEB):
        found = jetpy.coarsen(graph, 5, backend=backend.name)
        same_levels(found, jetpy.coarsen(graph, 5, backend="cpu", threads=1), rows=False)
        result = found.partition(backend=backend.name)
        expected = jetpy.partition(graph, 5, options=ONE_HIERARCHY, **CPU)
        assert np.array_equal(result.parts, expected.parts)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"imbalance": 0.2},
        {"seed": 7},
        {"preset": "fast"},
        {"preset": "jet"},
        {"preset": "gkway"},
        {"preset": "igkway", "seed": 3},
        {"options": {"refine.patience": 3}},
        {"options": jetpy.preset("jet").changed({"refine.tolerance": 0.99})},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", GRAPHS)
def test_partitions_as_from_scratch(name: str, options: dict[str, Any]) -> None:
    """The same parts, level by level."""
    own = options.get("options", {})
    one = own.changed(ONE_HIERARCHY) if isinstance(own, jetpy.Options) else ONE_HIERARCHY | own
    expected = jetpy.partition(GRAPHS[name], 5, **options | {"options": one}, **CPU)
    result = jetpy.coarsen(GRAPHS[name], 5, **options, **CPU).partition(**CPU)
    assert np.array_equal(result.parts, expected.parts)
    assert result.options == expected.options
    assert result.cut == expected.cut == jetpy.evaluate(GRAPHS[name], result.parts).cut
    steps = [
        [(level.n, level.cut_before, level.cut_after) for level in found.levels]
        for found in (result, expected)
    ]
    assert steps[0] == steps[1]


def test_options_of_a_run_replace_those_of_the_hierarchy() -> None:
    hierarchy = jetpy.coarsen(MESH, 5, **CPU)
    run: dict[str, Any] = {"imbalance": 0.1, "targets": [1, 2, 1, 1], "preset": "jet"}
    result = hierarchy.partition(4, seed=4, options={"refine.patience": 5}, **run, **CPU)
    assert (result.k, result.seed, result.preset) == (4, 4, "jet")
    assert result.options.refine.patience == 5
    assert result.options.coarsen == hierarchy.options.coarsen
    assert result.limits[1] > 1.9 * result.limits[0]
    assert result.feasible
    loose = jetpy.coarsen(MESH, 5, imbalance=2.0, large_imbalance=True, **CPU)
    assert loose.partition(**CPU).limit == 3 * 1200


@pytest.mark.parametrize("name", GRAPHS)
def test_refines_from_any_level(name: str) -> None:
    hierarchy = jetpy.coarsen(GRAPHS[name], 4, preset="fast", **CPU)
    for depth, level in enumerate(hierarchy.levels):
        start = jetpy.partition(level.graph, 4, seed=3, preset="fast", **CPU)
        result = hierarchy.refine(start.parts, level=depth, **CPU)
        assert result.graph is GRAPHS[name]
        assert [one.level for one in result.levels] == list(range(depth + 1))
        assert result.levels[-1].cut_before == start.cut
        assert result.cut == jetpy.evaluate(GRAPHS[name], result.parts).cut
        assert result.feasible
    begin = hierarchy.project(start.parts)
    expected = jetpy.refine(GRAPHS[name], begin, 4, preset="fast", **CPU)
    assert np.array_equal(hierarchy.refine(begin, level=0, **CPU).parts, expected.parts)


def test_refinements_are_compared_on_one_partition() -> None:
    hierarchy = jetpy.coarsen(WEB, 4, preset="jet", **CPU)
    start = jetpy.partition(hierarchy.levels[-1].graph, 4, preset="jet", imbalance=0.5, **CPU)
    weak, full = (
        hierarchy.refine(start.parts, options={"refine.afterburner": burns}, **CPU)
        for burns in (False, True)
    )
    assert weak.levels[-1].cut_before == full.levels[-1].cut_before == start.cut
    assert full.cut < weak.cut


def test_given_partition_stays() -> None:
    large = jetpy.generators.grid(160, 160)
    stripes = (np.arange(large.n) % 4).astype(np.int32)
    assert jetpy.coarsen(large, 4, **CPU).refine(stripes, level=0, **CPU).cut < 5000
    assert np.array_equal(stripes, np.arange(large.n) % 4)
    hierarchy = jetpy.coarsen(MESH, 4, **CPU)
    parts = np.zeros(hierarchy.levels[-1].n, np.int32)
    maps = [level.coarse_of.copy() for level in hierarchy.levels[:-1]]
    hierarchy.refine(parts, **CPU)
    hierarchy.partition(**CPU)
    assert not parts.any()
    for level, before in zip(hierarchy.levels, maps, strict=False):
        assert np.array_equal(level.coarse_of, before)
    check(hierarchy)


def test_empty_parts_are_filled_on_request() -> None:
    hierarchy = jetpy.coarsen(path(900), 3, **CPU)
    parts = np.zeros(hierarchy.levels[-1].n, np.int32)
    options: dict[str, Any] = {"imbalance": 9.0, "large_imbalance": True}
    assert hierarchy.refine(parts, **options, **CPU).empty_parts == 2
    assert hierarchy.refine(parts, fill_empty=True, **options, **CPU).empty_parts == 0


@pytest.mark.parametrize(
    ("graph", "k"),
    [(isolated(0), 1), (isolated(0), 3), (path(1), 2), (path(9), 1), (path(4), 9), (MESH, 1)],
    ids=str,
)
def test_trivial_problems(graph: Graph, k: int) -> None:
    hierarchy = jetpy.coarsen(graph, k, **CPU)
    expected = jetpy.partition(graph, k, **CPU)
    assert np.array_equal(hierarchy.partition(**CPU).parts, expected.parts)
    parts = np.zeros(hierarchy.levels[-1].n, np.int32)
    refined = hierarchy.refine(parts, **CPU)
    assert refined.parts.shape == (graph.n,)
    assert refined.feasible == (graph.n < 2 or k == 1 or refined.cut > 0)


@settings(max_examples=40)
@given(weighted_graphs(least=4, most=16), st.integers(0, 9))
def test_small_hierarchies(graph: Graph, seed: int) -> None:
    options = {"coarsen.coarsest": "per-part", "coarsen.per_part": 1}
    check(jetpy.coarsen(graph, 2, seed=seed, options=options, **CPU))


def test_coarsens_to_a_number_of_vertices() -> None:
    per_part = {"coarsen.coarsest": "per-part", "coarsen.per_part": 1}
    options = {**per_part, "coarsen.bounded": False}
    sizes = [level.n for level in jetpy.coarsen(MESH, 40, options=options, **CPU).levels]
    assert sizes[-2] > 40 >= sizes[-1] > 10


class Random:
    """Hierarchies by random maps."""

    def __init__(self, graph: Graph, *sizes: int) -> None:
        rng, self.maps, n = np.random.default_rng(1), [], graph.n
        for size in sizes:
            at_random = rng.permutation(np.r_[np.arange(size), rng.integers(0, size, n - size)])
            self.maps.append(at_random)
            n = size


def test_hierarchies_from_elsewhere() -> None:
    maps = Random(GRAPHS["weighted"], 900, 200, 30).maps
    found = jetpy.Hierarchy(GRAPHS["weighted"], maps)
    check(found)
    assert [level.n for level in found.levels] == [6000, 900, 200, 30]
    assert found.k is None
    same_levels(found, jetpy.Hierarchy([level.graph for level in found.levels], maps))
    same_levels(found, jetpy.Hierarchy(tuple(level.graph for level in found.levels), maps))
    arrays = [
        (g.indptr, g.indices, g.edge_weights, g.vertex_weights)
        for g in (level.graph for level in found.levels)
    ]
    same_levels(found, jetpy.Hierarchy(arrays, [one.tolist() for one in maps]))
    result = found.partition(3, **CPU)
    assert result.feasible
    again = found.refine(found.restrict(result.parts, how="first"), **CPU)
    assert again.k == 3
    single = jetpy.Hierarchy(MESH, [])
    assert len(single) == 1
    assert single.partition(4, **CPU).feasible


def test_hierarchies_of_jetpy_are_accepted() -> None:
    made = jetpy.coarsen(WEB, 4, preset="fast", **CPU)
    maps = [level.coarse_of for level in made.levels[:-1]]
    given_again = jetpy.Hierarchy([level.graph for level in made.levels], maps)
    one, two = made.partition(**CPU), given_again.partition(4, preset="fast", **CPU)
    assert np.array_equal(one.parts, two.parts)
    contracted = jetpy.Hierarchy(WEB, maps)
    same_levels(made, contracted, rows=False)
    assert np.array_equal(one.parts, contracted.partition(4, preset="fast", **CPU).parts)


def pair() -> tuple[list[Graph], list[list[int]]]:
    """A path of four vertices, and of two vertices."""
    edges = [(0, 1), (1, 2), (2, 3)]
    return [from_edges(4, edges), from_edges(2, [(0, 1)], None, [2, 2])], [[0, 0, 1, 1]]


Change = Callable[[list[Any], list[Any]], Any]
WRONG: dict[str, tuple[Change, str]] = {
    "no graph": (lambda g, m: ([], []), "0 graphs and 0 maps; there must be a map from each"),
    "no map": (lambda g, m: (g, []), "2 graphs and 0 maps"),
    "a map too many": (lambda g, m: (g, m * 2), "2 graphs and 2 maps"),
    "no graph at all": (lambda g, m: ([g[0], 7], m), "cannot make a graph from 'int'"),
    "short map": (lambda g, m: (g, [[0, 1]]), r"maps\[0\] has shape \(2,\)"),
    "map of rows": (lambda g, m: (g, [[[0, 0, 1, 1]]]), r"maps\[0\] must be one-dimensional"),
    "map of floats": (lambda g, m: (g, [[0.0, 0, 1, 1]]), r"maps\[0\] must contain integers"),
    "negative": (lambda g, m: (g, [[0, -1, 1, 1]]), r"maps\[0\] maps vertex 1 to -1; .* 0..1"),
    "too large": (lambda g, m: (g, [[0, 0, 1, 2]]), r"maps\[0\] maps vertex 3 to 2; .* 0..1"),
    "not onto": (lambda g, m: (g, [[0, 0, 0, 0]]), r"maps\[0\] maps no vertex to coarse vertex 1"),
    "gap": (lambda g, m: (g[0], [[0, 0, 2, 2]]), r"maps no vertex to coarse vertex 1"),
    "huge": (lambda g, m: (g[0], [[0, 0, 1, 10**9]]), r"maps vertex 3 to 1000000000; .* 0..3"),
    "vertex weight": (
        lambda g, m: ([g[0], from_edges(2, [(0, 1)])], m),
        "level 1: vertex 0 weighs 1, but its vertices on level 0 weigh 2 together",
    ),
    "edge weight": (
        lambda g, m: ([g[0], from_edges(2, [(0, 1)], [5], [2, 2])], m),
        r"level 1: edge \(0, 1\) weighs 5, but the edges between its ends on level 0 weigh 1",
    ),
    "missing edge": (
        lambda g, m: ([g[0], from_edges(2, [], None, [2, 2])], m),
        r"level 1: edge \(0, 1\) weighs 0, but the edges .* weigh 1 together",
    ),
    "another edge": (
        lambda g, m: ([from_edges(4, [(0, 1)]), g[1]], m),
        r"level 1: edge \(0, 1\) weighs 1, but the edges .* weigh 0 together",
    ),
    "duplicate edge": (
        lambda g, m: (
            [
                from_edges(4, [(0, 2), (1, 3)]),
                Graph(
                    np.array([0, 2, 4], np.int32),
                    np.array([1, 1, 0, 0], np.int32),
                    np.ones(4, np.int32),
                    np.array([2, 2], np.int32),
                ),
            ],
            m,
        ),
        "level 1 has 2 edges instead of 1",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_refuses_wrong_hierarchies(case: str) -> None:
    change, message = WRONG[case]
    with pytest.raises(GraphError, match=message):
        jetpy.Hierarchy(*change(*pair()))


CALLS: dict[str, tuple[Callable[[jetpy.Hierarchy], Any], type[Exception], str]] = {
    "no k": (lambda h: h.partition(), OptionError, "k is missing"),
    "k = 0": (lambda h: h.partition(0), OptionError, "k is 0"),
    "imbalance": (lambda h: h.partition(2, imbalance=3), OptionError, "large_imbalance=True"),
    "seed": (lambda h: h.partition(2, seed=-1), OptionError, "seed is -1"),
    "preset": (lambda h: h.partition(2, preset="best"), OptionError, "unknown preset 'best'"),
    "option": (lambda h: h.partition(2, options={"speed": 1}), OptionError, "unknown option"),
    "two kinds of options": (
        lambda h: h.partition(2, preset="jet", options=jetpy.Options()),
        OptionError,
        "give one of them",
    ),
    "coarsening": (
        lambda h: h.partition(2, options={"coarsen.rounds": 3}),
        OptionError,
        "coarsen.rounds is 3; on a given hierarchy, it must be 10. Pass options of coarsening to",
    ),
    "cycles": (lambda h: h.partition(2, options={"cycles": 2}), OptionError, "it must be 0"),
    "parts of another level": (
        lambda h: h.refine([0, 1], level=0),
        GraphError,
        "have shape .* one for each of 4 vertices",
    ),
    "part beyond k": (lambda h: h.refine([0, 2], 2), GraphError, "vertex 1 is in part 2"),
    "level": (lambda h: h.refine([0, 1], level=2), OptionError, "level is 2; it must be in 0..1"),
    "negative level": (lambda h: h.project([0, 1], -3), OptionError, "from_level is -3; .* to -2"),
    "level 1.0": (lambda h: h.project([0, 1], 1.0), OptionError, "from_level is 1.0"),
    "upwards": (lambda h: h.project([0] * 4, 0, 1), OptionError, "coarser than .*; use restrict"),
    "downwards": (lambda h: h.restrict([0, 1], 1, 0), OptionError, "finer than .*; use project"),
    "reduction": (lambda h: h.restrict([0] * 4, how="min"), OptionError, "unknown reduction 'min'"),
    "too few values": (lambda h: h.restrict([0]), GraphError, r"shape \(1,\); .* 4 vertices of"),
    "too many values": (lambda h: h.project(np.ones((4, 2))), GraphError, "2 vertices of level 1"),
    "a number": (lambda h: h.project(3), GraphError, r"the values have shape \(\)"),
    "text": (lambda h: h.restrict(list("abcd")), GraphError, "are <U1; for 'sum', they must"),
    "complex": (lambda h: h.restrict([1j] * 4, how="max"), GraphError, "for 'max', they must be"),
    "back end": (lambda h: h.partition(2, backend="tpu"), OptionError, "unknown backend"),
    "device": (lambda h: h.partition(2, device=False), OptionError, "device is False"),
}


@pytest.mark.parametrize("case", CALLS)
def test_refuses_wrong_arguments(case: str) -> None:
    call, kind, message = CALLS[case]
    with pytest.raises(kind, match=message):
        call(jetpy.Hierarchy(*pair()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 2.5}, "k is 2.5"),
        ({"imbalance": 3}, "large_imbalance=True"),
        ({"imbalance": [0.1, 0.2]}, "imbalance has 2 numbers"),
        ({"seed": 2**31}, "seed is"),
        ({"preset": "best"}, "unknown preset"),
        ({"coarsening": "greedy"}, "unknown coarsening"),
        ({"options": {"coarsen.method": 1}}, "unknown coarsen.method"),
        ({"device": False}, "device is False"),
        ({"progress": 3}, "progress is 3"),
    ],
    ids=str,
)
def test_coarsen_refuses_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        jetpy.coarsen(path(9), **{"k": 2, "backend": "cpu"} | options)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 2)], ids=str)
@pytest.mark.parametrize(
    "kind", [bool, np.int8, np.int32, np.uint16, np.float16, np.float32, complex]
)
def test_restricted_values(shape: tuple[int, ...], kind: Any) -> None:
    graph = GRAPHS["weighted"]
    hierarchy = jetpy.Hierarchy(graph, Random(graph, 900, 200, 30).maps)
    coarse_of = hierarchy.project(np.arange(30))
    values = np.random.default_rng(2).integers(0, 90, (graph.n, *shape)).astype(kind)
    groups = [values[coarse_of == v] for v in range(30)]
    exact = np.float32 if kind is np.float16 else None
    by_hand = {
        "sum": [group.sum(axis=0, dtype=exact) for group in groups],
        "mean": [group.mean(axis=0, dtype=exact) for group in groups],
        "max": [group.max(axis=0) for group in groups],
        "first": [group[0] for group in groups],
    }
    if kind is complex:
        del by_hand["max"]
    for how, expected in by_hand.items():
        found = hierarchy.restrict(values, how=how)  # type: ignore[arg-type]
        assert found.shape == (30, *shape)
        if how in ("max", "first") or kind is np.float16:
            assert found.dtype == kind
            assert np.array_equal(found, np.array(expected).astype(kind))
        else:
            assert found.dtype == np.array(expected).dtype
            assert np.allclose(found, expected)


def test_values_move_level_by_level() -> None:
    hierarchy = jetpy.coarsen(GRAPHS["weighted"], 4, **CPU)
    last = len(hierarchy) - 1
    assert last > 2
    ids = np.arange(hierarchy.levels[-1].n)
    for depth in range(last + 1):
        for how in ("mean", "max", "first"):
            down = hierarchy.project(ids, to_level=depth)
            assert np.array_equal(hierarchy.restrict(down, depth, how=how), ids)  # type: ignore[arg-type]
        weights = hierarchy.restrict(hierarchy.graph.vertex_weights, 0, depth)
        assert np.array_equal(weights, hierarchy.levels[depth].vertex_weights)
    steps = hierarchy.project(hierarchy.project(ids, last, 2), 2, 0)
    assert np.array_equal(steps, hierarchy.project(ids))
    names = np.array([f"v{v}" for v in range(hierarchy.graph.n)])
    assert hierarchy.restrict(names, how="first")[0] == "v0"


def test_parts_keep_their_cut_when_projected() -> None:
    hierarchy = jetpy.coarsen(GRAPHS["weighted"], 4, **CPU)
    for depth, level in enumerate(hierarchy.levels):
        parts = np.arange(level.n) % 4
        coarse = jetpy.evaluate(level.graph, parts, 4)
        fine = jetpy.evaluate(hierarchy.graph, hierarchy.project(parts, depth), 4)
        assert fine.cut == coarse.cut
        assert np.array_equal(fine.part_weights, coarse.part_weights)


def test_prints_as_a_table() -> None:
    hierarchy = jetpy.coarsen(MESH, 4, **CPU)
    header, *rows = repr(hierarchy).splitlines()
    assert header.split() == ["level", "vertices", "edges", "ratio", "s"]
    assert len(rows) == len(hierarchy)
    assert rows[0].split()[:3] == ["0", "6,000", f"{MESH.m:,}"]
    assert float(rows[1].split()[3]) == round(hierarchy.levels[1].n / 6000, 2)
    assert hierarchy.levels[1].graph.name == "delaunay-6000-s1, level 1"


def test_reports_progress() -> None:
    calls: list[tuple[str, int, int]] = []
    hierarchy = jetpy.coarsen(MESH, 4, progress=lambda *call: calls.append(call), **CPU)
    done = [done for stage, done, _ in calls if stage == "coarsen"]
    assert done == [6000 - level.n for level in hierarchy.levels[1:]]


@pytest.mark.parametrize(("most", "wide"), [(300, 6), (21_000, 3), (32_000, 1)])
def test_wide_levels(monkeypatch: pytest.MonkeyPatch, most: int, wide: int) -> None:
    """As if 32 bits held no more than that: they hold levels from `wide` on."""
    expected = jetpy.coarsen(MESH, 4, preset="fast", **CPU)
    monkeypatch.setattr(jetpy.graph.csr, "MAX_NARROW", most)
    hierarchy = jetpy.coarsen(MESH, 4, preset="fast", **CPU)
    sums = [level.graph.edge_weights.sum() for level in hierarchy.levels]
    assert sum(total > most for total in sums) == wide
    check(hierarchy)
    if most == 300:
        same_levels(hierarchy, expected, rows=False)
    result, whole = (
        hierarchy.partition(**CPU),
        jetpy.partition(MESH, 4, preset="fast", options=MULTILEVEL, **CPU),
    )
    assert np.array_equal(result.parts, whole.parts)
    steps = [
        [(level.level, level.n, level.cut_before, level.cut_after) for level in found.levels]
        for found in (result, whole)
    ]
    assert steps[0] == steps[1]
    for depth in range(len(hierarchy)):
        parts = np.arange(hierarchy.levels[depth].n) % 4
        refined = hierarchy.refine(parts, level=depth, **CPU)
        assert refined.cut == jetpy.evaluate(MESH, refined.parts).cut
        below = 1 if depth > wide else 0  # the first narrow level is refined by both kernels
        assert len(refined.levels) == depth + 1 + below
        if depth == 0:
            alone = jetpy.refine(MESH, parts, 4, preset="fast", **CPU)
            assert np.array_equal(refined.parts, alone.parts)


def test_wide_weights_with_a_common_divisor() -> None:
    """After the division, 32 bits hold the graph itself."""
    weights = 2**20 * (1 + np.arange(MESH.n) % 3)
    graph = jetpy.as_graph(MESH, vertex_weights=weights)
    assert graph.is_large
    hierarchy = jetpy.coarsen(graph, 4, preset="fast", **CPU)
    check(hierarchy)
    parts = np.arange(MESH.n) * 4 // MESH.n
    refined = hierarchy.refine(parts, level=0, **CPU)
    alone = jetpy.refine(graph, parts, 4, preset="fast", **CPU)
    assert len(refined.levels) == 1
    assert np.array_equal(refined.parts, alone.parts)
    whole = jetpy.partition(graph, 4, preset="fast", options=MULTILEVEL, **CPU)
    assert np.array_equal(hierarchy.partition(**CPU).parts, whole.parts)


def test_weights_beyond_32_bits(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(INT32_MAX // 2, INT32_MAX, MESH.n)
    graph = jetpy.as_graph(MESH, vertex_weights=weights)
    hierarchy = jetpy.coarsen(graph, 4, preset="fast", **CPU)
    check(hierarchy)
    assert hierarchy.levels[0].vertex_weights.dtype == np.int32
    assert hierarchy.levels[-1].vertex_weights.dtype == np.int64
    result = hierarchy.partition(**CPU)
    assert result.feasible
    assert np.array_equal(
        result.parts, jetpy.partition(graph, 4, preset="fast", options=MULTILEVEL, **CPU).parts
    )
    hierarchy.save(tmp_path / "heavy.npz")
    again = jetpy.read_hierarchy(tmp_path / "heavy.npz")
    same_levels(hierarchy, again)
    assert again.levels[-1].vertex_weights.dtype == np.int64
    maps = [level.coarse_of for level in hierarchy.levels[:-1]]
    same_levels(hierarchy, jetpy.Hierarchy(graph, maps), rows=False)
