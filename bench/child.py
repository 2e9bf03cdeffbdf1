"""Measurements in fresh Python processes, which answer in lines of JSON."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jetpy.engines.child_processes import ChildProcesses

ROOT = Path(__file__).parents[1]
PROCESSES = {
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
"""Lets Open MPI start more processes than there are cores, and the system place them."""
CHILDREN = ChildProcesses()
"""Processes started by `answers`."""


class Absent(Exception):
    """The child lacks what it was asked to run; the message says what."""


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """Let SIGHUP and SIGTERM raise SystemExit in the main thread, so that child processes end.

    In other threads, change nothing.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGHUP, signal.SIGTERM):
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _launcher(processes: int) -> list[str]:
    """Return what starts a command on several processes: mpiexec, if it can be beside Python."""
    beside = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    return [beside or "mpiexec", "-n", str(processes)]


def answers(
    module: str, *arguments: object, threads: int | None = None, processes: int | None = None
) -> Iterator[Any]:
    """Run ``python -m module arguments`` and yield what it answers, as it comes.

    `threads` is how many the thread pools of the child get room for. With `processes` there are so
    many of them, which MPI starts.

    Raises
    ------
    Absent
        When it answers that something is not installed.
    subprocess.CalledProcessError
        When it fails; what it wrote on standard error has been shown.
    """
    names = ("OMP_NUM_THREADS",) if threads else ()
    command = [sys.executable, "-m", module, *map(str, arguments)]
    if processes is not None:
        command = _launcher(processes) + command
    env = {**os.environ, **PROCESSES, **dict.fromkeys(names, str(threads))}
    with (
        ending_on_signals(),
        CHILDREN.start(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL) as child,
    ):
        assert child.stdout is not None
        # Open MPI's processes see a terminal, and some write its codes before a line.
        lines = (line[line.index("{") :] for line in child.stdout if "{" in line)
        for answer in map(json.loads, lines):
            if "absent" in answer:
                child.wait()
                raise Absent(answer["absent"])
            yield answer
        child.wait()
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)


def run_module(module: str, *arguments: object, threads: int | None = None) -> Any:
    """Run ``python -m module arguments``, which answers once; return that."""
    [answer] = answers(module, *arguments, threads=threads)
    return answer


def run_python(*arguments: str, env: Mapping[str, str] | None = None) -> None:
    """Run Python from the repository root, with more environment variables.

    Raises
    ------
    subprocess.CalledProcessError
        When it fails; what it wrote on standard error has been shown.
    """
    subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdout=subprocess.DEVNULL,
        check=True,
    )
