"""Exceptions that jetpy raises deliberately, and numbers in messages.

All derive from `JetpyError`, so ``except jetpy.JetpyError`` catches every error that a caller can
handle. Python raises others itself: TypeError or AttributeError if an argument has the wrong type
or is missing, MemoryError if the memory of the host is full, and KeyboardInterrupt.
"""

from __future__ import annotations

import os
from errno import ENOENT


class JetpyError(Exception):
    """Base class of all errors that jetpy raises deliberately."""


class GraphError(JetpyError, ValueError):
    """A graph breaks a rule: not symmetric, a self-loop, a weight out of range, ..."""


class FileFormatError(GraphError):
    """A file does not match its format; the message names the file and the line."""


class MissingFileError(JetpyError, FileNotFoundError):
    """An input file does not exist; also a `FileNotFoundError`."""

    errno = ENOENT


class OptionError(JetpyError, ValueError):
    """An option is out of range or unknown: k < 1, imbalance < 0, no such preset, ..."""


class BackendError(JetpyError, RuntimeError):
    """A back end is missing, does not work on this machine, or failed to compile a kernel."""


class OutOfMemoryError(BackendError, MemoryError):
    """A GPU, or a machine, has too little memory; the message says how much is available.

    ``except MemoryError`` also catches it, and so handles a full GPU and a full host alike.
    """


def count(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural.

    >>> count(1, "thread"), count(2, "thread")
    ('1 thread', '2 threads')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cannot_read(path: str | os.PathLike[str], error: OSError) -> JetpyError:
    """Return the exception for a file that the operating system cannot read."""
    kind = MissingFileError if isinstance(error, FileNotFoundError) else JetpyError
    return kind(f"{os.fspath(path)}: cannot be read: {error.strerror}")


def check_exists(path: str | os.PathLike[str]) -> None:
    """Check that a file or folder exists.

    Raises
    ------
    MissingFileError
        If it does not.
    """
    try:
        os.stat(path)
    except FileNotFoundError as error:
        raise cannot_read(path, error) from error
