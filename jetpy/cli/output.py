"""Output files: checked before the work starts, and written atomically."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from jetpy.io.atomic import atomic_write

STDOUT = Path("-")


class _OnlyTryingError(Exception):
    """Ends a trial write, so that no file changes."""


def check_outputs(
    outputs: Iterable[Path | None] = (),
    json_file: Path | None = None,
    inputs: Iterable[Path | None] = (),
    parts: Path | None = None,
) -> None:
    """Check that output files can be written, before the work starts.

    Parameters
    ----------
    outputs : iterable of path or None
        Files to write.
    json_file : path, optional
        Further file to write, or standard output.
    inputs : iterable of path or None
        Files that no output may replace.
    parts : path, optional
        Further file to write, with a partition.

    Raises
    ------
    UsageError
        If two of the files are the same, a file other than `json_file` is standard output, or the
        suffix of `parts` belongs to a format that does not hold partitions.
    JetpyError
        If a file cannot be written.
    """
    taken = {os.path.realpath(path) for path in inputs if path is not None}
    for path in [parts, *outputs, None if json_file == STDOUT else json_file]:
        if path is None:
            continue
        if path == STDOUT:
            raise click.UsageError(
                "'-' (standard output) is allowed for --json only; give a file name"
            )
        target = os.path.realpath(path)
        if target in taken:
            raise click.UsageError(f"{path} is given twice; each output needs its own file")
        taken.add(target)
        if path is parts:
            from jetpy.io.parts import check_parts_name

            check_name(path, check_parts_name)
        _try_to_open(path)


def check_name(path: Path, check: Callable[[Path], None]) -> None:
    """Check the suffix of a file by a function that raises a FileFormatError.

    Raises
    ------
    UsageError
        If the function raises.
    """
    from jetpy.errors import FileFormatError

    try:
        check(path)
    except FileFormatError as error:
        raise click.UsageError(str(error)) from error


def _try_to_open(path: Path) -> None:
    if path.is_fifo() or path.is_char_device():
        return  # a process at the other end could notice
    from jetpy.io.compression import open_output

    try:
        with open_output(path):
            raise _OnlyTryingError
    except _OnlyTryingError:
        pass


@contextlib.contextmanager
def standard_output_kept() -> Iterator[None]:
    """Redirect output of libraries from standard output to standard error in the block."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of them is closed
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` to a file, or to standard output if `path` is ``-``."""
    import json

    text = json.dumps(content, indent=2)
    if path == STDOUT:
        click.echo(text)
    else:
        with atomic_write(path) as stream:
            stream.write(f"{text}\n".encode())
