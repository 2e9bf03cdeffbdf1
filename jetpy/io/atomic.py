"""Atomic writes: a failure leaves no new file, and an existing file unchanged."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from jetpy.errors import JetpyError

_unfinished: set[str] = set()
"""Temporary files that exist or are about to be created."""


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes; it changes only when the block ends without an exception.

    The bytes go to a temporary file in the same folder, which is then renamed to `path`. On any
    exception, Ctrl-C included, the temporary file is removed. Devices and pipes cannot be
    replaced and are written directly. A symbolic link stays, and its target is replaced.

    Raises
    ------
    JetpyError
        If the operating system refuses: the folder, a permission or disk space is missing, ...
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield stream
        else:
            with _replacing(target) as stream:
                yield stream
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: str | os.PathLike[str], error: OSError) -> JetpyError:
    """Return the exception for a file that the operating system cannot write."""
    return JetpyError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}")


@contextlib.contextmanager
def removed_at_exit(name: str) -> Iterator[None]:
    """Remove a temporary file when the block or the program ends."""
    _unfinished.add(name)
    try:
        yield
    finally:
        _remove(name)


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    name = os.fspath(target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp"))
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    with removed_at_exit(name):  # before the file exists: an interruption may occur at any moment
        # 0o666 are the default permissions; reading the umask would affect other threads
        opener = partial(os.open, mode=0o666 if mode is None else 0o600)
        with open(name, "xb", opener=opener) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(name, mode)
        os.replace(name, target)


@atexit.register
def remove_unfinished() -> None:
    """Remove all temporary files; for a program that exits while it writes."""
    for name in tuple(_unfinished):
        _remove(name)


def _remove(name: str) -> None:
    if name in _unfinished:  # not the parent's, in a forked process
        with contextlib.suppress(OSError):  # it has been renamed, or was never created
            os.unlink(name)
        _unfinished.discard(name)


os.register_at_fork(after_in_child=_unfinished.clear)
