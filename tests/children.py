"""Work in forked children, and programs that a terminal shows."""

from __future__ import annotations

import os
import pty
import subprocess
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress


def in_child(work: Callable[[], None]) -> None:
    """Do work in a forked child, and see that it ends well."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def shown_on_a_terminal(
    command: Sequence[str], *, output: bool = False, env: Mapping[str, str] | None = None
) -> str:
    """Run a command with a terminal as standard error, and return what that gets.

    With `output` the terminal is standard output, too.
    """
    terminal, end = pty.openpty()
    shown = b""
    out = end if output else subprocess.DEVNULL
    with subprocess.Popen(command, stdout=out, stderr=end, env=env) as process:
        os.close(end)
        with suppress(OSError):  # at the end Linux tells of an error
            while chunk := os.read(terminal, 1 << 16):
                shown += chunk
    os.close(terminal)
    assert process.returncode == 0
    return shown.decode()
