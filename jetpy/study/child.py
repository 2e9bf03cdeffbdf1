"""One run of a study in a separate process: ``python -m jetpy.study.child TASK``.

SIGALRM ends the process if partitioning exceeds the time limit.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from jetpy.device.backends import ON_GPU
from jetpy.errors import BackendError
from jetpy.evaluation.levels import Level
from jetpy.graph.generators import grid
from jetpy.multilevel.execution import STAGES
from jetpy.result.partition import Partition
from jetpy.study.answers import answering
from jetpy.study.arrays import checksum_of_parts, load_arrays
from jetpy.study.cases import JETPY, Case
from jetpy.study.changes import (
    Changes,
    Follow,
    changes_in,
    follow_from_scratch,
    follow_incrementally,
    is_from_scratch,
    over_batches,
    preset_in,
)
from jetpy.study.files import FINEST, STAGE_COLUMNS
from jetpy.study.mappers import MAPPERS, judge_mapping, machine_in, run_mapping
from jetpy.study.modifiers import KINDS
from jetpy.study.programs import PROGRAMS, ProgramError
from jetpy.study.tools import PEERS, Job, prepare_jetpy, run_jetpy
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
        run = _prepare_run(task.case, job)
    except (ImportError, BackendError) as error:
        return {"absent": str(error)}
    runs: list[Run] = []
    warm_ups = int(task.case.backend in ON_GPU)  # the host partitions small grids
    for _ in range(warm_ups + task.repeats):
        signal.setitimer(signal.ITIMER_REAL, task.time_limit)
        runs.append(run())
        signal.setitimer(signal.ITIMER_REAL, 0)
    kernels = _kernels(task.case, job) if task.profile else []
    judged = [
        {**_verdict(task.case, job, parts), "sha": checksum_of_parts(parts), **spent}
        for parts, spent in runs[warm_ups:]
    ]
    return {**_median(judged), "kernels": kernels}


def _verdict(case: Case, job: Job, parts: npt.ArrayLike) -> dict[str, Any]:
    if case.changes:
        return {}  # `over_batches` returns it
    if case.mapping:
        return judge_mapping(job, parts, machine_in(case.mapping))._asdict()
    return judge(job, parts, case.k)._asdict()


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


def _run_jetpy(case: Case, job: Job) -> Run:
    result = _jetpy(case, job, profile=False)
    stages = [f"{result.seconds[stage]:.6f}" for stage in STAGES]
    spent = dict(zip(STAGE_COLUMNS, stages, strict=True))
    if result.levels:
        spent[FINEST] = f"{_finest_seconds(result.levels):.6f}"
    return result.parts, {"seconds": result.seconds["total"], **spent, "launches": result.launches}


def _jetpy(case: Case, job: Job, *, profile: bool) -> Partition:
    """Partition or map with jetpy; return the partition."""
    backend = _backend(case)
    if case.mapping:
        target, method = machine_in(case.mapping), _preset(case)
        return run_mapping(backend, method, job, target, case.seed, profile=profile).partition
    return run_jetpy(backend, job, case.k, case.seed, profile)


def _finest_seconds(levels: Sequence[Level]) -> float:
    """Return the seconds of coarsening the finest level, and of refinement on it."""
    return levels[0].refine_seconds + sum(level.coarsen_seconds for level in levels[1:2])


def _run_changes(case: Case, job: Job) -> Run:
    follow = _prepare_follow(case)
    parts, batches = follow(job, case.k, case.seed, changes_in(case.changes))
    return parts, over_batches(batches)


def _prepare_run(case: Case, job: Job) -> Callable[[], Run]:
    """Prepare a tool for a graph; return a function that makes a run."""
    if case.changes:
        return partial(_run_changes, case, job)
    if case.tool == JETPY:
        return partial(_run_jetpy, case, job)
    if case.mapping:
        return _prepare_mapping(case, job)
    solve = PEERS[case.tool].prepare(job)

    def run() -> Run:
        parts, seconds = solve(case.k, case.seed)
        return parts, {"seconds": seconds["total"]}

    return run


def _prepare_follow(case: Case) -> Follow:
    """Return the way in which a tool partitions a changing graph."""
    if case.tool != JETPY:
        return follow_from_scratch(PEERS[case.tool].prepare)
    if is_from_scratch(case.preset):
        return follow_from_scratch(partial(prepare_jetpy, _backend(case)))
    return follow_incrementally(_backend(case))


def _prepare_mapping(case: Case, job: Job) -> Callable[[], Run]:
    target, map_onto = machine_in(case.mapping), MAPPERS[case.tool].prepare(job)

    def run() -> Run:
        found = map_onto(target, case.seed)
        return found.pe, {"seconds": found.seconds}

    return run


def _preset(case: Case) -> Any:
    return preset_in(case.preset)


def _backend(case: Case) -> Any:
    return case.backend


def _warm_up(case: Case, job: Job) -> None:
    changes = f"{Changes(KINDS, 1)}" if case.changes else ""
    k = case.k if case.mapping else 2
    with tempfile.TemporaryDirectory() as folder:
        small = replace(job, graph=grid(WARM_UP, WARM_UP), folder=Path(folder))
        _prepare_run(case._replace(k=k, changes=changes), small)()


def _kernels(case: Case, job: Job) -> list[dict[str, Any]]:
    """Return the times of all kernels in a profiled run."""
    profile = _jetpy(case, job, profile=True).profile
    assert profile is not None
    return [asdict(kernel) for kernel in profile.kernels]


if __name__ == "__main__":
    main()
