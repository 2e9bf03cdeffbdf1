"""Tasks of the benchmark of constraints, and the best known cuts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import jetpy
from bench.constraints import CONDITIONS, Task, measure, supports
from bench.deadline import best_known
from jetpy.study.arrays import save_arrays


def test_limits_follow_the_targets() -> None:
    grid = jetpy.generators.grid(10, 10)
    fixed, none = np.full(100, -1), np.zeros((100, 0), np.int32)
    assert Task(grid, np.array([2, 1, 1]), fixed, none).limits.tolist() == [[51], [25], [25]]
    assert Task(grid, np.ones(3), fixed, none).limits.tolist() == [[35]] * 3
    two = np.ones((100, 2), np.int32) * [1, 3]
    assert Task(grid, np.ones(3), fixed, two).limits.tolist() == [[35, 103]] * 3


def test_tools_support_some_tasks() -> None:
    grid = jetpy.generators.grid(30, 30)
    for name, condition in CONDITIONS.items():
        task = condition(grid, np.random.default_rng(1))
        assert supports("pymetis", name) == (task.fixed < 0).all()
        assert supports("mtkahypar", name) == (task.weights.shape[1] == 0)


def test_best_known_reads_the_rows_of_an_imbalance(tmp_path: Path) -> None:
    file = tmp_path / "best.csv"
    file.write_text("graph,k,imbalance,best_cut\nuk,2,0.05,18\nuk,4,0.03,41\n")
    assert best_known(file, 0.05) == {("uk", 2): 18}
    assert best_known(None, 0.05) == {}


def test_tasks_are_the_same_in_each_process(tmp_path: Path) -> None:
    save_arrays(tmp_path, jetpy.generators.grid(30, 30))
    name = "several weights: random, k = 4"
    case = {"graph": "grid", "condition": name, "tool": "pymetis", "seeds": [0, 1]}
    [found], [again] = (list(measure(str(tmp_path), [case], {})) for _ in range(2))
    assert found["k"] == 4
    assert (found["cuts"], found["balanced"]) == (again["cuts"], again["balanced"])


def test_volumes_count_if_they_are_compared(tmp_path: Path) -> None:
    grid = jetpy.generators.grid(30, 30)
    save_arrays(tmp_path, grid)
    for name in ("volume, minimised volume, k = 8", "volume, minimised cut, k = 8"):
        case = {"graph": "grid", "condition": name, "tool": "jetpy/cpu/default/1", "seeds": [0]}
        [found] = measure(str(tmp_path), [case], {})
        objective: Any = name.split()[2][:-1]
        result = jetpy.partition(grid, 8, objective=objective, backend="cpu", threads=1)
        assert found["cuts"] == [result.communication_volume]
