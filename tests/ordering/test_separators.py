"""Separators: growing, passes, and the choice between tries, compared with plain Python."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.backends import get_backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid
from jetpy.initial.workers import OF_VERTICES
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.ordering.separator_flows import Band
from tests.graphs import clique, isolated, path, random_graph, star, two_cliques
from tests.modules import import_kernels
from tests.ordering.oracle import SEPARATOR, Separation
from tests.strategies import weighted_graphs

probes = import_kernels("tests.ordering.probes")
BEGIN = 3
"""First vertex of the level."""
FIRST_ENTRY = 5
HERE = int(Field.COUNT)
"""Row of its fields."""


def level_of(start: Separation) -> dict[str, Any]:
    """Return a level and the second queue, with rubbish where nothing is to be read."""
    backend, graph, end = get_backend("cpu", 1), start.graph, BEGIN + start.graph.n
    size = FIRST_ENTRY + len(graph.indices)
    numbers = backend.full(2 * Field.COUNT, -77, np.int64)
    levels = SimpleNamespace(
        **{name: backend.full(end + 1, -77) for name in OF_VERTICES},
        keys=backend.full(end + 1, -77, np.int64),
        ends=backend.full(size, -77),
        edge_weights=backend.full(size, -77),
        numbers=numbers,
    )
    levels.rows[BEGIN : end + 1] = FIRST_ENTRY + graph.indptr
    levels.weights[BEGIN:end] = graph.vertex_weights
    levels.sides[BEGIN:end] = start.sides
    levels.pinned[BEGIN:end] = [start.pinned.get(v, NO_PART) for v in range(graph.n)]
    levels.ends[FIRST_ENTRY:] = BEGIN + graph.indices
    levels.edge_weights[FIRST_ENTRY:] = graph.edge_weights
    fields = {
        Field.BEGIN: BEGIN,
        Field.END: end,
        Field.ORIGIN: BEGIN,
        Field.LEVELS: 0 if start.is_finest else 2,
        Field.SEED: start.seed,
        Field.SKEW: start.skew,
        Field.TOTAL: graph.total_vertex_weight + sum(start.outside),
    }
    for place, value in fields.items():
        numbers[HERE + place] = value
    for side in range(2):
        numbers[HERE + Field.MOST + side] = start.most[side]
        numbers[HERE + Field.OUTSIDE + side] = start.outside[side]
    queue = {name: backend.full(end + 1, -77) for name in ("heap", "positions")}
    keys = backend.full(end + 1, -77, np.int64)
    return {"levels": levels, "other": SimpleNamespace(**queue, keys=keys, numbers=numbers)}


def run(workunit: str, start: Separation, **arguments: Any) -> tuple[list[int], list[int]]:
    """Run a probe; return the sides, and the weights of sides and separator."""
    arrays = level_of(start)
    own = getattr(probes, workunit)
    passed = {name: array for name, array in arrays.items() if name in own.__annotations__}
    get_backend("cpu", 1).run_tasks(1, own, here=HERE, **passed, **arguments)
    levels = arrays["levels"]
    fields = levels.numbers[HERE:].tolist()
    weights = [*fields[Field.WEIGHTS : Field.WEIGHTS + 2], fields[Field.CUT]]
    return levels.sides[BEGIN : BEGIN + start.graph.n].tolist(), weights


def positive(graph: Graph) -> Graph:
    """Return the graph with vertex and edge weights of at least 1."""
    own, edges = np.maximum(graph.vertex_weights, 1), np.maximum(graph.edge_weights, 1)
    return replace(graph, vertex_weights=own, edge_weights=edges)


GRAPHS = weighted_graphs(most=20).map(positive)
SEEDS = st.integers(0, 2**31 - 1)


def any_separation(graph: Graph, seed: int) -> Separation:
    """Draw sides, limits, pins, weights outside, and a penalty."""
    rng = np.random.default_rng(seed)
    sides = rng.integers(0, 3 if seed % 3 else 2, graph.n).tolist()
    outside = tuple(rng.integers(0, 2, 2) * rng.integers(0, 30, 2))
    total = graph.total_vertex_weight + sum(outside)
    most = tuple((total * rng.integers(40, 101, 2) // 100).tolist())
    found = Separation(
        graph, sides, most, seed, {}, outside, int(rng.choice([0, 160])), seed % 4 > 0
    )
    for v in range(graph.n):
        if sides[v] == 0 and found.entering(v, 0):
            sides[v] = SEPARATOR
    for v in np.flatnonzero(rng.random(graph.n) < rng.choice([0, 0.3])).tolist():
        found.pinned[v] = sides[v] if sides[v] < SEPARATOR else int(rng.integers(0, 3))
    return found


def check_passes(start: Separation) -> None:
    """Check one to five passes, which end after the first without success."""
    expected = replace(start, sides=list(start.sides))
    is_better = True
    for passes in range(1, 6):
        before = expected.quality
        is_better = is_better and expected.improve()
        assert run("refine_sides", start, passes=passes) == (expected.sides, expected.side_weights)
        assert (expected.quality < before) == is_better
    assert all(not expected.entering(v, 0) for v, s in enumerate(expected.sides) if s == 0)


@given(GRAPHS, SEEDS)
def test_passes_on_small_graphs_equal_the_oracle(graph: Graph, seed: int) -> None:
    check_passes(any_separation(graph, seed))


@pytest.mark.parametrize("seed", range(6))
def test_passes_that_end_early_equal_the_oracle(seed: int) -> None:
    check_passes(any_separation(random_graph(70, 160, seed, weighted=True), seed))


def test_long_passes_equal_the_oracle() -> None:
    """The separator is large, and 300 moves without success end a pass."""
    sides = [SEPARATOR if v < 500 else v % 2 for v in range(700)]
    start = Separation(path(700), sides, (700, 700), 5)
    for v in range(500, 700, 2):
        start.sides[v] = SEPARATOR
    expected = replace(start, sides=list(start.sides))
    expected.improve()
    assert run("refine_sides", start, passes=1)[0] == expected.sides


@given(GRAPHS, SEEDS, st.integers(0, 9), st.integers(30, 100))
def test_growing_equals_the_oracle(graph: Graph, seed: int, salt: int, share: int) -> None:
    most = share * graph.total_vertex_weight // 100
    expected = Separation(graph, [0] * graph.n, (most, most), seed, is_finest=bool(seed % 2))
    start = replace(expected)
    expected.grow(salt)
    assert run("grow_side", start, salt=salt) == (expected.sides, expected.side_weights)


@pytest.mark.parametrize(
    "graph", [grid(9, 9), delaunay(120), star(30), clique(9), isolated(7), two_cliques(12)]
)
def test_growing_finds_separators(graph: Graph) -> None:
    expected = Separation(graph, [], (3 * graph.n // 4, 3 * graph.n // 4), 3)
    start = replace(expected, sides=[0] * graph.n)
    expected.grow(2)
    sides, weights = run("grow_side", start, salt=2)
    assert sides == expected.sides
    assert weights == np.bincount(sides, minlength=3).tolist()
    largest = {"grid-9x9": 14, "star30": 1, "two_cliques12": 0, "isolated7": 0}
    assert weights[SEPARATOR] <= largest.get(graph.name, graph.n)


@given(GRAPHS, SEEDS)
def test_separators_of_bisections_equal_the_oracle(graph: Graph, seed: int) -> None:
    sides = np.random.default_rng(seed).integers(0, 2, graph.n).tolist()
    expected = Separation(graph, sides, (0, 0), seed)
    start = replace(expected, sides=list(sides))
    expected.separate()
    assert run("separate_level", start) == (expected.sides, expected.side_weights)


@given(
    st.lists(st.tuples(*[st.integers(0, 12)] * 3, st.integers(0, 1)), min_size=1, max_size=6),
    st.integers(0, 3),
    st.integers(4, 13),
)
def test_tries_almost_as_good_as_the_best_are_selected(
    tries: list[tuple[int, int, int, int]], first: int, most: int
) -> None:
    """Each try has the weights of its sides and separator, and whether it is excluded already."""
    levels = SimpleNamespace(numbers=np.full((first + len(tries) + 1) * Field.COUNT, -77, np.int64))
    bands = np.full((first + len(tries) + 1) * Band.COUNT, 7, np.int64)
    qualities = []
    for number, (a, b, cut, is_excluded) in enumerate(tries):
        graph = replace(isolated(3), vertex_weights=np.array([a, b, cut + 1], np.int32))
        own = Separation(graph, [0, 1, 2], (most, most), skew=160)
        qualities.append((*own.quality, first + number))
        here = levels.numbers[(first + number) * Field.COUNT :]
        here[[Field.WEIGHTS, Field.WEIGHTS + 1, Field.CUT]] = a, b, cut + 1
        here[[Field.MOST, Field.MOST + 1, Field.TOTAL]] = most, most, a + b + cut + 1
        here[[Field.SKEW, Field.LEVELS]] = 160, 0
        bands[(first + number) * Band.COUNT + Band.FAILED] = is_excluded
    excess, score, best = min(qualities)
    expected = bands.copy()
    for own_excess, own_score, i in qualities:
        if own_excess > excess or own_score > score * 11 / 10:
            expected[i * Band.COUNT + Band.FAILED] = 1
    answers = np.zeros(1, np.int64)
    get_backend("cpu", 1).run_tasks(
        1, probes.choose, first=first, tries=len(tries), answers=answers, bands=bands, levels=levels
    )
    assert answers[0] == best
    assert bands.tolist() == expected.tolist()


def test_each_side_is_limited_to_a_share() -> None:
    levels = SimpleNamespace(numbers=np.full(2 * Field.COUNT, -77, np.int64))
    levels.numbers[HERE + Field.TOTAL] = 2**31 - 1
    expected = levels.numbers.tolist()
    expected[HERE + Field.MOST : HERE + Field.MOST + 2] = [1_610_612_735] * 2  # 3/4, rounded down
    get_backend("cpu", 1).run_tasks(1, probes.limit, share=750, here=HERE, levels=levels)
    assert levels.numbers.tolist() == expected
