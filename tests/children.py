"""Forked child processes, and programs that run on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress


def run_in_child(work: Callable[[], None]) -> None:
    """Run `work` in a forked child and check that it succeeds."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def output_on_terminal(
    command: Sequence[str], *, output: bool = False, env: Mapping[str, str] | None = None
) -> str:
    """Run a command with a terminal as standard error and return the output on it.

    With `output`, the terminal is standard output, too.
    """
    terminal, end = pty.openpty()
    shown = b""
    out = end if output else subprocess.DEVNULL
    with subprocess.Popen(command, stdout=out, stderr=end, env=env) as process:
        os.close(end)
        with suppress(OSError):  # Linux raises an error at the end
            while chunk := os.read(terminal, 1 << 16):
                shown += chunk
    os.close(terminal)
    assert process.returncode == 0
    return shown.decode()
