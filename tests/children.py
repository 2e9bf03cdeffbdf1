"""Child processes: forked ones, Python code, and programs that run on a terminal."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
"""The program that starts several MPI processes, preferably that of this environment."""


def run_python(
    code: str, *arguments: str, check: bool = True, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run Python code in a new process; `options` are those of `subprocess.run`."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=check, **options)


def ensure(condition: object) -> None:
    """Assert a condition in a lambda that runs in a child."""
    assert condition


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
