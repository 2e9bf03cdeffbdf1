"""Partitioners that are programs, given by their paths: the C++ Jet and GPU-HeiPa."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.errors import JetpyError
from jetpy.graph.csr import Graph
from jetpy.io import read_parts
from jetpy.problem.metrics import checked_parts, edge_cut
from jetpy.study.arrays import checksum_of_parts
from jetpy.study.processes import TIME_LIMIT, ending
from jetpy.study.tools import Job
from jetpy.study.verdict import Verdict, judge

TWO_HOP = 0
"""The C++ Jet's code for its default coarsening."""
SOLVED = re.compile(r"^Solved in\s*: ([\d.e+]+)", re.MULTILINE)
"""GPU-HeiPa's line with the milliseconds of the solution, with copies to and from the GPU."""
_MARGIN = 1e-9
"""Decrease of GPU-HeiPa's imbalance, so that rounding errors do not increase the limit."""
Parts = npt.NDArray[np.int32]


class ProgramError(JetpyError):
    """A program that failed, or whose output is wrong; the message is the status of the run."""


class ReportedRun(NamedTuple):
    """The seconds and the cut that a program reports for one of its runs."""

    seconds: float
    cut: int


class JudgedRun(NamedTuple):
    """A run with a verdict on its parts, their checksum, and its seconds."""

    verdict: Verdict
    sha: str
    seconds: float


Measure = Callable[[Path, Job, int, int, float], list[JudgedRun]]
"""Called as `measure(path, job, k, repeats, time_limit)`, with the seconds of one run."""


@dataclass(frozen=True)
class Program:
    """A partitioner that is a program: how it is run, its preset, and whether CPUs can run it."""

    measure: Measure
    preset: str
    on_cpu: bool


def run_jet(
    program: Path, graph: Graph, file: Path, k: int, imbalance: float, times: int, timeout: float
) -> tuple[list[ReportedRun], Parts]:
    """Run the C++ Jet once. It partitions the graph in the METIS file `times` times.

    Return its runs, and the parts of the run with the smallest cut, int32, shape (n,).

    Raises
    ------
    ProgramError
        If the program fails, reports another number of runs, or another cut than that of its parts.
    """
    with tempfile.TemporaryDirectory() as name:
        settings, parts, metrics = (
            Path(name, file) for file in ("settings", "parts", "metrics.json")
        )
        lines = (TWO_HOP, k, times, 1 + imbalance)
        settings.write_text("".join(f"{line}\n" for line in lines))
        _output([program, file, settings, parts, metrics], timeout)
        try:
            runs = [
                ReportedRun(round(run["total-duration-seconds"], 6), round(run["edge-cut"]))
                for run in json.loads(metrics.read_text())
            ]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ProgramError("wrote no readable list of runs") from error
        found = _parts(graph, parts, k)
    if len(runs) != times:
        raise ProgramError(f"reports {len(runs)} runs instead of {times}")
    reported, cut = min(run.cut for run in runs), edge_cut(graph, found)
    if cut != reported:
        raise ProgramError(f"reports cut {reported:,}, but the cut is {cut:,}")
    return runs, found


def run_heipa(
    program: Path, graph: Graph, k: int, arguments: Sequence[object], timeout: float
) -> tuple[float, Parts]:
    """Run a program of GPU-HeiPa once; return its seconds and the parts, int32, shape (n,).

    Raises
    ------
    ProgramError
        If the program fails, does not print its time, or writes no parts.
    """
    with tempfile.TemporaryDirectory() as name:
        parts = Path(name, "parts")
        words = (*arguments, "--mapping", parts, "--verbose-level", 1)
        solved = SOLVED.search(_output([program, *words], timeout))
        if solved is None:
            raise ProgramError("does not print its time")
        return float(solved[1]) / 1000, _parts(graph, parts, k)


def _output(command: Sequence[object], timeout: float) -> str:
    """Run a program and return its standard output.

    Raises
    ------
    ProgramError
        If it fails.
    """
    try:
        done = subprocess.run(
            list(map(str, command)), stdout=subprocess.PIPE, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(TIME_LIMIT) from None
    except OSError as error:
        raise ProgramError(f"cannot be started: {error.strerror}") from error
    if done.returncode:
        raise ProgramError(ending(done.returncode))
    return done.stdout


def _parts(graph: Graph, file: Path, k: int) -> Parts:
    """Read parts from a file that a program has written.

    Raises
    ------
    ProgramError
        If it contains no partition of the graph.
    """
    try:
        return checked_parts(graph, read_parts(file), k)
    except JetpyError as error:
        raise ProgramError(f"wrote no partition of {graph.n:,} vertices into {k} parts") from error


def measure_jet(
    program: Path, job: Job, k: int, repeats: int, time_limit: float
) -> list[JudgedRun]:
    """Run the C++ Jet in one process, `repeats` times after a run that warms up.

    It writes only the parts of the best run, so balance and checksum are those of this run.

    Raises
    ------
    ProgramError
        As `run_jet`.
    """
    times = repeats + 1
    file, limit = Path(job.metis_file()), times * time_limit
    runs, parts = run_jet(program, job.graph, file, k, job.imbalance, times, limit)
    verdict, sha = judge(job, parts, k), checksum_of_parts(parts)
    return [JudgedRun(verdict._replace(cut=run.cut), sha, run.seconds) for run in runs[1:]]


def measure_heipa(
    config: str, program: Path, job: Job, k: int, repeats: int, time_limit: float
) -> list[JudgedRun]:
    """Run GPU-HeiPa in `repeats` processes, with the largest imbalance that keeps the limit.

    Its limit is (1 + imbalance) times the average, rounded up.

    Raises
    ------
    ProgramError
        As `run_heipa`.
    """
    share = max(job.graph.total_vertex_weight, 1) / k
    imbalance = max(0.0, job.limit(k) / share - 1 - _MARGIN)
    words = ("--graph", job.metis_file(), "--k", k, "--imbalance", imbalance, "--config", config)
    runs = []
    for _ in range(repeats):
        seconds, parts = run_heipa(program, job.graph, k, words, time_limit)
        runs.append(JudgedRun(judge(job, parts, k), checksum_of_parts(parts), seconds))
    return runs


PROGRAMS = {
    "jet": Program(measure_jet, "default", on_cpu=True),
    "gpu-heipa": Program(partial(measure_heipa, "default"), "default", on_cpu=False),
    "gpu-heipa-ultra": Program(partial(measure_heipa, "ultra"), "ultra", on_cpu=False),
}
"""Partitioners that are programs, by name."""


def checksum_of_program(path: Path) -> str:
    """Return the first 16 digits of the SHA-256 of a program's file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
