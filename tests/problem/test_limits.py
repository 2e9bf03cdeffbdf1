"""Limits of parts and PEs are exact; the expected values were computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from jetpy.mapping.problem import make_mapping_problem
from jetpy.problem.limits import limit_of_pes, limits_of
from jetpy.problem.machine import machine
from jetpy.problem.multiconstraint import pose_several
from jetpy.problem.options import Options
from jetpy.problem.problem import make_problem
from jetpy.problem.targets import ideals

MOST = 2**31 - 1
LIMITS = [
    (11_400_000, 0.566, 17_852_400),  # slightly less in floating point
    (100, 0.15, 115),
    (10, 1 - 0.9, 11),
    (10, 0.1 + 0.2, 13),
    (3, 1 / 3, 4),
    (7, 0.0, 7),
    (7, 1e-12, 7),
    (2**40, 1e-12, 2**40 + 1),  # 1.0995 more
    (10**13, 1.5e-12, 10**13 + 15),
    (2**46, 0.5, 3 * 2**45),
    (10, 100.0, 1010),
    (0, 1e18, 0),
    (1, 1e18, 10**18 + 1),
    (10, 1e18, 2**62),  # between 2**63 and 2**64
    (2**46, 1e308, 2**62),
]


@pytest.mark.parametrize(("ideal", "imbalance", "limit"), LIMITS)
def test_limits_of_parts_are_exact(ideal: int, imbalance: float, limit: int) -> None:
    found = limits_of(np.array([[ideal], [0]]), imbalance, 2**62)
    assert found.dtype == np.int64
    assert found.tolist() == [[limit], [0]]


@pytest.mark.parametrize(
    ("total", "k", "imbalance", "limit"),
    [
        (11_400_000, 1, 0.566, 17_852_400),
        (22_800_001, 2, 0.566, 17_852_401),
        (10, 1, 1 - 0.9, 11),
        (10, 3, 0.0, 4),
        (10, 3, 1e-12, 4),
        (9, 3, 1e-12, 4),
        (9, 3, 100.0, 303),
        (9, 3, 1e18, MOST),
        (0, 3, 1e18, 0),
    ],
)
def test_limits_of_pes_are_exact(total: int, k: int, imbalance: float, limit: int) -> None:
    assert limit_of_pes(total, k, imbalance) == limit
    assert make_mapping_problem(total, machine([k], [1]), "im", imbalance, 0)[-1].limit == limit


@pytest.mark.parametrize(
    ("total", "imbalance", "limit"),
    [
        (22_800_000, 0.566, 17_852_400),
        (20, 1 - 0.9, 11),
        (20, 1e18, MOST),  # above any sum of 32 bits
        (2**46, 1e18, 2**46),
    ],
)
def test_limits_of_problems_are_exact(total: int, imbalance: float, limit: int) -> None:
    """A part with half of the total has the same limit with and without targets."""
    assert make_problem(total, 2, imbalance, 0, Options()).limits.tolist() == [limit] * 2
    shares = make_problem(total, 3, imbalance, 0, Options(), [2, 1, 1])
    assert shares.limits[0] == limit


def test_limits_of_several_weights_are_exact() -> None:
    weights = np.array([[11_400_000, 10, 7]], np.int32)
    several = pose_several(weights, weights[0], [0.566, 1 - 0.9, 1e18], np.array([1]))
    assert several.limits.tolist() == [[17_852_400, 11, MOST]]


def test_ideals_of_large_graphs_are_exact() -> None:
    """Shares sum to 2**30 and weights to 2**46, so products need more than 64 bits."""
    assert ideals(2**46, np.array([3 * 2**28, 2**28])).tolist() == [3 * 2**44, 2**44]
