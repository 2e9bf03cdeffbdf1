"""Zstandard streams, read and written by the package `zstandard`."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any, BinaryIO

from jetpy.io.packages import optional_package

_PACKED = 1 << 10  # bytes decompressed at a time, which may expand thirty thousand times


def open_zstd(stream: BinaryIO, mode: str) -> Any:
    """Open a binary stream for reading (mode "rb") or writing ("wb") Zstandard frames.

    Raises
    ------
    JetpyError
        If the package is not installed.
    """
    zstandard = optional_package("zstandard", ".zst files")
    return zstandard.open(stream, mode) if mode == "wb" else _Reader(stream, zstandard)


class _Reader(io.RawIOBase):
    """Decompressed bytes; unlike the package's own readers, it detects truncated files."""

    def __init__(self, stream: BinaryIO, zstandard: ModuleType) -> None:
        self._stream, self._zstandard = stream, zstandard
        self._frame: Any = None  # decompressor of the frame that has begun
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into `buffer`; raise OSError if the data are damaged, as `gzip` and `bz2` do."""
        while not self._ready:
            packed = self._packed or self._stream.read(_PACKED)
            if not packed:
                if self._frame is not None:
                    raise OSError("the last Zstandard frame is incomplete")
                return 0
            frame = self._frame or self._zstandard.ZstdDecompressor().decompressobj()
            try:
                self._ready = memoryview(frame.decompress(packed))
            except self._zstandard.ZstdError as error:
                raise OSError(str(error)) from error
            self._packed = frame.unused_data
            self._frame = None if frame.eof else frame
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count
