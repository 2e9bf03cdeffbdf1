"""Write files so that a failure leaves nothing behind and an old file as it was."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from jetpy.errors import JetpyError

_unfinished: set[str] = set()
"""Temporary files that are there, or about to be."""


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes; it changes only when the block ends without an exception.

    The bytes go to a temporary file in the same folder, which then takes the name `path`. On
    any exception, Ctrl-C included, the temporary file is removed. Devices and pipes, which
    cannot be replaced, are written to directly; a symbolic link stays and its target changes.

    Raises
    ------
    JetpyError
        When the operating system refuses: no folder, no permission, no space, ...
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
        raise JetpyError(f"{path}: cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    name = os.fspath(target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp"))
    _unfinished.add(name)  # before the file is there: an interruption may come at any moment
    try:
        with open(name, "xb", opener=_open_private) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    finally:
        _remove(name)


@atexit.register
def remove_unfinished() -> None:
    """Remove all temporary files, for a program that ends in the middle of its work."""
    for name in tuple(_unfinished):
        _remove(name)


def _remove(name: str) -> None:
    with contextlib.suppress(OSError):  # it has its last name, or never came to be
        os.unlink(name)
    _unfinished.discard(name)


os.register_at_fork(after_in_child=_unfinished.clear)  # they belong to the parent


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _mode(target: Path) -> int:
    """Permissions of `target`, or those that a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
