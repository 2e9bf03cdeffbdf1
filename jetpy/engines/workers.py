"""Parallel compilation: each of several processes takes the next group of kernels when idle.

The processes run this module instead of the caller's script, which needs no main guard.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from queue import Empty, Queue
from typing import IO

from jetpy.engines.cache import prospects
from jetpy.engines.child_processes import ChildProcesses, module_command
from jetpy.errors import BackendError

Entry = tuple[str, ...]
"""Arguments of the compiling function for one kernel; the last is the workunit's name, or that of a
module of workunits."""
Group = list[Entry]
"""Kernels compiled by one call."""

Progress = Callable[[int, int], None]
"""Called with the number of compiled kernels and the number of all kernels."""
Compiler = Callable[..., object]

MAX_FAILURES = 3
"""Maximum number of failures that an error message quotes."""


@dataclass(frozen=True)
class Compilation:
    """The result of compiling a group: wall seconds, and the compiler's message if it failed.

    `modules` has the workunits of each module, by name, if the entries are modules.
    """

    group: Group
    seconds: float
    failure: str | None = None
    modules: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def workunits(self) -> list[str]:
        """Names of the workunits."""
        return [name for *_, last in self.group for name in self.modules.get(last, [last])]


_watched: ContextVar[tuple[list[Compilation], ...]] = ContextVar("watched", default=())


@contextmanager
def watch_compilations() -> Iterator[list[Compilation]]:
    """Yield a list to which each compilation of a back end within the block is appended."""
    compilations: list[Compilation] = []
    token = _watched.set((*_watched.get(), compilations))
    try:
        yield compilations
    finally:
        _watched.reset(token)


def note(compilation: Compilation) -> None:
    """Append a compilation to the lists of `watch_compilations`."""
    for watched in _watched.get():
        watched.append(compilation)


_announced = False
_is_silent: ContextVar[bool] = ContextVar("is_silent", default=False)


@contextmanager
def without_announcement() -> Iterator[None]:
    """Suppress `announce` in this thread, for callers that show compilation in another way."""
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)


def announce(kernels: str) -> None:
    """Warn, the first time in this process, that kernels are compiled.

    The warning goes to the logger ``jetpy.compile``; Python prints it if logging is not set up.
    """
    global _announced
    if not _announced and not _is_silent.get():
        _announced = True
        logging.getLogger("jetpy.compile").warning("jetpy compiles %s; %s", kernels, prospects())


def count_of(kernels: int) -> str:
    """Return a number of kernels with the noun."""
    return f"{kernels} kernel{'s' if kernels > 1 else ''}"


def in_turn(compilers: Sequence[Compiler], kernels: int) -> Compiler:
    """Return a function that calls several compilers of `kernels` kernels each, in order.

    It takes `jobs` and `progress`, as `Backend.compile` does.
    """

    def compile_all(*, jobs: int | None = None, progress: Progress | None = None) -> None:
        last = 0

        def report(number: int, done: int, _: int) -> None:
            nonlocal last
            last = number * kernels + done
            if progress is not None:
                progress(last, len(compilers) * kernels)

        for number, compile_one in enumerate(compilers):
            compile_one(jobs=jobs, progress=partial(report, number))
            if last > 0:
                report(number, kernels, kernels)

    return compile_all


def compile_in_parallel(
    function: str,
    groups: list[Group],
    jobs: int,
    environment: Mapping[str, str] | None = None,
    modules: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Group]:
    """Call a function for each of `groups` in `jobs` processes; yield each group when it is done.

    A kernel that fails does not prevent the others from being compiled: a group that fails is
    compiled again, split into groups of one.

    Parameters
    ----------
    function : str
        The function, as ``package.module:name``. The entries of a group are its arguments.
    groups : list of list of tuple of str
        Arguments of each call.
    jobs : int
        Number of processes.
    environment : mapping of str to str, optional
        Environment of the processes; by default this process's.
    modules : mapping of str to sequence of str, optional
        Workunits of each module, if the entries are modules.

    Raises
    ------
    BackendError
        At the end, with the compiler's message, if a workunit did not compile.
    """
    todo: Queue[Group | None] = Queue()
    done: Queue[Compilation] = Queue()
    for group in groups:
        todo.put(group)
    left = sum(map(len, groups))
    processes = min(jobs, left)
    command = module_command(__name__, function)
    children = ChildProcesses()
    for _ in range(processes):
        threading.Thread(
            target=_drive, args=(command, environment, todo, done, children), daemon=True
        ).start()
    failed: list[Compilation] = []
    try:
        while left:
            compilation = done.get()
            if compilation.failure is not None and len(compilation.group) > 1:
                for entry in compilation.group:
                    todo.put([entry])
                continue
            left -= len(compilation.group)
            compilation = replace(compilation, modules=modules or {})
            note(compilation)
            if compilation.failure is not None:
                failed.append(compilation)
            yield compilation.group
    except BaseException:  # such as Ctrl-C
        children.give_up()
        raise
    finally:
        with suppress(Empty):
            while True:
                todo.get_nowait()
        for _ in range(processes):
            todo.put(None)
    if failed:
        raise BackendError(_explain(failed))


def _explain(failed: list[Compilation]) -> str:
    """Return a message with the workunits that did not compile and the compiler's messages."""
    lines = [f"compiling workunit {', '.join(c.workunits)} failed:\n{c.failure}" for c in failed]
    more = [name for c in failed[MAX_FAILURES:] for name in c.workunits]
    if more:
        lines[MAX_FAILURES:] = [f"{len(more)} more failed: {', '.join(more)}"]
    return "\n\n".join(lines)


def _drive(
    command: list[str],
    environment: Mapping[str, str] | None,
    todo: Queue[Group | None],
    done: Queue[Compilation],
    children: ChildProcesses,
) -> None:
    """Compile groups until None comes; start a new process after each failure."""
    groups = iter(todo.get, None)
    for first in groups:
        try:
            with (
                tempfile.TemporaryFile("w+", errors="replace") as words,
                children.start(
                    command, stdin=subprocess.PIPE, stderr=words, env=environment
                ) as process,
            ):
                for group in chain([first], groups):
                    started = time.perf_counter()
                    failure = None if _compile(process, group) else _last_words(process, words)
                    done.put(Compilation(group, time.perf_counter() - started, failure))
                    if failure is not None:
                        break
        except OSError as error:  # the process cannot be started
            done.put(Compilation(first, 0.0, str(error)))


def _compile(process: subprocess.Popen[str], group: Group) -> bool:
    """Send a group to a process; return whether it compiled the group."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        print(json.dumps(group), file=process.stdin, flush=True)
    return process.stdout.readline().strip() == "done"


def _last_words(process: subprocess.Popen[str], words: IO[str]) -> str:
    """Wait until a process ends, and return its error output."""
    process.communicate()
    words.seek(0)
    return words.read().strip()


def _serve(function: str) -> None:
    """Execute the calls from standard input; redirect all output to the standard error stream."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # exit handlers clean up
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    module, _, name = function.partition(":")
    compile_group = getattr(importlib.import_module(module), name)
    for line in sys.stdin:
        try:
            compile_group(*json.loads(line))
        except BackendError as error:
            sys.exit(str(error))
        print("done", file=answers, flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
