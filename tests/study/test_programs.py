"""Partitioners that are programs, with scripts that stand in for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.study.arrays import checksum_of_parts, save_arrays
from jetpy.study.cases import GPU, Case, Options, cases_of
from jetpy.study.child import Task, found_by
from jetpy.study.processes import TIME_LIMIT
from jetpy.study.programs import measure_heipa
from jetpy.study.tools import Job
from tests.study.programs import write_heipa, write_jet

K, CUT = 4, 24
"""Parts of two rows each of an 8 x 8 grid."""


def run(
    folder: Path, program: Path, tool: str = "jet", graph: Graph | None = None, **options: Any
) -> Mapping[str, Any]:
    """Return what a child process answers for a program."""
    save_arrays(folder / "graph", grid(8, 8) if graph is None else graph)
    case = Case("mesh", K, 0.03, tool, "default", "", 1, 0)
    settings = {"time_limit": 60.0, **options}
    return found_by(
        Task(case, str(folder / "graph"), profile=False, program=str(program), **settings)
    )


def test_runs_of_the_cpp_jet_after_the_first_count(tmp_path: Path) -> None:
    """The stand-in reports the cuts 24, 25, 26, 27 and the seconds 9, 0.5, 1, 1.5."""
    found = run(tmp_path, write_jet(tmp_path / "jet"), repeats=3)
    assert found == {
        "cut": CUT + 2,
        "imbalance": 0.0,
        "feasible": True,
        "sha": checksum_of_parts(np.arange(64) // 16),
        "seconds": 1.0,
        "seconds_min": 0.5,
        "seconds_max": 1.5,
        "kernels": [],
    }


def test_settings_of_the_cpp_jet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two-hop coarsening, number of parts, number of runs, and 1 + imbalance."""
    show = "print(open(sys.argv[2]).read(), file=sys.stderr)"
    run(tmp_path, write_jet(tmp_path / "jet", before=show), repeats=2)
    assert capfd.readouterr().err.split() == ["0", "4", "3", "1.03"]


@pytest.mark.parametrize(("tool", "seconds"), [("gpu-heipa", 0.25), ("gpu-heipa-ultra", 0.75)])
def test_gpu_heipa_prints_milliseconds(tool: str, seconds: float, tmp_path: Path) -> None:
    found = run(tmp_path, write_heipa(tmp_path / "heipa"), tool, repeats=2)
    assert (found["seconds"], found["cut"], found["feasible"]) == (seconds, CUT, True)


def test_gpu_heipa_gets_the_limit_of_all_tools(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its limit is rounded up: with 3 %, each of 100 parts of 100 vertices could have 2."""
    job = Job(grid(10, 10), tmp_path, "default", 1)
    program = write_heipa(tmp_path / "heipa")
    for k in (3, 4, 7, 100):
        measure_heipa("default", program, job, k, 1, 60)
        imbalance = float(capfd.readouterr().err.split(":")[1])
        assert int(np.ceil((1 + imbalance) * 100 / k)) == job.limit(k)


@pytest.mark.parametrize(
    ("before", "failed"),
    [
        ("sys.exit(3)", "failed with code 3"),
        ("import os; os.abort()", "ended by SIGABRT"),
        ("time.sleep(60)", TIME_LIMIT),
        ("write = lambda part, path: None", "wrote no partition of 64 vertices into 4 parts"),
        ("divide = lambda file, k: ([4] * 64, 0)", "wrote no partition of 64 vertices into 4"),
        ("divide = lambda file, k: ([0] * 63, 0)", "wrote no partition of 64 vertices into 4"),
        ("json.dumps = lambda runs: '[{}]'", "wrote no readable list of runs"),
        ("json.dumps = lambda runs: '[]'", "reports 0 runs instead of 2"),
        ("divide = lambda file, k: ([0] * 64, 1)", "reports cut 1, but the cut is 0"),
    ],
)
def test_failure_of_a_program_is_its_result(before: str, failed: str, tmp_path: Path) -> None:
    program = write_jet(tmp_path / "jet", before=before)
    found = run(tmp_path, program, time_limit=0.2 if failed == TIME_LIMIT else 60)
    assert found.keys() == {"failed"}
    assert found["failed"].startswith(failed)


def test_unbalanced_parts_are_not_feasible(tmp_path: Path) -> None:
    program = write_jet(tmp_path / "jet", before="divide = lambda file, k: ([0] * 64, 0)")
    found = run(tmp_path, program)
    assert (found["cut"], found["imbalance"], found["feasible"]) == (1, 3.0, False)


def test_output_without_a_time_is_a_failure(tmp_path: Path) -> None:
    program = write_heipa(tmp_path / "heipa", before="print = lambda *words, file=None: None")
    assert run(tmp_path, program, "gpu-heipa") == {"failed": "does not print its time"}


def test_file_that_is_no_program_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "jet").write_bytes(b"\0")
    (tmp_path / "jet").chmod(0o755)
    assert run(tmp_path, tmp_path / "jet") == {"failed": "cannot be started: Exec format error"}


@pytest.mark.parametrize(("on_gpu", "expected"), [(True, [(GPU, 1)]), (False, [("", 1), ("", 2)])])
def test_programs_run_once_on_a_gpu_or_with_all_threads(
    on_gpu: bool, expected: list[tuple[str, int]]
) -> None:
    options = Options(
        (2,), (), (), (), (1, 2), (0,), (0.03,), 60,
        programs={"jet": Path("jet")}, programs_on_gpu=on_gpu,
    )  # fmt: skip
    found = cases_of("mesh", options)
    assert [(case.backend, case.threads) for case in found] == expected
    platforms = ["box gpu"] if on_gpu else ["box cpu-1", "box cpu-2"]
    assert [case.platform("box") for case in found] == platforms
