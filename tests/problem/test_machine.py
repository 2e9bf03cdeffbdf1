"""Machines: their levels and distances, and refused arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import jetpy
from jetpy.problem import machine as machines
from jetpy.problem.machine import Machine, machine
from jetpy.problem.problem import Metric
from tests.mapping.oracle import Levels, dense, levels, numbers


def described(of: Levels) -> Machine:
    return machine([a for a, _ in of], [d for _, d in of])


def between_all(metric: Metric, k: int) -> np.ndarray:
    p, q = np.divmod(np.arange(k * k, dtype=np.int32), np.int32(k))
    return metric.between(p, q, k).reshape(k, k)


@pytest.mark.parametrize(
    ("hierarchy", "distances"),
    [
        ("4:8:6", "1:10:100"),
        ([4, 8, 6], (1, 10, 100)),
        (np.array([4, 8, 6]), np.array([1, 10, 100], np.int16)),
        (" 4: 8:6", "1:10:100 "),
    ],
    ids=str,
)
def test_text_and_sequences_give_equal_machines(hierarchy: Any, distances: Any) -> None:
    found = machine(hierarchy, distances)
    assert (found.hierarchy, found.distances, found.matrix) == ((4, 8, 6), (1, 10, 100), None)
    assert (found.k, found.group_sizes) == (192, (4, 32, 192))
    assert str(found) == "4:8:6, distances 1:10:100"


def test_matrix_with_and_without_hierarchy() -> None:
    distances = [[0, 1, 7, 7], [1, 0, 7, 7], [7, 7, 0, 2], [7, 7, 2, 0]]
    alone, grouped = machine(None, distances), machine("2:2", np.array(distances, np.uint8))
    assert (alone.k, alone.hierarchy, alone.group_sizes, str(alone)) == (
        4,
        (),
        (),
        "no hierarchy, distances a matrix",
    )
    assert (grouped.k, grouped.group_sizes) == (4, (2, 4))
    assert str(grouped) == "2:2, distances a matrix"
    for found in (alone, grouped):
        assert found.distances == ()
        assert found.metric.kind == 1
        assert found.metric.distances.dtype == np.int32
        assert between_all(found.metric, 4).tolist() == distances


@given(levels())
def test_metric_equals_the_levels(of: Levels) -> None:
    """The metric is a matrix, or computed by level if a matrix would be too large."""
    expected = dense([a for a, _ in of], [d for _, d in of]).tolist()
    for most, kind in ((machines.MAX_PES_IN_MATRIX, 1), (0, 2)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(machines, "MAX_PES_IN_MATRIX", most)
            found = described(of)
            assert found.metric.kind == kind
        assert found.metric.distances.dtype == np.int32
        assert between_all(found.metric, found.k).tolist() == expected


def test_large_machines_have_no_matrix() -> None:
    assert machine("64:16", "1:10").metric.kind == 1
    large = machine("64:32", "1:10")
    assert large.metric.kind == 2
    assert large.metric.distances.tolist() == [64, 1, 2048, 10]
    assert machine("4096:4095", "1:10").metric.distances.nbytes < 100


@pytest.mark.parametrize("hierarchy", ["4:8", "64:32"])
def test_farthest_is_the_largest_distance(hierarchy: str) -> None:
    assert machine(hierarchy, "3:70").metric.farthest == 70
    metric = machine(hierarchy, "90:3").metric
    assert (metric.farthest, metric.factor) == (30, 3)


@given(levels())
def test_levels_between_equals_the_oracle(of: Levels) -> None:
    found = described(of)
    p, q = np.divmod(np.arange(found.k**2, dtype=np.int32), np.int32(found.k))
    different = p != q
    expected = dense([a for a, _ in of], range(len(of))).ravel()[different]
    assert found.levels_between(p[different], q[different]).tolist() == expected.tolist()


@given(levels())
def test_upper_levels_equal_the_oracle(of: Levels) -> None:
    """A group of the omitted levels becomes a PE, with the distances of its first PE."""
    whole = described(of)
    matrix = dense([a for a, _ in of], [d for _, d in of])
    found = whole.upper_levels()
    ks = [upper.k for upper in found]
    suffixes = {math.prod(a for a, _ in of[level:]) for level in range(len(of))}
    assert ks == sorted(suffixes - {1, whole.k})
    with_matrix = machine(whole.hierarchy, matrix).upper_levels()
    for upper, other in zip(found, with_matrix, strict=True):
        size = whole.k // upper.k
        expected = matrix[::size, ::size].tolist()
        assert between_all(upper.metric, upper.k).tolist() == expected
        assert between_all(other.metric, other.k).tolist() == expected
        assert upper.hierarchy == other.hierarchy


@pytest.mark.parametrize(
    ("hierarchy", "expected"),
    [
        ("4:8:6", ["6", "8:6"]),
        ("6", []),
        ("1:6", []),
        ("6:1", []),
        ("1:4:1", []),
        ("3:1:2", ["2"]),
        ("1:3:1:2:1", ["2:1"]),
        ("1:1", []),
    ],
)
def test_upper_levels_skip_levels_of_arity_one(hierarchy: str, expected: list[str]) -> None:
    found = machine(hierarchy, range(len(numbers(hierarchy)))).upper_levels()
    assert [":".join(map(str, upper.hierarchy)) for upper in found] == expected


def test_machine_without_hierarchy_has_no_upper_levels() -> None:
    assert machine(None, 1 - np.eye(8, dtype=int)).upper_levels() == []


@pytest.mark.parametrize(
    ("distances", "expected"),
    [("1:10:100", True), ("1:1:1", True), ("0:0:5", True), ("10:1:100", False), ("1:2:0", False)],
)
def test_increasing_distances_are_monotone(distances: str, expected: bool) -> None:
    assert machine("2:2:2", distances).is_monotone is expected


def test_matrices_count_as_monotone() -> None:
    assert machine("2:2", [[0, 9, 1, 1], [9, 0, 1, 1], [1, 1, 0, 9], [1, 1, 9, 0]]).is_monotone


def symmetric(k: int, p: int, q: int, value: Any, dtype: Any = np.int64) -> np.ndarray:
    """Return distances of 1 except for one pair."""
    result = (1 - np.eye(k)).astype(dtype)
    result[p, q] = result[q, p] = value
    return result


@pytest.mark.parametrize(
    ("hierarchy", "distances", "words"),
    [
        ("4:8", "1:10:100", "the numbers of levels differ: 2 in the hierarchy, 3 in the distances"),
        ("4:8:6", "1:10", "the numbers of levels differ: 3 in the hierarchy, 2 in the distances"),
        (
            "4:0:6",
            "1:10:100",
            r"hierarchy is '4:0:6'; each number must be in 1\.\.2147483647, and 0 is not",
        ),
        ("4:-8", "1:10", r"hierarchy is '4:-8'; each number must be in 1\.\.2147483647, and -8 is"),
        ("4:8", "1:-10", r"distances is '1:-10'; each number must be in 0\.\.2147483647, and -10"),
        ("4:8", f"1:{2**31}", r"must be in 0\.\.2147483647, and 2147483648 is not"),
        ("4:many", "1:10", "hierarchy is '4:many'; it must be integers separated by colons"),
        ("4:8", "near:far", "distances is 'near:far'; it must be integers separated by colons"),
        ("4x8", "1:10", "hierarchy is '4x8'; it must be integers"),
        ("4.0:8", "1:10", "hierarchy is '4.0:8'; it must be integers"),
        ("4:8", "1:1e1", "distances is '1:1e1'; it must be integers"),
        ([4.0, 8], [1, 10], r"hierarchy is \[4.0, 8\]; it must be integers"),
        ([4, 8], [1.5, 10], r"distances is \[1.5, 10\]; it must be integers"),
        (["4", None], [1, 10], "it must be integers"),
        (4, [1], "hierarchy is 4; it must be integers"),
        ("4", 1, "distances is 1; it must be integers"),
        ("4", None, "distances is None; it must be integers"),
        ("", "", "hierarchy is ''; it must be integers"),
        ("4:", "1:10", "hierarchy is '4:'; it must be integers"),
        ("4", "", "distances is ''; it must be integers"),
        ([], [], r"hierarchy is \[\], which has no level"),
        ("4", [], r"distances is \[\], which has no level"),
        ("4096:4096", "1:10", "the hierarchy has 16777216 PEs; it may have at most 16777215"),
        (f"{2**31 - 1}:{2**31 - 1}:{2**31 - 1}", "1:2:3", "PEs; it may have at most 16777215"),
        (None, "1:10", "distances of levels need a hierarchy"),
        (None, [1, 10], "distances of levels need a hierarchy"),
        (None, np.zeros((2, 3), int), "the matrix of distances is 2 x 3; it must be square"),
        (None, np.zeros((0, 0), int), "the matrix of distances is 0 x 0; it must be square"),
        ("4", np.zeros((2, 2, 2), int), "distances .*must be integers"),
        ("4:8", symmetric(4, 0, 1, 1), "matrix of distances is 4 x 4, but the hierarchy has 32"),
        (None, [[0, 1], [2, 0]], "PEs 0 and 1 is 1; .* the same in both directions"),
        (None, symmetric(4, 2, 2, 3), "PEs 2 and 2 is 3; .* 0 from a PE to itself"),
        (None, symmetric(4, 1, 3, -2), r"PEs 1 and 3 is -2; distances must be in 0\.\."),
        (None, symmetric(4, 1, 3, 2**31), "PEs 1 and 3 is 2147483648"),
        (None, symmetric(4, 1, 3, 2**63, np.uint64), "PEs 1 and 3 is 9223372036854775808"),
        (None, symmetric(4, 1, 3, 0.5, np.float64), "distances must be integers, not float64"),
        ("2", [[False, True], [True, False]], "distances must be integers, not bool"),
        ("2", [["0", "1"], ["1", "0"]], "distances must be integers, not <U1"),
        (None, [[0, 1], [1]], "distances"),
    ],
    ids=str,
)
def test_bad_machine_is_refused(hierarchy: Any, distances: Any, words: str) -> None:
    with pytest.raises(jetpy.OptionError, match=f"(?s){words}"):
        machine(hierarchy, distances)
