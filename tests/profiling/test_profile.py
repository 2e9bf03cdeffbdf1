"""Profiles: equal parts, consistent counts, and valid traces."""

from __future__ import annotations

import gzip
import inspect
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.device.backends import get_backend
from jetpy.engines.base import Backend
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.errors import JetpyError
from jetpy.multilevel.driver import partition_multilevel
from jetpy.problem.presets import preset
from jetpy.problem.problem import make_problem
from jetpy.profiling.profile import Profile
from jetpy.profiling.profiler import Profiler
from jetpy.result.partition import Partition
from jetpy.workloads.multilevel import projection
from tests.conftest import register_mode
from tests.graphs import MULTILEVEL

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 2, "seed": 3}
BRANCHED = {"options": {"branch_shrink": 0.0, "initial.task_size": 0}}
"""Makes a second hierarchy of a graph whose levels shrink fast."""


@pytest.fixture(scope="module")
def graph() -> jetpy.Graph:
    return jetpy.generators.delaunay(6000)


@cache
def profiled(graph: jetpy.Graph, backend: str) -> Partition:
    return jetpy.partition(graph, 6, profile=True, **{**ENGINE, **BRANCHED, "backend": backend})


@pytest.fixture(params=["lists", "captured"])
def result(
    request: pytest.FixtureRequest, graph: jetpy.Graph, monkeypatch: pytest.MonkeyPatch
) -> Partition:
    """Return a profiled run with launches as on a CPU or as on a GPU."""
    return profiled(graph, register_mode(request.param, monkeypatch))


def profile_of(result: Partition) -> Profile:
    assert result.profile is not None
    return result.profile


def test_profile_is_none_by_default(graph: jetpy.Graph) -> None:
    assert jetpy.partition(graph, 2, **ENGINE).profile is None


def test_profiling_does_not_change_parts_or_launches(result: Partition, graph: jetpy.Graph) -> None:
    plain = jetpy.partition(graph, 6, **{**ENGINE, **BRANCHED, "backend": result.backend})
    assert (result.parts == plain.parts).all()
    assert result.launches == plain.launches
    assert [level.cut_after for level in result.levels] == [lv.cut_after for lv in plain.levels]


def test_launches_sum_to_those_of_the_result(result: Partition) -> None:
    profile = profile_of(result)
    assert sum(step.launches for step in profile.steps) == result.launches
    assert sum(kernel.calls for kernel in profile.kernels) == result.launches
    by_owner = {(step.stage, step.level): step for step in profile.steps}
    for level in result.levels:
        assert by_owner["refine", level.level].launches == level.refine_launches
        if level.level > 0:
            assert by_owner["coarsen", level.level].launches == level.coarsen_launches


def test_profile_has_every_stage_and_level(result: Partition) -> None:
    steps = [(step.stage, step.level) for step in profile_of(result).steps]
    last = len(result.levels) - 1
    assert last >= 2
    coarser = [("coarsen", level) for level in range(1, last + 1)]
    finer = [("refine", level) for level in range(last, -1, -1)]
    assert steps[: last + 4] == [
        ("coarsen", None),
        *coarser,
        ("branch", 0),
        ("initial", None),
        ("initial", last),
    ]
    (branch, below), *others = steps[last + 4 :]
    assert branch == "initial"
    assert 0 < below < last
    assert others == [("refine", None), *finer]


def test_seconds_sum_to_those_of_the_result(result: Partition) -> None:
    profile = profile_of(result)
    for stage, kinds in {
        "coarsen": ("coarsen", "branch"),
        "initial": ("initial",),
        "refine": ("refine",),
    }.items():
        seconds = sum(step.seconds for step in profile.steps if step.stage in kinds)
        assert seconds == pytest.approx(result.seconds[stage], abs=0.05)
    for step in profile.steps:
        assert 0 <= step.kernel_seconds <= step.seconds
    kernels = sum(kernel.seconds for kernel in profile.kernels)
    assert kernels == pytest.approx(sum(step.kernel_seconds for step in profile.steps))
    assert [k.seconds for k in profile.kernels] == sorted(
        (k.seconds for k in profile.kernels), reverse=True
    )


def test_profile_counts_bytes_of_graph_and_parts(result: Partition, graph: jetpy.Graph) -> None:
    steps = {(step.stage, step.level): step for step in profile_of(result).steps}
    arrays = (graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights)
    assert steps["coarsen", None].uploaded == sum(array.nbytes for array in arrays)
    assert steps["refine", None].downloaded == result.parts.nbytes


def test_every_verb_is_counted() -> None:
    profiler = Profiler(get_backend("cpu", 1))
    numbers = np.arange(10, dtype=np.int32)
    profiler.enter("coarsen", 3)
    ids = profiler.from_host(numbers)
    parts = profiler.empty(10)
    arguments = {"coarse_of": ids, "coarse_parts": ids, "parts": parts}
    profiler.parallel_for(10, projection.project, **arguments)
    play = profiler.capture(lambda: profiler.parallel_for(10, projection.project, **arguments))
    for _ in range(3):
        play()
    assert profiler.launches == 4
    assert profiler.to_host(parts).tolist() == list(range(10))
    array = profiler.dual_view(5)
    profiler.sync_device(array)
    profiler.sync_host(array)
    assert profiler.sorted(profiler.full(3, 7, np.int64)).tolist() == [7, 7, 7]
    profiler.synchronize()
    profiler.leave()
    [step] = profiler.profile("").steps
    assert (step.stage, step.level, step.launches, step.synchronisations) == ("coarsen", 3, 4, 2)
    assert (step.uploaded, step.downloaded) == (80, 80)
    [kernel] = profiler.profile("").kernels
    assert (kernel.name, kernel.backend, kernel.calls) == ("project", "cpu", 4)


