"""Orders to start from: never more operations, the same separators, the same result everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy import OptionError, generators
from jetpy.device.backends import lease
from jetpy.device.device_graph import upload
from jetpy.ordering.depth import Depth, Nodes
from jetpy.ordering.dissection import dissect
from jetpy.ordering.effort import EFFORTS, Effort
from jetpy.ordering.large_nodes import LargeNodes
from jetpy.ordering.start import Start, packed
from jetpy.workloads.ordering.separators import SEPARATOR
from tests.fuzz.orderings import eliminated
from tests.ordering.constraints import LAST, TOGETHER, any_constraints, breaches
from tests.ordering.dissections import random_graph
from tests.ordering.test_minimum_degree import random_pattern
from tests.ordering.test_nested_dissection import check, graph_of
from tests.ordering.test_order import together, with_small_leaves

METHODS = ("order", "fast", "default", "best")
LEAF = Effort(tries=1, small_tries=1, imbalances=(0.1,), leaf_weight=6)


def ordered(graph: jetpy.Graph, method: str, **options: Any) -> jetpy.Ordering:
    if method == "order":
        with with_small_leaves():
            return jetpy.order(graph, **options)
    return jetpy.nested_dissection(graph, preset=method, leaf_size=8, **options)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.integers(0, 90),
    st.sampled_from([0.01, 0.04, 0.1, 0.4]),
    st.sampled_from(METHODS),
    st.booleans(),
)
def test_never_more_operations(
    seed: int, n: int, density: float, method: str, is_random: bool
) -> None:
    graph = graph_of(random_pattern(seed, n, density))
    start = np.random.default_rng(seed).permutation(n)
    if not is_random:
        start = jetpy.minimum_degree(graph).perm
    found = ordered(graph, method, start=start, seed=seed % 100, threads=1)
    check(graph, found)
    assert found.operations <= jetpy.symbolic(graph, start).operations


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.integers(0, 90),
    st.sampled_from([0.02, 0.1]),
    st.sampled_from(METHODS),
    st.sampled_from(LAST),
    st.sampled_from(TOGETHER),
)
def test_constraints_hold(
    seed: int, n: int, density: float, method: str, last: str, groups: str
) -> None:
    graph, rng = graph_of(random_pattern(seed, n, density)), np.random.default_rng(seed)
    constraints = any_constraints(rng, n, last, groups)
    found = ordered(graph, method, start=rng.permutation(n), threads=1, **constraints)
    check(graph, found)
    assert list(breaches(found.perm, constraints)) == []


@given(st.integers(0, 2**32), st.integers(1, 60), st.sampled_from([0.02, 0.05, 0.1, 0.3]))
def test_the_separators_of_an_order_change_no_fill(seed: int, n: int, density: float) -> None:
    graph = random_graph(seed, n, density, 1)
    order = np.random.default_rng(seed).permutation(n).astype(np.int32)
    start = Start.of(order)
    with lease("cpu", 1) as host, host.using():
        node_of, tree = dissect(host, host, graph, LEAF, 0, separate=start.separators)
    inside = start.ranked(np.arange(n, dtype=np.int32), node_of)
    found = jetpy.symbolic(graph, inside)
    assert found.fill == jetpy.symbolic(graph, order).fill
    assert (np.sort(node_of) == np.repeat(np.arange(len(tree)), tree.sizes)).all()


@given(st.integers(0, 2**32), st.integers(2, 40), st.sampled_from([0.1, 0.2, 0.5]))
def test_separators_are_the_columns_with_most_weight_below(
    seed: int, n: int, density: float
) -> None:
    graph = random_graph(seed, n, density, 3)
    order = np.random.default_rng(seed).permutation(n).astype(np.int32)
    weights = graph.vertex_weights[order].astype(np.int64)
    parents, _ = eliminated(graph, order.astype(np.int64))
    below = weights.copy()
    for column, parent in enumerate(parents.tolist()):
        if parent >= 0:
            below[parent] += below[column]
    if (parents < 0).sum() > 1:
        return  # nodes are connected
    with lease("cpu", 1) as host, host.using():
        numbers = np.array([0, n]), np.array([weights.sum()]), np.array([7])
        nodes = Nodes(upload(host, graph), *numbers, None)
        everything = host.from_host(np.arange(n, dtype=np.int32))
        depth = Depth(nodes, everything, np.array([-1]))
        sides = Start.of(order).separators(LargeNodes(host, host, LEAF), depth)
        sides = host.to_host(sides)
    assert ((sides == SEPARATOR)[order] == (4 * below > 3 * weights.sum())).all()
    tails = graph.sources(0, n)
    assert not ((sides[tails] == 0) & (sides[graph.indices] == 1)).any()


@given(st.lists(st.lists(st.integers(1, 20), min_size=1, max_size=9), max_size=4))
def test_sides_have_about_equal_weights(nodes: list[list[int]]) -> None:
    """The middle of the subtree before the border is in the first half, that of the next is not."""
    weights = [sorted(own, reverse=True) for own in nodes]
    numbers = np.repeat(np.arange(len(nodes)), [len(own) for own in nodes]).astype(np.int32)
    flat = np.array([w for own in weights for w in own], np.int64)
    sides = packed(flat, numbers)
    for node, own in enumerate(weights):
        here, middles = sides[numbers == node], np.cumsum(own) - np.array(own) / 2
        assert (here == (middles > sum(own) / 2)).all()


@pytest.mark.parametrize("method", METHODS)
def test_same_order_everywhere(method: str) -> None:
    graph = generators.delaunay(3000, seed=5)
    start = jetpy.minimum_degree(graph).perm
    first, second = (ordered(graph, method, start=start, threads=t) for t in (1, 2))
    assert np.array_equal(first.perm, second.perm)
    check(graph, first)


def test_separators_of_both_orders_are_used() -> None:
    """The result is better than the start and than an order without it."""
    graph = generators.cube(12, 12, 12)
    plain, start = (jetpy.nested_dissection(graph, seed=seed) for seed in (0, 1))
    found = jetpy.nested_dissection(graph, start=start.perm)
    assert found.operations < 0.99 * min(plain.operations, start.operations)


def test_the_start_is_the_given_order() -> None:
    """A path in random order has no fill from one end to the other."""
    path = together(generators.grid(300, 1), shuffled=True)
    ends = np.flatnonzero(path.degrees == 1)
    start = [int(ends[0])]
    while len(start) < path.n:
        near = path.indices[path.indptr[start[-1]] : path.indptr[start[-1] + 1]]
        start.append(int(near[~np.isin(near, start)][0]))
    (choice,) = jetpy.order(path, start=start).choices
    assert (choice.method, choice.reason) == ("given", "no fill")


@pytest.mark.parametrize("function", [jetpy.order, jetpy.nested_dissection])
@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0, 1], r"start has shape \(2,\), but the matrix has 3 rows"),
        ([0, -1, 2], r"start\[1\] is -1, but must be in 0..2"),
        ([0, 2, 2], "start is not a permutation: row 2 occurs twice"),
    ],
)
def test_other_starts_are_refused(function: Any, start: list[int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        function(generators.grid(3, 1), start=start)


def test_all_presets_are_tested() -> None:
    assert set(METHODS[1:]) == set(EFFORTS)
