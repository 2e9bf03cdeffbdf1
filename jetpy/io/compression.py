"""Transparent compression: ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` after any other suffix."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from jetpy.errors import FileFormatError, GraphError, JetpyError, cannot_read
from jetpy.io.atomic import atomic_write
from jetpy.io.limits import EXPANSION, max_unpacked
from jetpy.io.zstd import open_zstd

Progress = Callable[[float], None]

_OPENERS: dict[str, Callable[[Any, Any], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": open_zstd,
}

COMPRESSIONS = tuple(_OPENERS)

_BEGINNINGS = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
}
"""First bytes of compressed files."""


def split_name(path: str | os.PathLike[str]) -> tuple[str, str, str]:
    """Split a file name into stem, format suffix and compression suffix.

    The suffixes are in lower case, and empty if absent.

    >>> split_name("meshes/4elt.graph.xz")
    ('4elt', '.graph', '.xz')
    """
    name = Path(path)
    compression = name.suffix.lower()
    if compression not in COMPRESSIONS:
        compression = ""
    else:
        name = name.with_suffix("")
    return name.stem, name.suffix.lower(), compression


@contextlib.contextmanager
def open_input(
    path: str | os.PathLike[str], progress: Progress | None = None
) -> Iterator[io.BufferedReader]:
    """Open a file for reading its decompressed bytes.

    Errors about the contents that the block raises become `FileFormatError`, with the file name
    prepended.

    Parameters
    ----------
    path : path
    progress : function of the fraction read so far, optional
        Called with increasing fractions, at most about a hundred times.

    Raises
    ------
    FileFormatError
        If the file cannot be decompressed, is compressed without the suffix for it, expands to
        more bytes than `limits` allows, or its contents are refused.
    MissingFileError
        If the file does not exist.
    JetpyError
        If the file cannot be read, memory does not suffice, or the package to decompress it is
        missing.
    """
    opener = _OPENERS.get(split_name(path)[2])
    try:
        with contextlib.ExitStack() as stack:
            raw = stack.enter_context(_CountingFile(path, progress))
            stream: Any = stack.enter_context(io.BufferedReader(raw, 1 << 20))
            if opener is None:
                _check_unpacked(stream)
            else:
                unpacked = _Unpacked(stack.enter_context(opener(stream, "rb")), raw)
                stream = stack.enter_context(io.BufferedReader(unpacked, 1 << 20))
            yield stream
    except GraphError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise FileFormatError(f"{path}: damaged or cut short: {error}") from error
    except MemoryError as error:
        raise JetpyError(f"{path}: not enough memory: {error}") from error
    except OSError as error:
        if error.errno is None:  # gzip, bz2 and zstd report damage as an OSError without errno
            raise FileFormatError(f"{path}: damaged or cut short: {error}") from error
        raise cannot_read(path, error) from error


def _check_unpacked(stream: io.BufferedReader) -> None:
    """Refuse a compressed file whose name lacks the compression suffix.

    Raises
    ------
    FileFormatError
        If the first bytes are those of a compressed file.
    """
    beginning = stream.peek(max(map(len, _BEGINNINGS)))
    for magic, suffix in _BEGINNINGS.items():
        if beginning.startswith(magic):
            raise FileFormatError(
                f"this file is compressed, but its name does not end in {suffix}; rename it"
            )


@contextlib.contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes atomically, compressed according to its suffix.

    Raises
    ------
    JetpyError
        If the file cannot be written, or the package to compress it is missing.
    """
    opener = _OPENERS.get(split_name(path)[2])
    with atomic_write(path) as raw:
        if opener is None:
            yield raw
        else:
            with opener(raw, "wb") as stream:
                yield stream


class _CountingFile(io.FileIO):
    """A file that reports the fraction read so far."""

    def __init__(self, path: str | os.PathLike[str], progress: Progress | None) -> None:
        super().__init__(path)
        self._progress = progress
        self.size = os.fstat(self.fileno()).st_size
        self.done = self._reported = 0

    def readinto(self, buffer: Any) -> int | None:
        """Read into `buffer`, counting the bytes."""
        count = super().readinto(buffer)
        self.done += count or 0
        if self._progress is not None and (self.done - self._reported) * 100 > self.size > 0:
            self._reported = self.done
            self._progress(min(1.0, self.done / self.size))
        return count


class _Unpacked(io.RawIOBase):
    """The decompressed bytes of a file, limited in proportion to its size."""

    def __init__(self, stream: Any, packed: _CountingFile) -> None:
        self._stream, self._packed, self._count = stream, packed, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into `buffer`; raise FileFormatError beyond the limit."""
        count: int = self._stream.readinto(buffer)
        self._count += count
        size = max(self._packed.size, self._packed.done)
        if self._count > max_unpacked(size):
            raise FileFormatError(
                f"it unpacks to more than {EXPANSION} times its {size:,} bytes; if this is "
                "intended, unpack it first"
            )
        return count
