"""Mappings in studies: tools, verdicts, and lists of runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jetpy
from jetpy.graph.generators import grid
from jetpy.problem.machine import machine
from jetpy.study.arrays import checksum_of_parts, save_arrays
from jetpy.study.cases import Case, Options, cases_of
from jetpy.study.child import Task, found_by
from jetpy.study.mappers import MAPPERS, judge_mapping, machine_in, scotch_levels
from jetpy.study.tools import Job

HIERARCHY, DISTANCES = "2:3", "1:10"
TEXT = f"{HIERARCHY}/{DISTANCES}"
MACHINE = machine(HIERARCHY, DISTANCES)


def case(tool: str, preset: str, backend: str = "") -> Case:
    return Case("mesh", 6, 0.03, tool, preset, backend, 1, 0, TEXT)


def test_jetpy_maps_and_times_kernels(tmp_path: Path) -> None:
    graph = grid(20, 20)
    save_arrays(tmp_path, graph)
    found = found_by(Task(case("jetpy", "im", "cpu"), str(tmp_path), 60, profile=True))
    mapped = jetpy.map_processes(graph, HIERARCHY, DISTANCES, backend="cpu", threads=1)
    assert (found["cost"], found["cut"]) == (mapped.cost, mapped.cut)
    assert found["feasible"]
    assert found["sha"] == checksum_of_parts(mapped.pe)
    stages = (float(found[f"{stage}_seconds"]) for stage in ("coarsen", "initial", "refine"))
    assert sum(stages) == pytest.approx(found["seconds"], abs=1e-5)
    assert any(kernel["calls"] for kernel in found["kernels"])


@pytest.mark.parametrize(
    ("tool", "module"), [("mtkahypar", "mtkahypar"), ("kahip", "kahip"), ("scotch", "pyscotch")]
)
def test_other_tools_map(tool: str, module: str, tmp_path: Path) -> None:
    pytest.importorskip(module)
    job = Job(grid(20, 20), tmp_path, "default", 1)
    made = MAPPERS[tool].prepare(job)(MACHINE, 0)
    found = judge_mapping(job, made.pe, MACHINE)
    assert made.seconds > 0
    assert made.cost in (None, found.cost)
    mapped = jetpy.map_processes(job.graph, HIERARCHY, DISTANCES, backend="cpu", threads=1)
    assert found.cost < 2 * mapped.cost
    assert found.imbalance < 0.1


def test_verdict_uses_the_limit_of_mappings(tmp_path: Path) -> None:
    """101 tasks on 6 PEs: ceil(1.03 * 101 / 6) is 18, and floor(1.03 * 17) is 17."""
    graph = grid(101, 1)
    job = Job(graph, tmp_path, "default", 1)
    for heaviest, feasible in ((17, True), (18, True), (19, False)):
        sizes = [heaviest, *map(len, np.array_split(np.arange(101 - heaviest), 5))]
        found = judge_mapping(job, np.repeat(np.arange(6), sizes), MACHINE)
        assert (found.cut, found.cost) == (5, 2 * (3 * 1 + 2 * 10))
        assert found.feasible == feasible


def test_scotch_distances_are_sums_of_links() -> None:
    target = machine("4:1:3:2", "1:7:10:100")
    levels = scotch_levels(target)
    assert levels == [(4, 1), (3, 9), (2, 90)]
    assert np.cumsum([link for _, link in levels]).tolist() == [1, 10, 100]


def test_mappings_follow_partitions() -> None:
    """METIS only partitions, and Scotch only maps; jetpy maps with methods, not presets."""
    options = Options(
        (2,), ("cpu",), ("fast",), ("metis", "mtkahypar", "kahip", "scotch"),
        (1, 2), (0,), (0.03, 0.1), 60,
        programs={"jet": Path("jet")}, machines=(TEXT,), methods=("im", "hm"),
    )  # fmt: skip
    found = cases_of("mesh", options)
    of_tools = [
        list(dict.fromkeys(case.application for case in found if bool(case.mapping) == mapping))
        for mapping in (False, True)
    ]
    assert of_tools == [
        ["jetpy/fast", "metis", "mtkahypar", "kahip", "jet"],
        ["jetpy/im", "jetpy/hm", "mtkahypar", "kahip", "scotch"],
    ]
    mapped = [case for case in found if case.mapping]
    assert mapped == found[-len(mapped) :]
    assert {case.k for case in mapped} == {machine_in(TEXT).k}
    assert {case.tool for case in mapped if case.uses_threads} == {"jetpy", "mtkahypar"}
    assert mapped[0].problem == f"mesh k=6 imbalance=0.03 mapping={TEXT}"
