"""One run of a study in a separate process: ``python -m jetpy.study.child TASK``.

SIGALRM ends the process if partitioning exceeds the time limit.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from jetpy.errors import BackendError
from jetpy.graph.generators import grid
from jetpy.multilevel.outcome import STAGES, Level
from jetpy.study.answers import answering
from jetpy.study.arrays import checksum_of_parts, load_arrays
from jetpy.study.cases import JETPY, Case
from jetpy.study.files import FINEST, STAGE_COLUMNS
from jetpy.study.programs import PROGRAMS, ProgramError
from jetpy.study.tools import PEERS, Job, Solve, prepare_jetpy, run_jetpy
from jetpy.study.verdict import judge

WARM_UP = 64
"""Rows and columns of the grid of the warm-up run, which loads kernels and libraries."""
Run = tuple[npt.ArrayLike, dict[str, Any]]
"""Parts, and the cost of computing them."""


@dataclass(frozen=True)
class Task:
    """The task of a child: runs on a graph in a folder, each within a time limit in seconds.

    `profile` requests another run of jetpy, in which kernels are timed. `program` is the path of a
    tool that is a program.
    """

    case: Case
    folder: str
    time_limit: float
    profile: bool
    repeats: int = 1
    program: str = ""

    def to_json(self) -> str:
        """Return the task as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Task:
        """Return the task in text from `to_json`."""
        fields = json.loads(text)
        return cls(**{**fields, "case": Case(*fields["case"])})


def main() -> None:
    """Answer with the result of the run, or with the reason why the tool is absent."""
    answer = answering()
    answer(found_by(Task.from_json(sys.argv[1])))


def found_by(task: Task) -> dict[str, Any]:
    """Return the result of a run, or the reason why it failed or why the tool is absent."""
    folder = Path(task.folder)
    job = Job(
        load_arrays(folder),
        folder,
        _preset(task.case),
        task.case.threads,
        task.case.allowed_imbalance,
    )
    if task.program:
        return _found_by_program(task, job)
    try:
        _warm_up(task.case, job)
        solve = _prepare(task.case, job)
    except (ImportError, BackendError) as error:
        return {"absent": str(error)}
    run = _run_jetpy if task.case.tool == JETPY else _run_other
    runs = []
    for _ in range(task.repeats):
        signal.setitimer(signal.ITIMER_REAL, task.time_limit)
        runs.append(run(task.case, job, solve))
        signal.setitimer(signal.ITIMER_REAL, 0)
    kernels = _kernels(task.case, job) if task.profile else []
    judged = [
        {**judge(job, parts, task.case.k)._asdict(), "sha": checksum_of_parts(parts), **spent}
        for parts, spent in runs
    ]
    return {**_median(judged), "kernels": kernels}


def _found_by_program(task: Task, job: Job) -> dict[str, Any]:
    case = task.case
    measure = PROGRAMS[case.tool].measure
    try:
        runs = measure(Path(task.program), job, case.k, task.repeats, task.time_limit)
    except ProgramError as error:
        return {"failed": f"{error}"}
    judged = [{**run.verdict._asdict(), "sha": run.sha, "seconds": run.seconds} for run in runs]
    return {**_median(judged), "kernels": []}


def _median(judged: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the run of median time (the faster of two), with minimum and maximum.

    If the parts differ between repetitions, the checksum is one that differs from the first.
    """
    first = judged[0]["sha"]
    others = [own["sha"] for own in judged if own["sha"] != first]
    ordered = sorted(judged, key=lambda own: own["seconds"])
    return {
        **ordered[(len(ordered) - 1) // 2],
        "sha": (others or [first])[0],
        "seconds_min": ordered[0]["seconds"],
        "seconds_max": ordered[-1]["seconds"],
    }


def _run_jetpy(case: Case, job: Job, solve: Solve) -> Run:
    result = run_jetpy(_backend(case), job, case.k, case.seed, profile=False)
    stages = [f"{result.seconds[stage]:.6f}" for stage in STAGES]
    spent = dict(zip(STAGE_COLUMNS, stages, strict=True))
    if result.levels:
        spent[FINEST] = f"{_finest_seconds(result.levels):.6f}"
    return result.parts, {"seconds": result.seconds["total"], **spent, "launches": result.launches}


def _finest_seconds(levels: Sequence[Level]) -> float:
    """Return the seconds of coarsening the finest level, and of refinement on it."""
    return levels[0].refine_seconds + sum(level.coarsen_seconds for level in levels[1:2])


def _run_other(case: Case, job: Job, solve: Solve) -> Run:
    parts, seconds = solve(case.k, case.seed)
    return parts, {"seconds": seconds["total"]}


def _prepare(case: Case, job: Job) -> Solve:
    if case.tool == JETPY:
        return prepare_jetpy(_backend(case), job)
    return PEERS[case.tool].prepare(job)


def _preset(case: Case) -> Any:
    return case.preset


def _backend(case: Case) -> Any:
    return case.backend


def _warm_up(case: Case, job: Job) -> None:
    with tempfile.TemporaryDirectory() as folder:
        small = replace(job, graph=grid(WARM_UP, WARM_UP), folder=Path(folder))
        _prepare(case, small)(2, case.seed)


def _kernels(case: Case, job: Job) -> list[dict[str, Any]]:
    """Return the times of all kernels in a profiled run."""
    profile = run_jetpy(_backend(case), job, case.k, case.seed, profile=True).profile
    assert profile is not None
    return [asdict(kernel) for kernel in profile.kernels]


if __name__ == "__main__":
    main()
