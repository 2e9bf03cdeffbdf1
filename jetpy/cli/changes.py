"""Lines on standard error about changes to a graph while it was read."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

import click


@contextlib.contextmanager
def changes_told(*, quiet: bool = False) -> Iterator[None]:
    """Print, after the block, how weights were scaled and, unless `quiet`, graphs repaired."""
    level = logging.WARNING if quiet else logging.INFO
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
    """Collects log messages."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store a message."""
        self.lines.append(record.getMessage())
