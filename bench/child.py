"""Measurements in new Python processes, which return their results as JSON lines."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.tables import note
from jetpy import BackendError
from jetpy.engines.child_processes import ChildProcesses
from jetpy.errors import OutOfMemoryError
from jetpy.study.answers import answering

ROOT = Path(__file__).parents[1]
OPEN_MPI = {
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
"""Settings that let Open MPI start more processes than there are cores, without binding them."""
CHILDREN = ChildProcesses()
"""Processes started by `answers`."""


class Unavailable(Exception):
    """The child cannot run a tool, for example because it is not installed."""


@dataclass
class Outcome:
    """Result of a block under `failures_noted`."""

    unavailable: bool = False
    failed: bool = False


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """Make SIGHUP and SIGTERM raise SystemExit in the main thread, so that child processes end.

    Signals that already have a handler keep it. In other threads, change nothing.
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
    """Return the mpiexec command; an mpiexec in Python's own folder takes precedence."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    return [mpiexec or "mpiexec", "-n", str(processes)]


def answers(
    module: str, *arguments: object, threads: int | None = None, processes: int | None = None
) -> Iterator[Any]:
    """Run ``python -m module arguments`` and yield each result as soon as the child returns it.

    Parameters
    ----------
    threads
        Value of OMP_NUM_THREADS in the child.
    processes
        Start this number of processes under mpiexec. None starts one process without MPI.

    Raises
    ------
    Unavailable
        If the child reports that a tool is not available.
    subprocess.CalledProcessError
        If the child fails. Its error output is not captured.
    """
    names = ("OMP_NUM_THREADS",) if threads else ()
    command = [sys.executable, "-m", module, *map(str, arguments)]
    if processes is not None:
        command = _launcher(processes) + command
    env = {**os.environ, **OPEN_MPI, **dict.fromkeys(names, str(threads))}
    with (
        ending_on_signals(),
        CHILDREN.start(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL) as child,
    ):
        assert child.stdout is not None
        # Open MPI connects its processes to a terminal. Some print terminal codes before a line.
        lines = (line[line.index("{") :] for line in child.stdout if "{" in line)
        for answer in map(json.loads, lines):
            if "unavailable" in answer:
                child.wait()
                raise Unavailable(answer["unavailable"])
            yield answer
        child.wait()
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)


def apart(
    function: Callable[..., Any],
    *arguments: object,
    threads: int | None = None,
    processes: int | None = None,
) -> Iterator[Any]:
    """Call a function of a module in a new process, and yield each of its results at once.

    The function returns one result or an iterable of them. Arguments and results travel as JSON:
    paths become texts, and tuples lists. `threads`, `processes` and exceptions are those of
    `answers`.
    """
    module = function.__globals__["__spec__"].name  # of a program, not "__main__"
    call = json.dumps([module, function.__name__, arguments], default=os.fspath)
    return answers("bench.child", call, threads=threads, processes=processes)


def only(found: Iterator[Any]) -> Any:
    """Return the only result of `apart`."""
    [answer] = found
    return answer


@contextmanager
def failures_noted(tool: str, case: str) -> Iterator[Outcome]:
    """If a child is unavailable or fails in the block, note it and continue after the block."""
    outcome = Outcome()
    try:
        yield outcome
    except Unavailable as reason:
        note(f"{tool} is left out: {reason}")
        outcome.unavailable = True
    except subprocess.CalledProcessError as error:
        note(f"{case}: {tool} failed with exit status {error.returncode}")
        outcome.failed = True


@contextmanager
def unavailability_answered(answer: Callable[[Any], None]) -> Iterator[None]:
    """If a tool is not available in the block, answer that and exit this child process.

    The block raises ImportError, `Unavailable` or `BackendError` if the tool is not available. A
    GPU with too little memory for one graph is still available for others.
    """
    try:
        yield
    except OutOfMemoryError:
        raise
    except (ImportError, Unavailable, BackendError) as error:
        answer({"unavailable": str(error)})
        raise SystemExit(0) from error


def main() -> None:
    """Call the function that the only argument names, and answer with its results."""
    answer = answering()
    module, name, arguments = json.loads(sys.argv[1])
    with unavailability_answered(answer):
        found = getattr(import_module(module), name)(*arguments)
        for result in [found] if isinstance(found, dict) else found:
            answer(result)


if __name__ == "__main__":
    import_module("bench.child").main()  # with the exceptions that functions raise, not copies
