"""Write files so that a failure leaves nothing behind and an old file as it was."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from jetpy.errors import JetpyError


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
    descriptor, name = tempfile.mkstemp(".tmp", f".{target.name}.", target.parent)
    try:
        with open(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(descriptor)
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """Permissions of `target`, or those that a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
