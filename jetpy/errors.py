"""Every error that jetpy raises on purpose.

All of them derive from `JetpyError`, so ``except jetpy.JetpyError`` catches what a caller can
act on; anything else that escapes is a defect.
"""

from __future__ import annotations

import os
from errno import ENOENT


class JetpyError(Exception):
    """Base of all errors that jetpy raises on purpose."""


class GraphError(JetpyError, ValueError):
    """A graph breaks a rule: not symmetric, a self-loop, a weight out of range, ..."""


class FileFormatError(GraphError):
    """A file cannot be read as the format it claims to be; the message names file and line."""


class MissingFileError(JetpyError, FileNotFoundError):
    """A file that is to be read does not exist; also a `FileNotFoundError`."""

    errno = ENOENT


class OptionError(JetpyError, ValueError):
    """An option is out of range or unknown: k < 1, imbalance < 0, no such preset, ..."""


class BackendError(JetpyError, RuntimeError):
    """A back end is missing, does not work on this machine, or failed to compile a kernel."""


class OutOfMemoryError(BackendError, MemoryError):
    """A GPU has too little memory; the message says how large a graph would have fitted."""


def cannot_read(path: str | os.PathLike[str], error: OSError) -> JetpyError:
    """Return the error to raise where the operating system refuses to read a file, and why."""
    kind = MissingFileError if isinstance(error, FileNotFoundError) else JetpyError
    return kind(f"{os.fspath(path)}: cannot be read: {error.strerror}")


def check_exists(path: str | os.PathLike[str]) -> None:
    """Refuse the path of a file or folder that does not exist.

    Raises
    ------
    MissingFileError
    """
    try:
        os.stat(path)
    except FileNotFoundError as error:
        raise cannot_read(path, error) from error
