"""Run i of a seed: a reproducible problem, solved and checked."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from jetpy.constraints import multiconstraint
from jetpy.initial import tasks
from jetpy.multilevel import core
from tests.fuzz.bounds import bounding
from tests.fuzz.calls import calling
from tests.fuzz.changes import changing
from tests.fuzz.checks import Finding, ensure
from tests.fuzz.choices import Choice, Random
from tests.fuzz.constrained import constrained
from tests.fuzz.draws import Engine, Problem
from tests.fuzz.faults import faulty
from tests.fuzz.files import filed
from tests.fuzz.lists import listed
from tests.fuzz.mappings import mapping
from tests.fuzz.mesh_files import mesh_file
from tests.fuzz.meshes import meshed
from tests.fuzz.mistakes import mistakes
from tests.fuzz.orderings import ordered
from tests.fuzz.parmetis import ported
from tests.fuzz.partitions import partitioning
from tests.fuzz.processes import spread
from tests.fuzz.refining import refining
from tests.fuzz.results import resulting
from tests.fuzz.separators import separating
from tests.fuzz.several import several

KINDS: Mapping[Callable[[Random], Problem], int] = {
    partitioning: 28,
    refining: 12,
    mapping: 10,
    constrained: 12,
    bounding: 14,
    several: 7,
    changing: 7,
    spread: 6,
    ported: 3,
    resulting: 6,
    filed: 4,
    meshed: 4,
    mesh_file: 3,
    listed: 4,
    ordered: 4,
    separating: 3,
    mistakes: 4,
    faulty: 4,
    calling: 5,
}
"""Relative frequency of each kind of problem."""
ENGINES: Sequence[Engine] = (
    {"backend": "cpu", "threads": 1},
    {"backend": "cpu", "threads": 2},
)
SMALL = 50
"""In odd runs, levels with several weights and at least this many vertices are refined by Jet,
threads share the bisections of graphs with as many vertices and directed edges, and cores of graphs
with as many vertices are gathered."""
SLOW = 10.0
"""Limit of processor seconds per run and engine."""


@dataclass(frozen=True)
class Run:
    """The number, problem, processor seconds, findings and choices of a run."""

    number: int
    problem: str
    seconds: float
    findings: Sequence[Finding]
    chosen: Set[Choice] = frozenset()


def draw(rng: Random) -> Problem:
    """Return a random problem."""
    kinds, shares = list(KINDS), np.array(list(KINDS.values()))
    kind = kinds[rng.choice(len(kinds), p=shares / shares.sum())]
    rng.chosen.add(("kind", kind.__name__))
    return kind(rng)


def run(seed: int, number: int, engines: Sequence[Engine] = ENGINES) -> Run:
    """Solve a problem on each engine; every fourth problem runs twice on the first engine."""
    if number % 2 == 0:
        return _run(seed, number, engines)
    with (
        patch.object(multiconstraint, "JET_VERTICES", SMALL),
        patch.object(tasks, "MIN_SHARED", SMALL),
        patch.object(core, "MIN_VERTICES", SMALL),
    ):
        return _run(seed, number, engines)


def _run(seed: int, number: int, engines: Sequence[Engine]) -> Run:
    if number % 4 == 0:
        engines = [*engines, engines[0]]
    findings = [Finding("no crash")]
    rng = Random(seed, number)
    started, problem = time.process_time(), "drawing"
    with _standard_output() as printed:
        try:
            drawn = draw(rng)
            problem = str(drawn)
            findings.extend(drawn.findings(engines))
        except Exception as error:  # a defect may raise anything
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(place.filename)}:{place.lineno}"
            findings.append(Finding("no exception", f"{type(error).__name__}, {where}: {error}"))
        else:
            findings.append(Finding("no exception"))
        seconds = time.process_time() - started
        text = printed()
    findings.append(ensure("nothing printed", not text, repr(text[:60])))
    findings.append(
        ensure("quick", seconds < SLOW * len(engines), f"{seconds:.1f} processor seconds")
    )
    chosen = rng.chosen | {("check", finding.check) for finding in findings}
    return Run(number, problem, seconds, findings, chosen)


@contextmanager
def _standard_output() -> Iterator[Callable[[], bytes]]:
    """Capture the output of this process, C libraries included; yield its reader."""
    flush_libraries = ctypes.CDLL(None).fflush

    def flush() -> None:
        sys.stdout.flush()
        flush_libraries(None)

    flush()
    before = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)

        def printed() -> bytes:
            flush()
            return os.pread(file.fileno(), 1000, 0)

        try:
            yield printed
        finally:
            flush()
            os.dup2(before, 1)
            os.close(before)
