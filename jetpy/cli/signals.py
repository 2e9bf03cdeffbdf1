"""The program `jetpy`: the command line, and its reaction to signals.

SIGINT (Ctrl-C), SIGTERM and SIGHUP end the program within a second, at any point of its work.
A handler raises an exception in the main thread. If this takes too long, for example in a compiled
kernel, a second thread ends the program. A signal that is ignored at the start stays ignored. This
module imports very little, so that its handlers are installed before other imports.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

GRACE = 0.5
"""Seconds for the main thread to end after a signal."""
_SHOW_CURSOR = b"\r\x1b[K\x1b[?25h"
"""Terminal sequence that shows the cursor, which progress bars may have hidden."""

_FRAGILE = ("llvmlite",)
"""Packages whose C++ code calls Python and crashes if it raises an exception."""

_received: list[int] = []
"""The first signal received, if any."""
_hurry = threading.Event()
_ending = threading.Lock()
_at_once: list[bool] = []
"""Not empty while a signal must end the program immediately."""


class Stopped(SystemExit):
    """Raised by a signal; a `SystemExit`, so that only cleanup code handles it."""


def main() -> None:
    """Run the command line."""
    try:
        _take_charge()
        from jetpy.cli.main import main as command_line

        command_line(prog_name="jetpy")
    except BaseException as error:  # libraries may convert `Stopped` to another exception
        if _is_from_metis(error):
            _received.append(signal.SIGTERM)
        if not _received:
            _let_go()
            raise
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        _end(_received[0])


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let signals end the program without unwinding, because other processes would wait for it."""
    _at_once.append(True)
    try:
        yield
    finally:
        _at_once.pop()


def _is_from_metis(error: BaseException) -> bool:
    """Return whether METIS failed; while it runs, it turns SIGTERM into an error of its own."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = trace.tb_frame.f_globals.get("__name__") if trace is not None else None
    return isinstance(error, RuntimeError) and where == "pymetis"


def _signals() -> list[signal.Signals]:
    """Return the signals that end the program, except ignored ones."""
    known = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
    return [number for number in known if signal.getsignal(number) != signal.SIG_IGN]


def _take_charge() -> None:
    for number in _signals():
        signal.signal(number, _stop)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()


def _let_go() -> None:
    """Restore the default signal handlers after the work.

    This also skips the last garbage collection, which takes a sixth of the time of a short command.
    """
    gc.freeze()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    for number in _signals():
        signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    """Unwind the main thread; later signals must not interrupt this."""
    if _received:
        return
    _received.append(number)
    sys.unraisablehook = lambda _: None
    if _at_once:
        _hurry.set()
        return
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_FRAGILE):
            _hurry.set()
            return
        frame = frame.f_back
    raise Stopped(128 + number)


def _watch(reader: int) -> None:
    """Wait for a signal, whose number Python's handler writes to a pipe in any thread."""
    number = os.read(reader, 1)[0]
    _hurry.wait(GRACE)
    _end(number)


def _end(number: int) -> None:
    """End the program immediately, without partial files."""
    _ending.acquire()  # never released: the other thread may be about to do the same
    atomic = sys.modules.get("jetpy.io.atomic")
    if atomic is not None:
        atomic.remove_unfinished()
    terminal = _SHOW_CURSOR if os.isatty(2) else b""
    with suppress(OSError):
        os.write(2, terminal + b"jetpy: interrupted\n")
    os._exit(128 + number)
