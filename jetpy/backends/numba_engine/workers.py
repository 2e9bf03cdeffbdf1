"""Compiles launchers in several processes, each of which takes the next name when it is idle.

The processes run this module, not the caller's script, so that it needs no main guard.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from queue import Empty, Queue

from jetpy.errors import BackendError

Entry = tuple[str, str]
"""Names of a module of workunits and of a workunit in it."""


def compile_in_parallel(entries: list[Entry], jobs: int) -> Iterator[Entry]:
    """Compile `entries` in `jobs` processes and yield each when it is done.

    Raises
    ------
    BackendError
        With the compiler's words, if a workunit does not compile.
    """
    todo: Queue[Entry] = Queue()
    done: Queue[Entry | BackendError] = Queue()
    for entry in entries:
        todo.put(entry)
    for _ in range(min(jobs, len(entries))):
        threading.Thread(target=_drive, args=(todo, done), daemon=True).start()
    for _ in entries:
        result = done.get()
        if isinstance(result, BackendError):
            raise result
        yield result


def _drive(todo: Queue[Entry], done: Queue[Entry | BackendError]) -> None:
    """Feed one process until nothing is left to do."""
    command = [sys.executable, "-m", __name__]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin and process.stdout and process.stderr
        while True:
            try:
                module, workunit = todo.get_nowait()
            except Empty:
                process.stdin.close()
                return
            print(module, workunit, file=process.stdin, flush=True)
            if process.stdout.readline().strip() != workunit:
                process.stdin.close()
                words = process.stderr.read().strip()
                done.put(BackendError(f"compiling workunit {workunit} failed:\n{words}"))
                return
            done.put((module, workunit))


def _serve() -> None:
    from jetpy.backends.numba_engine.engine import compile_one

    for line in sys.stdin:
        module, workunit = line.split()
        compile_one(module, workunit)
        print(workunit, flush=True)


if __name__ == "__main__":
    _serve()
