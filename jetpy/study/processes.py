"""Runs in separate processes, with an outcome even if they crash or hang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from jetpy.engines.child_processes import ChildProcesses, module_command

PATIENCE = 1800
"""Seconds of a process beyond the time limit, for compiling kernels and loading a graph."""
DONE, ABSENT, TIME_LIMIT = "done", "absent", "time limit"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a process.

    Attributes
    ----------
    status : str
        `DONE`; `ABSENT` if something is not installed; `TIME_LIMIT`; or the kind of failure, which
        the process may state as "failed" in its answer.
    found : dict
        The answer of the process.
    words : str
        Reason for absence, or the last output before a failure.
    """

    status: str
    found: dict[str, Any] = field(default_factory=dict)
    words: str = ""


def run_apart(module: str, *arguments: object, threads: int, time_limit: float = 0) -> Outcome:
    """Run ``python -m module arguments``, and return its answer, a line of JSON.

    When the child ends, or this process is interrupted, all descendants of the child are killed.

    Parameters
    ----------
    module : str
    *arguments : object
    threads : int
        Maximum number of threads of its thread pools.
    time_limit : float
        Time limit in seconds, which the child enforces by SIGALRM. If it does not, it is killed
        `PATIENCE` seconds later.
    """
    command = module_command(module, *map(str, arguments))
    env = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    try:
        with ChildProcesses().start(command, env=env, stderr=subprocess.PIPE) as process:
            output, errors = process.communicate(timeout=time_limit + PATIENCE)
    except subprocess.TimeoutExpired:
        return Outcome(TIME_LIMIT)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return _outcome(process.returncode, output, errors)


def _outcome(code: int, output: str, errors: str) -> Outcome:
    last = " ".join(errors.split("\n")[-2:]).strip()
    if code == -signal.SIGALRM:
        return Outcome(TIME_LIMIT)
    if code:
        return Outcome(ending(code), words=last)
    if not output.strip():
        return Outcome("failed without a message", words=last)
    answer = json.loads(output)
    if "absent" in answer:
        return Outcome(ABSENT, words=answer["absent"])
    if "failed" in answer:
        return Outcome(answer["failed"])
    return Outcome(DONE, answer)


def ending(code: int) -> str:
    """Describe the return code of a process that failed.

    >>> ending(1), ending(-11)
    ('failed with code 1', 'ended by SIGSEGV')
    """
    return f"failed with code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
