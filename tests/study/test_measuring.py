"""Roofs, bytes of launches, and runs in processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.engines.base import Backend
from jetpy.errors import BackendError
from jetpy.profiling.traffic import traffic
from jetpy.study import child
from jetpy.study.arrays import save_arrays
from jetpy.study.cases import Case
from jetpy.study.processes import ABSENT, DONE, TIME_LIMIT, run_apart
from jetpy.study.tools import Tool
from jetpy.study.triad import roof
from jetpy.workloads.common import triad
from tests.conftest import working


def test_roofs_are_measured(backend_name: str) -> None:
    found = roof(working(backend_name), 100_000, 3)
    assert 0 < found.latency < 1
    assert 1e6 < found.bandwidth < 1e14


def test_a_wrong_triad_is_told(compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = working("cpu")
    monkeypatch.setattr(type(backend), "parallel_for", lambda *args, **kwargs: None)
    with pytest.raises(BackendError, match="cpu computes Triad wrong"):
        roof(backend, 10, 1)


def test_triad_moves_what_it_reads_and_writes() -> None:
    left, right, total = (np.zeros(100, np.int64) for _ in range(3))
    arguments: Mapping[str, Any] = {"left": left, "right": right, "factor": 3, "total": total}
    assert traffic(100, triad.triad, arguments) == 2400
    assert traffic(25, triad.triad, arguments) == 600
    assert traffic(0, triad.triad, arguments) == 0


def test_launches_of_a_run_move_at_most_all_that_there_is(compiled: None) -> None:
    graph = jetpy.generators.grid(60, 50)
    profile = jetpy.partition(graph, 4, backend="cpu", threads=1, profile=True).profile
    assert profile is not None
    most = 100 * (graph.indptr.nbytes + 2 * graph.indices.nbytes)
    launches = [event for event in profile.events if event.traffic]
    assert launches
    assert all(event.traffic <= most for event in launches)
    for kernel in profile.kernels:
        assert kernel.bytes == sum(e.traffic for e in launches if e.name == kernel.name)


PROGRAMS = {
    "fine": "print('{\"a\": 1}')",
    "absent": 'print(\'{"absent": "no such thing"}\')',
    "late": "import os, signal; os.kill(os.getpid(), signal.SIGALRM)",
    "crash": "import os; os.abort()",
    "error": "raise ValueError('wrong')",
    "mute": "",
}


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("fine", DONE, ""),
        ("absent", ABSENT, "no such thing"),
        ("late", TIME_LIMIT, ""),
        ("crash", "ended by SIGABRT", ""),
        ("error", "failed with code 1", "ValueError: wrong"),
        ("mute", "failed: it said nothing", ""),
    ],
)
def test_what_becomes_of_processes(
    name: str, status: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = run_apart("program", threads=1)
    assert (found.status, found.words) == (status, words)
    assert found.found == ({"a": 1} if name == "fine" else {})


def test_processes_that_never_end_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.py").write_text("import time; time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys.modules["jetpy.study.processes"], "PATIENCE", 0.2)
    assert run_apart("program", threads=1, time_limit=0.1).status == TIME_LIMIT


def test_an_oracle_of_triad(backend: Backend) -> None:
    left, right = np.arange(50), np.arange(50)[::-1].copy()
    arrays = [backend.from_host(array.astype(np.int64)) for array in (left, right, 0 * left)]
    backend.parallel_for(
        50, triad.triad, left=arrays[0], right=arrays[1], factor=2, total=arrays[2]
    )
    assert (backend.to_host(arrays[2]) == left + 2 * right).all()


def test_of_runs_the_one_of_median_time_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Times are made up, and so are parts: those of the third run differ."""
    graph = jetpy.generators.grid(4, 4)
    save_arrays(tmp_path, graph)
    halves = np.arange(16) // 8
    made = iter([(halves, 3.0), (halves, 1.0), (1 - halves, 2.0), (halves, 9.0)])
    solve = Tool(lambda job: lambda k, seed: next(made), threaded=False)
    monkeypatch.setitem(child.PEERS, "made-up", solve)
    monkeypatch.setattr(child, "_warm_up", lambda case, job: None)
    case = Case("mesh", 2, "made-up", "", "", 1, 0)
    found = child.found_by(child.Task(case, str(tmp_path), 0.03, 60, False, repeats=4))
    assert [found[name] for name in ("seconds_min", "seconds", "seconds_max")] == [1.0, 2.0, 9.0]
    assert found["cut"] == 4
    made = iter([(1 - halves, 1.0)])
    alone = child.found_by(child.Task(case, str(tmp_path), 0.03, 60, False))
    assert found["sha"] == alone["sha"]