def test_reductions_and_scans_are_synchronisations(result: Partition) -> None:
    profile = profile_of(result)
    kinds = [event.kind.value for event in profile.events]
    assert sum(step.synchronisations for step in profile.steps) == sum(
        kind in ("reduce", "scan", "download", "wait") for kind in kinds
    )
    assert kinds.count("scan") > 0


def test_profiler_has_the_interface_of_a_back_end() -> None:
    engine = CpuBackend(1)
    engine.is_asynchronous, engine.host_size = True, 77
    profiler = Profiler(engine)
    own = {"launches", "host_engine"}
    for attribute in Backend.__annotations__.keys() - own:
        assert getattr(profiler, attribute) == getattr(engine, attribute)
    verbs = {
        name
        for name, value in vars(Backend).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    launches = {"parallel_for", "reduce", "scan", "scan_into"}
    assert verbs - launches - {"for_size", "group", "lose_gpu"} <= vars(Profiler).keys()


def test_launches_of_the_host_engine_are_profiled(graph: jetpy.Graph) -> None:
    """The host engine refines small levels, as with a GPU."""
    engine = CpuBackend(2)
    engine.host_engine, engine.host_size = CpuBackend(1), 5000
    engine.host_engine.name = "host engine"
    profiler = Profiler(engine)
    problem = make_problem(graph.n, 6, 0.03, 3, preset("default").changed(MULTILEVEL))
    outcome = partition_multilevel(profiler, graph, [problem])
    profile = profiler.profile("host engine")
    assert profiler.all_launches == engine.all_launches
    assert (outcome.parts == jetpy.partition(graph, 6, options=MULTILEVEL, **ENGINE).parts).all()
    launches = sum(step.launches for step in profile.steps)
    assert launches == engine.launches + engine.host_engine.launches
    assert engine.launches > 0 < engine.host_engine.launches
    calls = {"cpu": 0, "host engine": 0}
    for kernel in profile.kernels:
        calls[kernel.backend] += kernel.calls
    assert calls == {"cpu": engine.launches, "host engine": engine.host_engine.launches}
    finest = next(step for step in profile.steps if (step.stage, step.level) == ("refine", 0))
    assert finest.launches == outcome.levels[0].refine_launches


def test_trace_is_valid(result: Partition, tmp_path: Path) -> None:
    profile = profile_of(result)
    profile.write(tmp_path / "trace.json")
    profile.write(tmp_path / "trace.json.gz")
    text = (tmp_path / "trace.json").read_text()
    assert gzip.decompress((tmp_path / "trace.json.gz").read_bytes()).decode() == text
    trace = json.loads(text)
    names, events = trace["traceEvents"][:2], trace["traceEvents"][2:]
    assert {event["name"] for event in names} == {"process_name", "thread_name"}
    assert len(events) == len(profile.events)
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)
    starts = [event["ts"] for event in events]
    assert starts == sorted(starts)
    assert starts[0] >= 0
    open_until: list[float] = []
    for event in events:  # events are nested
        end = round(event["ts"] + event["dur"], 3)
        while open_until and open_until[-1] <= event["ts"]:
            open_until.pop()
        assert not open_until or end <= open_until[-1]
        open_until.append(end)
    [initial] = [e for e in events if e["name"] == f"initial, level {len(result.levels) - 1}"]
    assert initial["cat"] == "step"
    kernels = [event for event in events if event["cat"] in ("for", "reduce", "scan")]
    assert len(kernels) == result.launches
    assert kernels[0]["args"] == {
        "stage": "coarsen",
        "level": 1,
        "backend": result.backend,
        "n": 6000,
    }


def test_v_cycle_belongs_to_its_level(graph: jetpy.Graph) -> None:
    profile = profile_of(jetpy.partition(graph, 6, preset="ultra", profile=True, **ENGINE))
    steps = [event for event in profile.events if event.kind.value == "step"]
    within = {event.name for event in steps if event.owner == ("refine", 0)}
    assert {"refine, level 0", "refine, level 1", "coarsen, level 1"} <= within


def test_profiles_of_refine_and_trivial_runs(graph: jetpy.Graph) -> None:
    refined = jetpy.refine(graph, np.arange(graph.n) % 3, profile=True, **ENGINE)
    steps = [(step.stage, step.level) for step in profile_of(refined).steps]
    assert steps == [("refine", None), ("refine", 0)]
    trivial = profile_of(jetpy.partition(graph, 1, profile=True, **ENGINE))
    assert (trivial.steps, trivial.kernels) == ([], [])
    assert repr(trivial) == "Profile(delaunay-6000-s0, k = 1, cpu: 0 launches)"


def test_missing_folder_is_refused(result: Partition, tmp_path: Path) -> None:
    with pytest.raises(JetpyError, match="cannot be written"):
        profile_of(result).write(tmp_path / "nowhere" / "trace.json")
