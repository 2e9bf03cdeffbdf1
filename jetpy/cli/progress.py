"""Progress bars on standard error, for those who watch; and lines on what reading changed."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

STAGES = {
    "read": "Reading",
    "compile": "Compiling kernels",
    "coarsen": "Coarsening",
    "refine": "Refining",
    "evolve": "Recombining",
}
"""What a stage's bar is called."""


class Bars:
    """One bar per stage, in the order in which the stages begin.

    Parameters
    ----------
    progress : rich Progress, optional
        Without it, nothing is shown.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def read(self, fraction: float) -> None:
        """Show how much of a file has been read."""
        self.stage("read", round(1000 * fraction), 1000)

    def stage(self, name: str, done: int, total: int) -> None:
        """Show `done` of `total` steps of a stage; the stages before it are over."""
        self._show(STAGES[name], done, total)

    def busy(self, what: str) -> None:
        """Show that something of unknown length has begun."""
        self._show(what, 0, None)

    def _show(self, what: str, done: int, total: int | None) -> None:
        if self._progress is None:
            return
        if what not in self._tasks:
            for task in self._tasks.values():
                self._progress.update(task, total=1, completed=1)
            self._tasks[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._tasks[what], completed=done, total=total)


@contextlib.contextmanager
def progress_bars(*, quiet: bool = False) -> Iterator[Bars]:
    """Show bars while the block runs; none if `quiet` or standard error is no terminal.

    Where there is no terminal, one line tells that kernels are compiled. After the block, others
    tell how graphs were repaired and weights scaled; if `quiet`, the latter alone.
    """
    with _changes_told(logging.WARNING if quiet else logging.INFO), _bars(quiet) as bars:
        yield bars


@contextlib.contextmanager
def _bars(quiet: bool) -> Iterator[Bars]:
    if quiet:
        with _nothing_said():
            yield Bars()
        return
    if not (sys.stderr and sys.stderr.isatty()):
        yield Bars()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with (
        _nothing_said(),
        Progress(
            *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
        ) as progress,
    ):
        yield Bars(progress)


@contextlib.contextmanager
def _changes_told(level: int) -> Iterator[None]:
    """Print what was changed in graphs as they were read, in the end."""
    logger = logging.getLogger("jetpy.input")
    changes = _Kept(level)
    before = logger.level
    logger.setLevel(level)
    logger.addHandler(changes)
    try:
        yield
    finally:
        logger.removeHandler(changes)
        logger.setLevel(before)
        for line in changes.lines:
            click.echo(line, err=True)


class _Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one message."""
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def _nothing_said() -> Iterator[None]:
    """Keep back the line that tells that kernels are compiled."""
    logger = logging.getLogger("jetpy.compile")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
