"""Runs of a study in this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jetpy
from jetpy.study import child
from jetpy.study.arrays import save_arrays
from jetpy.study.cases import Case
from jetpy.study.tools import Tool


def test_run_with_the_median_time_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Times and parts are synthetic; the parts of the third run differ."""
    graph = jetpy.generators.grid(4, 4)
    save_arrays(tmp_path, graph)
    halves = np.arange(16) // 8
    runs = [(halves, 3.0), (halves, 1.0), (1 - halves, 2.0), (halves, 9.0)]
    made = iter([(parts, {"total": seconds}) for parts, seconds in runs])
    solve = Tool(lambda job: lambda k, seed: next(made), threaded=False)
    monkeypatch.setitem(child.PEERS, "made-up", solve)
    monkeypatch.setattr(child, "_warm_up", lambda case, job: None)
    case = Case("mesh", 2, 0.03, "made-up", "", "", 1, 0)
    found = child.found_by(child.Task(case, str(tmp_path), 60, False, repeats=4))
    assert [found[name] for name in ("seconds_min", "seconds", "seconds_max")] == [1.0, 2.0, 9.0]
    assert found["cut"] == 4
    made = iter([(1 - halves, {"total": 1.0})])
    alone = child.found_by(child.Task(case, str(tmp_path), 60, False))
    assert found["sha"] == alone["sha"]
