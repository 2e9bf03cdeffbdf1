"""Progress reports of a run, and bars that show them.

Bars are drawn in a terminal, on standard error, or in a notebook.
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from jetpy.errors import OptionError

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total)."""
ProgressOption = Progress | bool | None
"""A callback, or True for bars; False and None show nothing."""

STAGES = {
    "read": "Reading",
    "compile": "Compiling kernels",
    "coarsen": "Coarsening",
    "refine": "Refining",
    "evolve": "Recombining",
    "order": "Ordering",
    "graphs": "Partitioning",
    "study": "Running",
}
"""Label of each stage's bar."""
PAUSE = 0.1
"""Seconds between updates in a notebook; each update is a message to the browser."""
SOON = 1.0
"""Seconds of a stage before its duration is estimated."""


_TERMINAL = threading.Lock()
"""Held by the bars that are being drawn."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


class Screen(Protocol):
    """A display of bars."""

    def add(self, what: str) -> None:
        """Add a bar, and fill the previous ones."""

    def update(self, what: str, done: int, total: int | None, end: float | None) -> None:
        """Show `done` of `total` steps of a bar, and the expected end, if known.

        If `total` is None, show activity without a fraction. `end` is on the clock of
        `time.monotonic`.
        """


def expected_end(began: float, now: float, done: int, left: int) -> float | None:
    """Estimate the end of `left` more steps if `done` steps took from `began` to `now`.

    None if an estimate would be unreliable.

    >>> expected_end(100.0, 106.0, 3, 10)
    126.0
    """
    if now - began < SOON or done <= 0 or left <= 0:
        return None
    return now + (now - began) * left / done


def time_left(seconds: float) -> str:
    """Return the label for the remaining time; empty if it is negative.

    >>> time_left(20.0), time_left(1800.0), time_left(-1.0)
    ('20 s left', '30 min left', '')
    """
    if seconds < 0:
        return ""
    if seconds < 100:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left" if seconds < 6000 else f"{seconds / 3600:.1f} h left"


class Bars:
    """One bar per stage, in order of their start.

    Parameters
    ----------
    screen : Screen, optional
        Without it, nothing is shown.
    """

    def __init__(self, screen: Screen | None = None) -> None:
        self._screen = screen
        self._begun: dict[str, tuple[float, int]] = {}

    def read(self, fraction: float) -> None:
        """Show the fraction of a file that has been read."""
        self.stage("read", round(1000 * fraction), 1000)

    def stage(self, name: str, done: int, total: int) -> None:
        """Show `done` of `total` steps of a stage; earlier stages are complete."""
        self._show(STAGES[name], done, total)

    def busy(self, what: str) -> None:
        """Show that work of unknown duration has begun."""
        self._show(what, 0, None)

    def _show(self, what: str, done: int, total: int | None) -> None:
        if self._screen is None:
            return
        now = time.monotonic()
        if what not in self._begun:
            self._begun[what] = now, done
            self._screen.add(what)
        began, first = self._begun[what]
        end = None if total is None else expected_end(began, now, done - first, total - done)
        self._screen.update(what, done, total, end)


@contextlib.contextmanager
def telling(progress: ProgressOption) -> Iterator[Progress]:
    """Yield the progress callback for a caller's `progress` option.

    Raises
    ------
    OptionError
        If the option is neither callable nor True, False or None.
    """
    if progress is True:
        with progress_bars() as bars:
            yield bars.stage
    elif progress is None or progress is False:
        yield no_progress
    elif callable(progress):
        yield progress
    else:
        raise OptionError(
            f"progress is {progress!r}; progress must be True, False, None or a function"
        )


@contextlib.contextmanager
def progress_bars(*, quiet: bool = False) -> Iterator[Bars]:
    """Show bars while the block runs, in a notebook or a terminal; none if `quiet`.

    Elsewhere, one line reports that kernels are compiled. A terminal shows the bars of one thread
    at a time, the first to start.
    """
    with contextlib.ExitStack() as stack:
        screen: Screen | None = None
        if not quiet and _in_notebook():
            screen = stack.enter_context(_notebook())
        elif not quiet and sys.stderr and sys.stderr.isatty() and _TERMINAL.acquire(blocking=False):
            stack.callback(_TERMINAL.release)
            screen = stack.enter_context(_terminal())
        if quiet or screen is not None:
            from jetpy.engines.workers import without_announcement

            stack.enter_context(without_announcement())
        yield Bars(screen)


class _Terminal:
    """Bars drawn by rich."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._tasks: dict[str, Any] = {}

    def add(self, what: str) -> None:
        for task in self._tasks.values():
            self._progress.update(task, total=1, completed=1, end=None)
        self._tasks[what] = self._progress.add_task(what, total=None, end=None)

    def update(self, what: str, done: int, total: int | None, end: float | None) -> None:
        self._progress.update(self._tasks[what], completed=done, total=total, end=end)


@contextlib.contextmanager
def _terminal() -> Iterator[_Terminal]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class TimeLeftColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            end = task.fields["end"]
            return Text("" if end is None else time_left(end - time.monotonic()))

    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TimeLeftColumn(),
    )
    with Progress(
        *columns,
        console=Console(file=sys.stderr),  # also while others' output is redirected
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as progress:
        yield _Terminal(progress)


class _Notebook:
    """Bars as plain HTML elements, because rich would need ipywidgets."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._handle = display(HTML(""), display_id=True)
        self._bars: dict[str, tuple[int, int | None, str]] = {}
        self._drawn = -math.inf

    def add(self, what: str) -> None:
        self._bars = dict.fromkeys(self._bars, (1, 1, ""))
        self._drawn = -math.inf

    def update(self, what: str, done: int, total: int | None, end: float | None) -> None:
        left = "" if end is None else time_left(end - time.monotonic())
        self._bars[what] = done, total, left
        if time.monotonic() - self._drawn > PAUSE:
            from html import escape

            lines = (
                f"<div>{_element(done, total)} {escape(name)} {left}</div>"
                for name, (done, total, left) in self._bars.items()
            )
            self._handle.update(self._html("".join(lines)))
            self._drawn = time.monotonic()

    def clear(self) -> None:
        self._handle.update(self._html(""))


@contextlib.contextmanager
def _notebook() -> Iterator[_Notebook]:
    screen = _Notebook()
    try:
        yield screen
    finally:
        screen.clear()


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console().is_jupyter


def _element(done: int, total: int | None) -> str:
    return (
        "<progress></progress>"
        if total is None
        else f'<progress value="{done}" max="{total}"></progress>'
    )
