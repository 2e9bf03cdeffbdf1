"""Targets: accepted values, and partitions into parts of different target weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.errors import MissingFileError, OptionError
from jetpy.graph.csr import Graph
from jetpy.io.weights import read_targets
from jetpy.problem.targets import MAX_SHARES, checked_targets, ideals
from jetpy.refinement.packing import one_each
from tests.graphs import SMALL_GRAPHS, from_edges, path
from tests.limits import check_limit
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}

targets_of = st.lists(
    st.one_of(st.integers(1, 20), st.floats(1e-3, 1e3), st.sampled_from([1, 1000, 2**40])),
    min_size=1,
    max_size=9,
)


def packed_excess(graph: Graph, limits: np.ndarray) -> int:
    """Return the overload after packing the heaviest vertices first into the most room."""
    room = limits.tolist()
    for weight in sorted(graph.vertex_weights.tolist(), reverse=True):
        room[room.index(max(room))] -= weight
    return max(0, -min(room))


@settings(max_examples=200)
@given(weighted_graphs(most=24), targets_of, st.sampled_from([0.0, 0.03, 0.3]), st.integers(0, 99))
def test_limits_are_kept_if_packing_keeps_them(
    graph: Graph, targets: list[float], imbalance: float, seed: int
) -> None:
    k = len(targets)
    result = jetpy.partition(graph, k, targets=targets, imbalance=imbalance, seed=seed, **ENGINE)
    shares = np.array(targets, float) / np.sum(np.array(targets, float))
    exact = graph.total_vertex_weight * shares
    assert ((result.ideals >= exact - 1e-6) & (result.ideals < exact + 1 + 1e-6)).all()
    for limit, ideal in zip(result.limits.tolist(), result.ideals.tolist(), strict=True):
        check_limit(limit, ideal, imbalance)
    weights = np.bincount(result.parts, graph.vertex_weights, k)
    assert result.part_weights.tolist() == weights.tolist()
    worst = (weights / result.ideals.clip(1)).max() if weights.any() else 1
    assert result.imbalance == pytest.approx(worst - 1)
    assert result.feasible == (weights <= result.limits).all()
    if graph.n > k and not packed_excess(graph, result.limits):
        assert result.feasible or result.empty_parts == 0


@pytest.mark.parametrize("preset", ["default", "fast", "ultra", "gkway-journal"])
@pytest.mark.parametrize("targets", [[2, 1, 1, 1], [1, 10, 1], list(range(1, 33)), [0.7, 0.3]])
@pytest.mark.parametrize("imbalance", [0.0, 0.03])
def test_targets_on_a_mesh_are_feasible_with_a_small_cut(
    preset: Any, targets: list[float], imbalance: float
) -> None:
    graph = jetpy.generators.delaunay(4000, seed=1)
    options = {"preset": preset, "imbalance": imbalance, **ENGINE}
    result = jetpy.partition(graph, len(targets), targets=targets, **options)
    assert result.feasible
    assert result.empty_parts == 0
    assert result.cut <= 1.15 * jetpy.partition(graph, len(targets), **options).cut


def test_heavy_part_gets_the_heavy_vertex() -> None:
    graph = from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], None, [1, 1, 1, 1, 1, 95])
    result = jetpy.partition(graph, 2, targets=[5, 95], imbalance=0.0, **ENGINE)
    assert result.parts.tolist() == [0, 0, 0, 0, 0, 1]
    assert result.feasible


def test_targets_of_many_parts_are_feasible() -> None:
    """The parts exceed one tile, so the kernels sum over tiles."""
    graph = jetpy.generators.grid(150, 150)
    targets = 1 + np.arange(600) % 7
    result = jetpy.partition(graph, 600, targets=targets, **ENGINE)
    assert result.feasible
    assert result.empty_parts == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_refine_reaches_the_targets(threads: int) -> None:
    graph = jetpy.generators.grid(40, 40)
    start = np.arange(1600) // 400
    engine = {"backend": "cpu", "threads": threads}
    result = jetpy.refine(graph, start, targets=[4, 2, 1, 1], **engine)
    assert result.feasible
    assert result.limits.tolist() == [824, 412, 206, 206]


def test_equal_targets_change_nothing() -> None:
    graph = SMALL_GRAPHS["weighted_random"]()
    usual = jetpy.partition(graph, 4, **ENGINE)
    equal = jetpy.partition(graph, 4, targets=[0.25] * 4, **ENGINE)
    assert (usual.parts == equal.parts).all()
    assert (usual.limits == equal.limits).all()


@given(targets_of, st.integers(1, 2**31 - 1))
def test_shares_are_proportional_to_targets(targets: list[float], total: int) -> None:
    shares = checked_targets(targets, len(targets))
    if shares is None:
        assert len(set(targets)) == 1
        return
    assert shares.dtype == np.int64
    assert shares.min() >= 1
    assert shares.sum() <= MAX_SHARES
    values = np.array(targets, float)
    assert np.abs(shares / shares.sum() - values / values.sum()).max() < 1e-7
    assert total <= ideals(total, shares).sum() <= total + len(targets)


def test_heaviest_vertex_gets_the_largest_part() -> None:
    weights = np.array([3, 9, 1], np.int32)
    shares = np.array([1, 5, 7, 2])
    none = np.zeros(4, np.int64)
    assert one_each(weights, shares, np.full(4, 9), none).tolist() == [1, 2, 3]
    assert one_each(weights, shares, np.array([0, 2, 13, 0]), none).tolist() == [2, 2, 1]
    assert one_each(weights, shares, np.array([0, 2, 9, 0]), none).tolist() == [1, 2, 3]
    assert one_each(weights, shares, np.array([3, 12, 2, 0]), none).tolist() == [0, 1, 2]
    own = {"max_weights": [2, 1, 5], "vertex_weights": [1, 3, 1]}
    assert jetpy.partition(path(3), 3, **own, **ENGINE).parts.tolist() == [0, 2, 1]
    graph = from_edges(3, [(0, 1), (1, 2)], None, weights.tolist())
    result = jetpy.partition(graph, 4, targets=[1, 5, 7, 2], **ENGINE)
    assert result.parts.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([1, 2], "targets has shape (2,); it must be 3 numbers, one for each part"),
        ([[1, 2, 3]], "targets has shape (1, 3)"),
        ([1, [2, 3], 4], "targets is [1, [2, 3], 4]; its rows must have equal lengths"),
        (["a", "b", "c"], "targets must be numbers"),
        ([1, 0, 1], "the target of part 1 is 0; targets must be positive"),
        ([1, 2, -3], "the target of part 2 is -3"),
        ([1, float("nan"), 1], "the target of part 1 is nan"),
        ([float("inf"), 1, 1], "the target of part 0 is inf"),
        ([True, False, True], "targets must be numbers, not bool"),
    ],
)
def test_bad_targets_are_refused(targets: Any, message: str) -> None:
    with pytest.raises(OptionError) as error:
        jetpy.partition(path(9), 3, targets=targets, **ENGINE)
    assert message in str(error.value)


def test_targets_are_read_from_text_and_files(tmp_path: Path) -> None:
    assert read_targets("2:1:0.5").tolist() == [2, 1, 0.5]
    lines = tmp_path / "shares.txt"
    lines.write_text("2\n1\n1\n")
    assert read_targets(str(lines)).tolist() == [2, 1, 1]
    np.save(tmp_path / "shares.npy", np.array([3, 4]))
    assert read_targets(str(tmp_path / "shares.npy")).tolist() == [3, 4]
    wrong = {"2:x": OptionError, "": OptionError, str(tmp_path / "none.txt"): MissingFileError}
    for text, kind in wrong.items():
        with pytest.raises(kind, match="which is neither a file nor numbers such as 2:1:1:1"):
            read_targets(text)
