"""Parts of the experiments of the paper on process mapping, and KaHIP's multisection."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import jetpy
from bench.instances import Instance
from bench.papers.experiment import NO_GRAPH
from bench.papers.mappers import AS_PUBLISHED, PEERS
from bench.papers.mapping import (
    PHASES,
    Case,
    Mapped,
    by_size,
    jet,
    mapped,
    mean_of_runs,
    phases,
    quality_rows,
    speedup_rows,
)
from bench.papers.setting import Setting
from jetpy.problem.machine import machine
from jetpy.study.mappers import judge_mapping
from jetpy.study.tools import Job

GRID = Instance("grid60", "mesh", "generated", 900, partial(jetpy.generators.grid, 30, 30))
LARGE = Instance("large", "mesh", "generated", 1_000_000, partial(jetpy.generators.grid, 9, 9))
FIRST, SECOND = Case(GRID, "4:8:1"), Case(GRID, "4:8:2")
FOUND = {
    "a": {FIRST: Mapped(100, 10, 6.0, 1), SECOND: Mapped(300, 10, 8.0, 1)},
    "b": {FIRST: Mapped(150, 10, 3.0, 1), SECOND: Mapped(200, 10, 1.0, 0.5)},
}


def setting() -> Setting:
    return Setting([GRID], quick=True, backend="cpu", threads=1, seeds=2)


def test_quality_rows_compare_with_the_lowest_cost() -> None:
    values = quality_rows(FOUND)
    assert (values["1.00", "a"], values["1.00", "b"], values["1.50", "b"]) == (50, 50, 100)
    assert values["cost above the best, mean %", "a"] == pytest.approx(25)
    assert values["cost above the best, mean %, 4:8:2", "a"] == pytest.approx(50)
    assert values["highest cost / best", "a"] == 1.5
    assert values["balanced, %", "b"] == 75


def test_speedups_are_over_one_method() -> None:
    values = speedup_rows(FOUND, "a")
    assert values == {
        ("speedup over a, geometric mean", "b"): pytest.approx(4),
        ("speedup over a, highest", "b"): 8,
    }


def test_cases_by_size() -> None:
    found = by_size([FIRST, Case(LARGE, "4:8:1")])
    assert [len(found[size]) for size in ("small", "large", "all")] == [1, 1, 2]


def test_phases_of_a_run_add_up() -> None:
    found = phases(setting(), FIRST)
    assert tuple(found) == PHASES
    assert all(seconds > 0 for seconds in found.values())
    assert sum(found.values()) == pytest.approx(2 * found["Total"])


def test_mapped_averages_seeds() -> None:
    own = setting()
    found = mapped(own, "GPU-IM", FIRST)
    assert mapped(own, "GPU-IM", FIRST) is found
    costs = [_cost(own, seed) for seed in range(own.seeds)]
    assert found.cost == np.mean(costs)


def _cost(own: Setting, seed: int) -> int:
    job = Job(own.graph(GRID), Path(), "default", own.threads)
    run = AS_PUBLISHED["GPU-IM"](job, own.backend)(machine("4:8:1", "1:10:100"), seed)
    assert run.cost is not None
    return run.cost


def test_jet_has_no_large_graph() -> None:
    values = jet.measure(setting())
    row = "Jet's cost above GPU-IM's, mean %"
    assert values[row, "large"] == NO_GRAPH
    assert float(values[row, "all"]) > 0


def test_kahip_maps_along_the_hierarchy(tmp_path: Path) -> None:
    pytest.importorskip("kahip")
    graph, target = jetpy.generators.grid(30, 30), machine("2:2:2", "1:10:100")
    job = Job(graph, tmp_path, "default", 1)
    try:
        solve = PEERS["KaHIP multisection, fast"](job, "cpu")
    except ImportError as error:
        pytest.skip(str(error))
    found = mean_of_runs(job, solve, "2:2:2", 1)  # also checks the reported cost
    assert found.seconds > 0
    scattered = np.arange(graph.n) % target.k
    assert found.cost < judge_mapping(job, scattered, target).cost / 4
