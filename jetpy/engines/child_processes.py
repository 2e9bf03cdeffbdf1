"""Child processes: the command of a module, and an end of all processes when work is given up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PATIENCE = 0.3
"""Seconds between SIGTERM and SIGKILL."""
_ROOT = Path(__file__).parents[2]
"""Folder that contains the package jetpy."""


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of jetpy in this Python.

    The module does not import anything from the working directory, where a folder could hide an
    installed package: a clone of PyKokkos hides PyKokkos. The exception is the folder of jetpy
    itself, because jetpy need not be installed there.
    """
    options = [] if _ROOT.samefile(Path()) else ["-P"]
    return [sys.executable, *options, "-m", module, *arguments]


def answer_of(
    module: str, *arguments: str, timeout: float | None = None
) -> tuple[dict[str, Any] | None, str]:
    """Run a module of jetpy in a child process; return its answer, and why there is none.

    The answer is the JSON object on the last line of its standard output, or None; the reason is
    empty if there is an answer.

    Raises
    ------
    subprocess.TimeoutExpired
        If the process does not end within `timeout` seconds.
    """
    command = module_command(module, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    with suppress(IndexError, ValueError):
        answer = json.loads(done.stdout.splitlines()[-1])
        if isinstance(answer, dict):
            return answer, ""
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return None, ": ".join([_end_of(done.returncode), *last])


def _end_of(code: int) -> str:
    return f"ended with code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"


class ChildProcesses:
    """Running child processes. `give_up` ends all of them and prevents new ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[str]] = []
        self._given_up = False

    @contextmanager
    def start(self, command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
        """Start a process in a new session; after the block, wait until it ends.

        If the block raises an exception, end the process and all that it has started. Standard
        output is a pipe. `options` are passed to `subprocess.Popen`.

        Raises
        ------
        OSError
            If the process cannot be started, or the work has been given up.
        """
        with self._lock:
            if self._given_up:
                raise OSError("interrupted")
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, start_new_session=True, **options
            )
            self._running.append(process)
        try:
            with process:
                try:
                    yield process
                except BaseException:
                    _end([process])
                    raise
        finally:
            with self._lock:
                self._running.remove(process)

    def give_up(self) -> None:
        """End all processes; `start` raises from now on."""
        with self._lock:
            self._given_up = True
            running = [process for process in self._running if process.poll() is None]
        _end(running)


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """End processes and all that they have started, by SIGKILL after `PATIENCE` seconds."""
    latest = time.monotonic() + PATIENCE
    for process in processes:
        _signal_group(process, signal.SIGTERM)
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0, latest - time.monotonic()))
        _signal_group(process, signal.SIGKILL)


def _signal_group(process: subprocess.Popen[str], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
