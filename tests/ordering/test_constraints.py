"""Constraints of orderings: rows that come last, groups that stay together, and exact costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from tests.fuzz.orderings import eliminated
from tests.ordering.constraints import LAST, TOGETHER, any_constraints, breaches
from tests.ordering.degree_oracle import MinimumDegree
from tests.ordering.test_minimum_degree import random_pattern
from tests.ordering.test_nested_dissection import check, graph_of

METHODS = ("minimum degree", "order", "fast", "default", "best")
Array = np.ndarray


def ordered(graph: jetpy.Graph, method: str, **options: Any) -> jetpy.Ordering:
    if method == "minimum degree":
        return jetpy.minimum_degree(graph, **options)
    if method == "order":
        return jetpy.order(graph, threads=1, **options)
    return jetpy.nested_dissection(graph, preset=method, leaf_size=8, threads=1, **options)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.integers(0, 90),
    st.sampled_from([0.01, 0.04, 0.1, 0.4]),
    st.sampled_from(METHODS),
    st.sampled_from(LAST),
    st.sampled_from(TOGETHER),
)
def test_constraints_hold_and_costs_are_exact(
    seed: int, n: int, density: float, method: str, last: str, together: str
) -> None:
    graph = graph_of(random_pattern(seed, n, density))
    constraints = any_constraints(np.random.default_rng(seed), n, last, together)
    found = ordered(graph, method, **constraints)
    assert list(breaches(found.perm, constraints)) == []
    parents, counts = eliminated(graph, found.perm)
    assert np.array_equal(found.symbolic.parents, parents)
    assert np.array_equal(found.symbolic.counts, counts)
    if method != "minimum degree":
        check(graph, found)


@given(st.integers(0, 2**32), st.integers(2, 40), st.sampled_from([0.03, 0.08, 0.2]))
def test_free_rows_are_in_the_order_of_an_oracle(seed: int, n: int, density: float) -> None:
    """The oracle has an element for each component of the rows that come earlier."""
    pattern = random_pattern(seed, n, density)
    last = np.sort(np.random.default_rng(seed).permutation(n)[: n // 2])
    perm = jetpy.minimum_degree(graph_of(pattern), last=last).perm
    first, component = perm[: n - len(last)], np.arange(n)
    for _ in first:
        for v in first:
            near = first[pattern[v, first] | (first == v)]
            component[v] = component[near].min()
    ends = {component[v]: place for place, v in enumerate(first)}
    elements = sorted(ends, key=lambda name: ends[name])
    touched = np.array([pattern[first[component[first] == e]].any(axis=0)[last] for e in elements])
    touched = touched.reshape(len(elements), len(last))
    quotient = np.block(
        [
            [np.zeros((len(elements), len(elements)), bool), touched],
            [touched.T, pattern[np.ix_(last, last)]],
        ]
    )
    expected = MinimumDegree(graph_of(quotient), range(len(quotient)), len(elements)).order
    assert perm[len(first) :].tolist() == [last[v - len(elements)] for v in expected]


@pytest.mark.parametrize("method", ["minimum degree", "fast", "default", "best"])
def test_free_rows_have_less_fill_than_in_a_random_order(method: str) -> None:
    grid = generators.grid(30, 30)
    last = np.random.default_rng(1).permutation(np.flatnonzero(np.arange(900) % 30 % 10 == 5))
    free, kept = (ordered(grid, method, last=last, keep_last_order=k) for k in (False, True))
    assert np.array_equal(kept.perm[-len(last) :], last)
    assert free.fill < 0.95 * kept.fill
    assert np.array_equal(free.perm[: -len(last)], kept.perm[: -len(last)])


def test_the_halo_has_the_rows_that_come_last() -> None:
    """Rows next to many last rows have many entries, so they come late."""
    pattern = np.eye(24, k=1, dtype=bool)
    pattern[0, 12:] = True
    found = jetpy.minimum_degree(graph_of(pattern | pattern.T), last=np.arange(12, 24))
    assert found.perm[11] == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("last", [[5], [5, 400], [400, 5]])
def test_dense_rows_come_before_last_rows(method: str, last: list[int]) -> None:
    pattern = np.zeros((401, 401), bool)
    grid = generators.grid(20, 20)
    pattern[grid.sources(0, 400), grid.indices] = True
    pattern[400] = pattern[:, 400] = True
    found = ordered(graph_of(pattern), method, last=last)
    assert found.perm[-1] == (400 if 400 in last else 5)
    assert found.perm[-2] == (5 if 400 in last else 400)
    if found.tree is not None:
        assert found.tree.sizes[-1] == 2
        check(graph_of(pattern), found)
    assert np.array_equal(
        ordered(graph_of(pattern), method, last=last, keep_last_order=True).perm[-len(last) :], last
    )


def test_rows_with_the_same_pattern_are_apart_if_only_one_comes_last() -> None:
    pattern = np.kron(np.eye(20, k=1, dtype=bool), np.ones((2, 2), bool))
    pattern |= np.kron(np.eye(20, dtype=bool), np.ones((2, 2), bool))
    last = np.arange(1, 40, 2)
    for method in METHODS:
        found = ordered(graph_of(pattern | pattern.T), method, last=last)
        assert list(breaches(found.perm, {"last": last})) == []


@pytest.mark.parametrize("method", METHODS)
def test_all_rows_may_come_last(method: str) -> None:
    grid = generators.grid(6, 7)
    rows = np.random.default_rng(0).permutation(42)
    assert np.array_equal(ordered(grid, method, last=rows, keep_last_order=True).perm, rows)
    assert ordered(grid, method, last=rows).fill <= 1.2 * ordered(grid, "minimum degree").fill


@pytest.mark.parametrize("method", METHODS)
def test_no_rows_are_no_constraint(method: str) -> None:
    grid = generators.grid(12, 12)
    plain = ordered(grid, method).perm
    assert np.array_equal(ordered(grid, method, last=[]).perm, plain)
    assert np.array_equal(ordered(grid, method, together=np.full(144, -1)).perm, plain)


@pytest.mark.parametrize("preset", ["fast", "default"])
def test_the_order_is_the_same_on_all_threads_and_large_nodes_keep_it(preset: Any) -> None:
    graph = generators.delaunay(25_000, seed=3)
    rng = np.random.default_rng(0)
    constraints = any_constraints(rng, graph.n, "kept", "pairs")
    constraints["last"] = constraints["last"][:100]
    one, two = (
        jetpy.nested_dissection(graph, preset=preset, threads=t, **constraints) for t in (1, 2)
    )
    assert np.array_equal(one.perm, two.perm)
    assert np.array_equal(one.perm[-100:], constraints["last"])


@pytest.mark.parametrize("function", [jetpy.minimum_degree, jetpy.nested_dissection])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"last": [3, 9]}, r"last\[1\] is row 9, but must be in 0\.\.8"),
        ({"last": [-1]}, r"last\[0\] is row -1, but must be in 0\.\.8"),
        ({"last": [4, 2, 4]}, "last has row 4 twice"),
        ({"last": [[1]]}, "last has shape"),
        ({"last": [0.5]}, "type float64; it must be a list of rows"),
        ({"last": [True]}, "type bool"),
        ({"keep_last_order": 1}, "keep_last_order is 1; it must be True or False"),
        ({"together": [0] * 8}, "together has shape"),
        (
            {"together": [7, 7, *[-1] * 7], "last": [1]},
            "group 7 of together has row 1, which is in last, and row 0, which is not",
        ),
        (
            {"together": [7, 7, *[-1] * 7], "last": [0]},
            "group 7 of together has row 0, which is in last, and row 1, which is not",
        ),
        (
            {"together": [7, 7, *[-1] * 7], "last": [0, 5, 1], "keep_last_order": True},
            "last has other rows between row 1 and the row of group 7 of together before it",
        ),
    ],
)
def test_wrong_constraints(function: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(jetpy.OptionError, match=message):
        function(generators.grid(3, 3), **options)
