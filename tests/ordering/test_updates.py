"""Updated orderings: valid for the new pattern, cheap, close to new ones, and reproducible."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

import jetpy
from jetpy import generators
from jetpy.ordering import updates
from tests.fuzz.orderings import eliminated
from tests.ordering.changes import changed, with_entries
from tests.ordering.constraints import LAST, TOGETHER, any_constraints, breaches
from tests.ordering.dissections import matrix_of
from tests.ordering.test_minimum_degree import random_pattern
from tests.ordering.test_nested_dissection import check, graph_of
from tests.ordering.test_order import with_small_leaves


def triangulation(points: np.ndarray) -> jetpy.Graph:
    corners = Delaunay(points).simplices
    ends = np.concatenate((corners[:, :2], corners[:, 1:], corners[:, ::2]))
    half = sp.coo_array((np.ones(len(ends)), tuple(ends.T)), shape=(len(points),) * 2)
    return jetpy.as_graph(half + half.T, pattern=True)


def is_same(one: jetpy.Ordering, other: jetpy.Ordering) -> bool:
    assert one.tree is not None
    assert other.tree is not None
    return (
        np.array_equal(one.perm, other.perm)
        and np.array_equal(one.tree.parents, other.tree.parents)
        and np.array_equal(one.tree.starts, other.tree.starts)
    )


@settings(max_examples=100)
@given(
    st.integers(0, 2**32),
    st.integers(0, 80),
    st.sampled_from([0.01, 0.03, 0.06, 0.2]),
    st.sampled_from([(0, 0, 0), (1, 1, 0), (3, 5, 2), (0, 3, 0), (10, 0, 0), (10, 20, 8)]),
    st.sampled_from(["fast", "default", "best"]),
    st.sampled_from(LAST),
    st.sampled_from(TOGETHER),
    st.booleans(),
    st.booleans(),
    st.sampled_from([4, 12]),
)
def test_updated_orderings_are_valid(
    seed: int,
    n: int,
    density: float,
    changes: tuple[int, int, int],
    preset: Any,
    last: str,
    together: str,
    by_component: bool,
    has_small_leaves: bool,
    share: int,
) -> None:
    rng = np.random.default_rng(seed)
    graph = graph_of(random_pattern(seed, n, density))
    constraints = any_constraints(rng, n, last, together)
    method = jetpy.order if by_component else jetpy.nested_dissection
    with with_small_leaves() if has_small_leaves else nullcontext():
        old = method(graph, preset=preset, threads=1, **constraints)
    for _ in range(2):
        new = changed(rng, graph, *changes)
        with patch.object(updates, "SHARE", share):
            found = old.updated(new, threads=1)
            again = pickle.loads(pickle.dumps(old)).updated(new, threads=2)
        check(new, found)
        assert is_same(found, again)
        parents, counts = eliminated(new, found.perm)
        assert np.array_equal(found.symbolic.parents, parents)
        assert np.array_equal(found.symbolic.counts, counts)
        if together != "none":
            free = np.full(new.n - graph.n, -1)
            constraints = {**constraints, "together": np.append(constraints["together"], free)}
        assert list(breaches(found.perm, constraints)) == []
        before, after = (matrix_of(each).toarray() > 0 for each in (graph, new))
        after[: graph.n, : graph.n] ^= before
        is_changed = after.any(axis=1) | (np.arange(new.n) >= graph.n)
        assert found.update is not None
        assert found.update.old_fill == old.fill
        if together == "none":
            assert found.update.changed == is_changed.sum()
        graph, old = new, found


@pytest.mark.parametrize("keeps", [False, True])
def test_last_rows_stay_last_if_components_join(keeps: bool) -> None:
    """A new row has no neighbours at first, so it is a component of its own."""
    grid = generators.grid(5, 4)
    old = jetpy.nested_dissection(grid, last=[3, 0], keep_last_order=keeps)
    entries = grid.sources(0, 20), grid.indices
    longer = sp.csr_array((np.ones(len(grid.indices)), entries), shape=(21, 21))
    joined = sp.lil_array(longer)
    joined[[20, 12], [12, 20]] = 1
    found = old.updated(longer).updated(joined)
    check(jetpy.as_graph(joined), found)
    assert list(breaches(found.perm, {"last": [3, 0], "keep_last_order": keeps})) == []


@pytest.mark.parametrize("preset", ["fast", "default", "best"])
def test_without_changes_the_order_stays(preset: Any) -> None:
    grid = generators.grid(30, 40)
    old = jetpy.nested_dissection(grid, preset=preset)
    found = old.updated(grid)
    assert is_same(found, old)
    assert found.update == (0, 0, old.fill)


def test_rows_outside_of_changed_subtrees_keep_their_order() -> None:
    grid = generators.grid(60, 60)
    old = jetpy.nested_dissection(grid, preset="fast", leaf_size=100)
    found = old.updated(with_entries(grid, [(0, 61), (60, 121)]))
    assert found.update is not None
    assert found.update.changed == 4
    assert 0 < found.update.ordered < 300
    far = [perm[perm % 60 > 20] for perm in (old.perm, found.perm)]
    assert np.array_equal(*far)


def test_many_changes_give_a_new_ordering() -> None:
    graph = generators.delaunay(3000, seed=1)
    rng = np.random.default_rng(0)
    new = changed(rng, graph, 800, 0, 0)
    found = jetpy.nested_dissection(graph).updated(new)
    assert is_same(found, jetpy.nested_dissection(new))
    assert found.update is not None
    assert found.update.ordered == 3000


@pytest.mark.parametrize("is_refined", [False, True])
def test_fill_is_close_to_that_of_a_new_ordering(is_refined: bool) -> None:
    """A region with 1 % of the points moves, or gets twice the number of points."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        points = rng.random((10_000, 2))
        old = jetpy.nested_dissection(triangulation(points), threads=1)
        distances = np.linalg.norm(points - rng.random(2), axis=1)
        region = np.argsort(distances)[:100]
        moved = points[region] + rng.normal(size=(100, 2)) / 200
        if is_refined:
            points = np.concatenate((points, moved))
        else:
            points[region] = moved
        new = triangulation(points)
        found = old.updated(new, threads=1)
        assert found.fill <= 1.05 * jetpy.nested_dissection(new, threads=1).fill
        assert found.update is not None
        assert found.update.ordered < 1500


