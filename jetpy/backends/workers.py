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
from collections.abc import Iterator, Mapping
from contextlib import suppress
from queue import Empty, Queue

from jetpy.errors import BackendError

Entry = tuple[str, ...]
"""Arguments of the compiling function; the last one is the workunit's name."""


def compile_in_parallel(
    function: str, entries: list[Entry], jobs: int, environment: Mapping[str, str] | None = None
) -> Iterator[Entry]:
    """Call a function for each of `entries` in `jobs` processes and yield each when it is done.

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
        With the compiler's words, if a workunit does not compile.
    """
    todo: Queue[Entry] = Queue()
    done: Queue[Entry | BackendError] = Queue()
    for entry in entries:
        todo.put(entry)
    command = [sys.executable, "-m", __name__, function]
    for _ in range(min(jobs, len(entries))):
        threading.Thread(
            target=_drive, args=(command, environment, todo, done), daemon=True
        ).start()
    try:
        for _ in entries:
            result = done.get()
            if isinstance(result, BackendError):
                raise result
            yield result
    finally:
        with suppress(Empty):
            while True:
                todo.get_nowait()


def _drive(
    command: list[str],
    environment: Mapping[str, str] | None,
    todo: Queue[Entry],
    done: Queue[Entry | BackendError],
) -> None:
    """Feed one process until nothing is left to do."""
    pipe = subprocess.PIPE
    with (
        suppress(BrokenPipeError),
        tempfile.TemporaryFile("w+", errors="replace") as words,
        subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=words, text=True, env=environment
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        while True:
            try:
                entry = todo.get_nowait()
            except Empty:
                process.stdin.close()
                return
            with suppress(BrokenPipeError):
                print(json.dumps(entry), file=process.stdin, flush=True)
            if process.stdout.readline().strip() != "done":
                process.wait()
                words.seek(0)
                message = f"compiling workunit {entry[-1]} failed:\n{words.read().strip()}"
                done.put(BackendError(message))
                return
            done.put(entry)


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
