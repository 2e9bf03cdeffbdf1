"""Compiles in several processes, each of which takes the next entry when it is idle.

The processes run this module, not the caller's script, so that it needs no main guard.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from queue import Empty, Queue
from typing import IO

from jetpy.errors import BackendError

Entry = tuple[str, ...]
"""Arguments of the compiling function; the last one is the workunit's name."""

MOST_FAILURES = 3
"""Failures that an error message tells in full."""


@dataclass(frozen=True)
class Compilation:
    """What became of one entry: wall seconds, and the compiler's words if it failed."""

    entry: Entry
    seconds: float
    failure: str | None = None

    @property
    def workunit(self) -> str:
        """Name of the workunit."""
        return self.entry[-1]


_watched: ContextVar[list[Compilation] | None] = ContextVar("watched", default=None)


@contextmanager
def watch_compilations() -> Iterator[list[Compilation]]:
    """Give a list that grows by each workunit that a back end compiles within the block."""
    compilations: list[Compilation] = []
    token = _watched.set(compilations)
    try:
        yield compilations
    finally:
        _watched.reset(token)


def compile_in_parallel(
    function: str, entries: list[Entry], jobs: int, environment: Mapping[str, str] | None = None
) -> Iterator[Entry]:
    """Call a function for each of `entries` in `jobs` processes and yield each when it is over.

    One that fails does not keep the others from being compiled.

    Parameters
    ----------
    function : str
        Where to find it: ``package.module:name``.
    entries : list of tuple of str
        Arguments of each call.
    jobs : int
        Number of processes.
    environment : mapping of str to str, optional
        Environment of the processes; this process's by default.

    Raises
    ------
    BackendError
        At the end, with the compiler's words, if a workunit did not compile.
    """
    todo: Queue[Entry] = Queue()
    done: Queue[Compilation] = Queue()
    for entry in entries:
        todo.put(entry)
    command = [sys.executable, "-m", __name__, function]
    for _ in range(min(jobs, len(entries))):
        threading.Thread(
            target=_drive, args=(command, environment, todo, done), daemon=True
        ).start()
    watched = _watched.get()
    failed: list[Compilation] = []
    try:
        for _ in entries:
            compilation = done.get()
            if watched is not None:
                watched.append(compilation)
            if compilation.failure is not None:
                failed.append(compilation)
            yield compilation.entry
    finally:
        with suppress(Empty):
            while True:
                todo.get_nowait()
    if failed:
        raise BackendError(_explain(failed))


def _explain(failed: list[Compilation]) -> str:
    """Tell which workunits did not compile, and why in the compiler's words."""
    lines = [f"compiling workunit {c.workunit} failed:\n{c.failure}" for c in failed]
    more = [c.workunit for c in failed[MOST_FAILURES:]]
    if more:
        lines[MOST_FAILURES:] = [f"{len(more)} more failed: {', '.join(more)}"]
    return "\n\n".join(lines)


def _drive(
    command: list[str],
    environment: Mapping[str, str] | None,
    todo: Queue[Entry],
    done: Queue[Compilation],
) -> None:
    """Compile until nothing is left to do; a process serves up to its first failure."""
    pipe = subprocess.PIPE
    while (entry := _next(todo)) is not None:
        try:
            with (
                tempfile.TemporaryFile("w+", errors="replace") as words,
                subprocess.Popen(
                    command, stdin=pipe, stdout=pipe, stderr=words, text=True, env=environment
                ) as process,
            ):
                while entry is not None:
                    started = time.perf_counter()
                    failure = None if _compile(process, entry) else _last_words(process, words)
                    done.put(Compilation(entry, time.perf_counter() - started, failure))
                    entry = _next(todo) if failure is None else None
        except OSError as error:  # no process to be had; or, after a failure, a broken pipe
            if entry is not None:
                done.put(Compilation(entry, 0.0, str(error)))


def _next(todo: Queue[Entry]) -> Entry | None:
    with suppress(Empty):
        return todo.get_nowait()
    return None


def _compile(process: subprocess.Popen[str], entry: Entry) -> bool:
    """Let a process compile one entry; return whether it did."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        print(json.dumps(entry), file=process.stdin, flush=True)
    return process.stdout.readline().strip() == "done"


def _last_words(process: subprocess.Popen[str], words: IO[str]) -> str:
    """Return what a process has said, once it has ended."""
    process.wait()
    words.seek(0)
    return words.read().strip()


def _serve(function: str) -> None:
    """Do the calls that come in; whatever they print goes to the standard error stream."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    module, _, name = function.partition(":")
    compile_one = getattr(importlib.import_module(module), name)
    for line in sys.stdin:
        try:
            compile_one(*json.loads(line))
        except BackendError as error:
            sys.exit(str(error))
        print("done", file=answers, flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
