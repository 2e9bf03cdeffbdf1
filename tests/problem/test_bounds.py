"""Minimum and maximum weights of parts, relative and absolute."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.errors import OptionError
from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.problem.bounds import Bounds, bounded
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, in_units, make_problem
from jetpy.refinement.measures import Measures
from jetpy.refinement.packing import pack
from tests.graphs import MULTILEVEL, from_edges, random_graph
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def problem_of(total: int, k: int, imbalance: float = 0.03, targets: Any = None) -> Problem:
    return make_problem(total, k, imbalance, 0, preset("fast"), targets)


@settings(max_examples=200)
@given(
    st.integers(1, 10**6),
    st.lists(st.integers(1, 50), min_size=1, max_size=8),
    st.sampled_from([0.03, 0.1, 0.25, 0.5, 1.0]),
)
def test_lower_limits_are_exact(total: int, targets: list[int], lower: float) -> None:
    """They are ceil((1 - lower) share); the upper limits stay."""
    kept = 1 - Fraction(str(lower))
    shares = [Fraction(total * t, sum(targets)) for t in targets]
    wanted = [ceil(kept * share) for share in shares]
    problem = problem_of(total, len(targets), 0.03, targets)
    if sum(wanted) > total:
        with pytest.raises(OptionError, match="lower limits of the parts add up to"):
            bounded(problem, Bounds(lower_imbalance=lower), keeps_imbalance=False)
        return
    found = bounded(problem, Bounds(lower_imbalance=lower), keeps_imbalance=False)
    assert found.lower_limits.tolist() == wanted
    assert found.limits.tolist() == problem.limits.tolist()


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64, np.float32])
def test_limits_may_have_any_type_of_numbers(kind: Any) -> None:
    found = bounded(
        problem_of(100, 2), Bounds(max_weights=np.array([60, 70], kind)), keeps_imbalance=False
    )
    assert found.limits.tolist() == [60, 70]


def test_absolute_limits_replace_the_default_imbalance_and_no_other() -> None:
    problem = problem_of(100, 4)
    for bounds, keeps, lower, upper in (
        (Bounds(max_weights=40), False, 0, 40),
        (Bounds(max_weights=40), True, 0, 25),
        (Bounds(max_weights=np.int64(25)), True, 0, 25),
        (Bounds(min_weights=20), False, 20, 100),
        (Bounds(min_weights=20), True, 20, 25),
        (Bounds(min_weights=20, max_weights=30), False, 20, 30),
        (Bounds(20, 30, 0.1), False, 23, 30),
        (Bounds(lower_imbalance=0.1), False, 23, 25),
        (Bounds(max_weights=1000.0), False, 0, 1000),
        (Bounds(max_weights=[30] * 4), False, 0, 30),
    ):
        found = bounded(problem, bounds, keeps_imbalance=keeps)
        assert found.lower_limits.tolist() == [lower] * 4
        assert found.limits.tolist() == [upper] * 4
    assert bounded(problem, Bounds(), keeps_imbalance=False) is problem


@settings(max_examples=100)
@given(st.data(), st.integers(1, 6), st.integers(1, 1000))
def test_ideals_are_within_limits(data: st.DataObject, k: int, total: int) -> None:
    """Parts whose share breaks a limit have others; together they are the total, rounded up."""
    numbers = st.lists(st.integers(0, total), min_size=k, max_size=k)
    lower, upper = np.array(data.draw(numbers)), np.array(data.draw(numbers))
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    if lower.sum() > total or upper.sum() < total:
        with pytest.raises(OptionError, match="limits of the parts add up to"):
            bounded(problem_of(total, k), Bounds(lower, upper), keeps_imbalance=False)
        return
    found = bounded(problem_of(total, k), Bounds(lower, upper), keeps_imbalance=False)
    assert (found.lower_limits == lower).all()
    assert (found.limits == upper).all()
    assert (found.ideals >= lower).all()
    assert (found.ideals <= upper + 1).all()
    assert total <= found.ideals.sum() <= total + 2 * k
    halved = in_units(found, 2, 10)
    assert (2 * halved.lower_limits >= lower).all()
    assert (2 * halved.limits <= upper).all()


def test_shares_within_limits_are_exact() -> None:
    """Parts 2 and 3 share what parts 0 and 1 leave of 8; then, of 2**40, what part 0 leaves."""
    found = bounded(problem_of(8, 4), Bounds([4, 2, 0, 1], [4, 5, 3, 3]), keeps_imbalance=False)
    assert found.shares.tolist() == [2**29 - 2, 2**28 - 1, 2**27, 2**27]
    large = problem_of(2**40 + 1, 3, targets=[2, 1, 1])
    found = bounded(large, Bounds(max_weights=[1, 2**40, 2**40]), keeps_imbalance=False)
    assert found.shares.tolist() == [1, 2**29 - 2, 2**29 - 2]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"min_weights": -1}, "min_weights is -1 for part 0; weights must be integers from 0 on"),
    ({"max_weights": [9, 9.5, 9]}, "max_weights is 9.5 for part 1; weights must be integers"),
    ({"max_weights": [9, np.nan, 9]}, "max_weights is nan for part 1"),
    ({"max_weights": "9"}, "max_weights must be numbers, not <U1"),
    ({"max_weights": [9, 9]}, r"max_weights has shape \(2,\); it must be one weight, or 3"),
    (
        {"max_weights": [9, [9, 9], 9]},
        r"max_weights is \[9, \[9, 9\], 9\]; its rows must have equal",
    ),
    ({"min_weights": 5, "max_weights": [9, 4, 9]}, "part 1 has the lower limit 5 and the upper l"),
    ({"min_weights": 6}, "the lower limits of the parts add up to 18, but the total vertex weight"),
    ({"lower_imbalance": 0}, "add up to 18, .* 16; lower min_weights or raise lower_imbalance"),
    ({"max_weights": 5}, "the upper limits of the parts add up to 15, but the total vertex weight"),
    ({"min_weights": 6, "imbalance": 0.03}, "part 0 has the lower limit 6 and the upper limit 6|1"),
    ({"lower_imbalance": -0.1}, "lower_imbalance is -0.1; it must be None or a number in 0..1"),
    ({"lower_imbalance": 1.1}, "lower_imbalance is 1.1; it must be None or a number in 0..1"),
    ({"k": None}, "k is missing; give the number of parts, or max_weights without it"),
    ({"k": None, "max_weights": [5, 5]}, r"max_weights has shape \(2,\); without k it must be one"),
    (
        {"k": None, "max_weights": 9, "min_weights": [1, 1]},
        r"min_weights has shape \(2,\); without k it must be one",
    ),
    (
        {"k": None, "max_weights": 9, "min_weights": 9},
        "the lower limits of the parts add up to 18, but the total vertex weight is 16",
    ),
    (
        {"k": None, "max_weights": 2},
        "vertex 3 weighs 3, more than max_weights, 2; no part can hold",
    ),
    ({"k": None, "max_weights": 5, "targets": [1]}, "targets needs k, the number of parts"),
    ({"k": None, "max_weights": 5, "fixed": [0] * 8}, "fixed needs k, the number of parts"),
    ({"within": [0] * 8, "home": [0] * 8}, "within cannot be combined with home"),
    (
        {"min_weights": 2**62},
        "part 0 has the lower limit 4611686018427387904 and the upper limit 16; the lower limit",
    ),
    (
        {"min_weights": 6, "within": [0] * 7 + [4]},
        "^in part 0 of within, the lower limits of the parts add up to 18, but .* is 14;",
    ),
    (
        {"min_weights": 2, "within": [0] * 7 + [4]},
        "^in part 4 of within, the lower limits of the parts add up to 6, but .* is 2;",
    ),
    (
        {"vertex_weights": [[1, 2]] * 8, "max_weights": [[9, 5]] * 3},
        "^for weight 1, the upper limits of the parts add up to 15, but .* is 16;",
    ),
    (
        {"vertex_weights": [[1, 2]] * 8, "min_weights": 2, "within": [0] * 7 + [4], "k": 2},
        "^in part 4 of within, for weight 0, part 0 has the lower limit 2 and the upper limit 1;",
    ),
    ({"within": [0] * 7}, "the part ids have shape"),
    (
        {"within": [0] * 7 + [2**30]},
        "within has parts up to 1073741824, which makes 3221225475 parts with k = 3; there must be "
        "at most 16777215. Number the parts of within from 0 on, or lower k",
    ),
    ({"k": 0.5, "within": [0] * 8}, "k is 0.5; it must be an integer"),
    ({"together": [0] * 7}, r"together has shape \(7,\); it must have one group for each of 8"),
    ({"together": [0.5] * 8}, "together must contain integers, not float64"),
    ({"together": [-2] * 8}, "together has group -2 for vertex 0; groups must be integers from 0"),
    ({"together": [[1, 2], [3]]}, r"together is \[\[1, 2\], \[3\]\]; its rows must have equal"),
    ({"together": 3, "within": [0] * 8}, r"together has shape \(\); it must have one group"),
    ({"together": ["a"] * 8, "within": [0] * 8}, "together must contain integers, not <U1"),
    ({"together": [7] * 8}, "group 7 of together weighs more than a part may: 16 instead of 6"),
    (
        {"together": [1, 1, -1, -1, -1, -1, -1, -1], "fixed": [0, 1, -1, -1, -1, -1, -1, -1]},
        "group 1 of together has vertices fixed in parts 1 and 0; fix all in one part",
    ),
    (
        {"together": [4, 4, 4, -1, -1, -1, -1, -1], "within": [0, 0, 1, 1, 1, 1, 1, 1]},
        "group 4 of together has vertices in several parts of within; it must be in one",
    ),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_limits_are_refused(options: dict[str, Any], message: str) -> None:
    edges = [(v, v + 1) for v in range(7)]
    graph = from_edges(8, edges, vertex_weights=[1, 2, 2, 3, 2, 2, 2, 2])
    with pytest.raises((OptionError, jetpy.GraphError), match=message):
        jetpy.partition(graph, **{"k": 3, **options}, **ENGINE)


@pytest.mark.parametrize("name", ["fast", "default", "jet", "gkway", "igkway", "ultra"])
@pytest.mark.parametrize("k", [3, 8])
def test_presets_keep_both_limits(name: Any, k: int) -> None:
    for graph in (grid(30, 20), random_graph(300, 1200, 4, weighted=True)):
        found = jetpy.partition(graph, k, preset=name, lower_imbalance=0.05, seed=1, **ENGINE)
        total = graph.total_vertex_weight
        weights = np.bincount(found.parts, graph.vertex_weights, k)
        assert found.lower_limits.tolist() == [ceil(Fraction(95 * total, 100 * k))] * k
        assert found.limits.tolist() == [floor(Fraction(103, 100) * -(-total // k))] * k
        assert (weights >= found.lower_limits).all()
        assert (weights <= found.limits).all()
        assert found.feasible


@settings(max_examples=100)
@given(weighted_graphs(least=1, most=30), st.integers(1, 6), st.integers(0, 10**6))
def test_limits_are_kept_where_packing_keeps_them(graph: Graph, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = np.bincount(rng.integers(0, k, graph.n), graph.vertex_weights, k).astype(np.int64)
    spare = rng.integers(0, 4, (2, k))
    lower, upper = (weights - spare[0]).clip(0), weights + spare[1]
    found = jetpy.partition(
        graph, k, min_weights=lower, max_weights=upper, seed=seed, preset="fast", **ENGINE
    )
    own = np.bincount(found.parts, graph.vertex_weights, k)
    assert found.part_weights.tolist() == own.tolist()
    assert found.feasible == bool(((lower <= own) & (own <= upper)).all())
    packed = np.bincount(pack(graph.vertex_weights, upper, lower), graph.vertex_weights, k)
    if ((lower <= packed) & (packed <= upper)).all():
        assert found.feasible


def test_the_more_even_of_two_equal_cuts_is_taken() -> None:
    """The last of four generations cuts as much as the first, but its parts are more even."""
    graph = random_graph(200, 230, 2)
    one, four = (
        jetpy.partition(
            graph, 3, imbalance=0.4, generations=n, seed=3, options=MULTILEVEL, **ENGINE
        )
        for n in (1, 4)
    )
    assert one.cut == four.cut
    assert four.part_weights.max() < one.part_weights.max()


def test_evenness_is_the_largest_share_of_a_limit_then_the_lightest_part() -> None:
    problem = bounded(problem_of(100, 3), Bounds(max_weights=[20, 50, 90]), keeps_imbalance=False)
    weights = [(20, 40, 40), (19, 42, 39), (19, 36, 45), (18, 45, 37), (10, 20, 70)]
    keys = [Measures(7, np.array(own)).quality_and_evenness(problem) for own in weights]
    order = sorted(range(5), key=lambda i: keys[i])
    assert order == [4, 3, 1, 2, 0]
    better = Measures(6, np.array(weights[0])).quality_and_evenness(problem)
    assert better < min(keys)


@pytest.mark.parametrize("objective", ["cut", "volume"])
@pytest.mark.parametrize("extra", ["", "fixed", "home"])
def test_other_wishes_keep_both_limits(objective: Any, extra: str) -> None:
    graph = random_graph(400, 1600, 1, weighted=True)
    rng = np.random.default_rng(2)
    places = np.where(rng.random(graph.n) < 0.1, rng.integers(0, 6, graph.n), -1)
    given: dict[str, Any] = {extra: places} if extra else {}
    for seed in range(3):
        found = jetpy.partition(
            graph, 6, lower_imbalance=0.02, objective=objective, seed=seed, **given, **ENGINE
        )
        weights = np.bincount(found.parts, graph.vertex_weights, 6)
        assert (weights >= found.lower_limits).all()
        assert (weights <= found.limits).all()


def test_refine_restores_both_limits() -> None:
    graph = grid(20, 20)
    start = np.zeros(400, np.int32)
    start[350:] = np.arange(50) % 4
    found = jetpy.refine(graph, start, 4, lower_imbalance=0.0, **ENGINE)
    assert found.part_weights.tolist() == [100] * 4
    assert found.feasible
    loose = jetpy.refine(graph, found.parts, 4, min_weights=[90, 90, 90, 120], **ENGINE)
    assert loose.part_weights[3] >= 120
    assert loose.limits.tolist() == [400] * 4
