"""The comparison of adaptive repartitioning; ParMETIS is not installed here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jetpy
from bench.distributed_tools import Job
from bench.repartition import HEAVY, TOOLS, Record, cost_of, loads, mean_rows, steps_of
from jetpy.distributed.block import as_block


def record(tool: str, cuts: list[int], moved: list[int], **about: Any) -> Record:
    case = {"side": 9, "k": 8, "ratio": 10, "processes": 2, "steps": 2}
    return {**case, "tool": tool, "cuts": cuts, "moved": moved, "seconds": [1.0, 3.0], **about}


def test_means_compare_cost_and_time_with_parmetis() -> None:
    records = [
        record("parmetis", [60, 40], [0, 1000], seconds=[1.0, 1.0]),
        record("jetpy/fast", [50, 40], [50, 50]),
        record("jetpy/fast", [9], [9], side=10),
    ]
    assert cost_of(records[0]) == 200
    assert mean_rows(records) == [["jetpy/fast", "1", "0.500", "2.000"]]
    assert mean_rows(records[1:]) == []


def test_ball_crosses_the_cube() -> None:
    side = 12
    centres = []
    for place in (0.25, 0.5, 0.75):
        halves = loads(side, 0, 1000, place), loads(side, 1000, side**3, place)
        weights = np.concatenate(halves)
        assert set(weights.tolist()) == {1, HEAVY}
        centres.append(np.flatnonzero(weights == HEAVY).mean())
    assert centres == sorted(centres)


@pytest.mark.parametrize("tool", ["jetpy/fast", "jetpy/default"])
def test_steps_are_balanced_and_start_from_the_step_before(tool: str) -> None:
    side = 10
    graph = jetpy.generators.cube(side, side, side)
    job = Job(None, as_block((graph.indptr, graph.indices)), (), is_social=False)
    found = list(steps_of(job, side, TOOLS[tool], 4, 10, 3))
    assert len(found) == 3
    for cut, moved, imbalance, _ in found:
        assert 100 <= cut <= 1000
        assert moved < side**3 / 2
        assert imbalance <= 0.03