def test_new_entries_across_the_top_separator() -> None:
    """Rows of both halves of a grid are joined; few of them enter the separator."""
    grid = generators.grid(60, 30)
    old = jetpy.nested_dissection(grid, preset="fast", leaf_size=60)
    assert old.tree is not None
    size = old.tree.sizes[-1]
    pairs = [(30 * 10 + i, 30 * 50 + i) for i in range(12)]
    found = old.updated(with_entries(grid, pairs))
    check(with_entries(grid, pairs), found)
    assert found.tree is not None
    assert size < found.tree.sizes[-1] <= size + 12
    again = found.updated(grid)
    check(grid, again)
    assert again.tree is not None
    assert again.tree.sizes[-1] == size


def test_new_components_and_rows_without_entries() -> None:
    grid = generators.grid(20, 20)
    old = jetpy.nested_dissection(grid, last=[7, 8])
    pairs = [(400 + i, 401 + i) for i in range(500)]
    new = with_entries(grid, [*pairs, (910, 909)])
    found = old.updated(new)
    check(new, found)
    assert set(found.perm[-2:].tolist()) == {7, 8}
    assert found.fill <= old.fill + 2 * 511


def test_new_rows_come_before_rows_that_all_come_last() -> None:
    path = generators.grid(7, 1)
    old = jetpy.nested_dissection(path, last=np.arange(7))
    found = old.updated(with_entries(path, [(3, 7)]))
    assert found.perm[0] == 7
    assert np.array_equal(found.perm[1:], old.perm)


@pytest.mark.parametrize("preset", ["fast", "default"])
def test_the_order_is_the_same_on_all_threads(preset: Any) -> None:
    graph = generators.delaunay(20_000, seed=2)
    rng = np.random.default_rng(1)
    old = jetpy.order(graph, preset=preset)
    new = changed(rng, graph, 40, 40, 20)
    one, two = (old.updated(new, threads=threads) for threads in (1, 2))
    assert is_same(one, two)
    check(new, one)


@pytest.mark.parametrize("method", [jetpy.order, jetpy.nested_dissection])
def test_only_subtrees_with_many_changes_are_dissected(method: Any) -> None:
    cube, rows = generators.cube(14, 14, 14), np.arange(14**3).reshape(14, 14, 14)
    with with_small_leaves():
        old = method(cube, preset="fast")
    corner = [(int(rows[i, j, 0]), int(rows[i + 1, j, 1])) for i in range(6) for j in range(6)]
    new = with_entries(cube, corner)
    with patch.object(updates, "_piece", wraps=updates._piece) as piece:
        found = old.updated(new)
    check(new, found)
    assert piece.call_count >= 1
    assert found.update is not None
    assert 0 < found.update.ordered < 1000


def test_wrong_updates() -> None:
    grid = generators.grid(5, 5)
    old = jetpy.nested_dissection(grid)
    with pytest.raises(jetpy.OptionError, match="the matrix has 16 rows, but the ordering has 25"):
        old.updated(generators.grid(4, 4))
    with pytest.raises(jetpy.OptionError, match="by minimum_degree has no separator tree"):
        jetpy.minimum_degree(grid).updated(grid)
    with pytest.raises(jetpy.GraphError, match="symmetric"):
        old.updated(sp.csr_array(([1], ([0], [1])), shape=(25, 25)))
    with pytest.raises(jetpy.OptionError, match="backend"):
        old.updated(grid, backend="gpu")  # type: ignore[arg-type]


def test_the_text_has_the_old_fill() -> None:
    grid = generators.grid(9, 9)
    old = jetpy.nested_dissection(grid)
    text = repr(old.updated(with_entries(grid, [(0, 80)])))
    assert f"(before {old.fill})" in text
