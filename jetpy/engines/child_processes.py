"""Child processes, none of which is left when the work is given up."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

PATIENCE = 0.3
"""Seconds that processes have to end by themselves when the work is given up."""


class ChildProcesses:
    """Running processes; when the work is given up, all are ended and none starts any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[str]] = []
        self._given_up = False

    @contextmanager
    def start(self, command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
        """Start a process in a session of its own; after the block, wait for its end.

        If the block raises an exception, the process is ended with all that it has started.
        Standard output is a pipe; `options` are further ones of `subprocess.Popen`.

        Raises
        ------
        OSError
            If it cannot be started, or the work has been given up.
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
        """End all processes."""
        with self._lock:
            self._given_up = True
            running = [process for process in self._running if process.poll() is None]
        _end(running)


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """End processes and those that they have started, by force where it takes long."""
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
