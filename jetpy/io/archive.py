"""NumPy's .npy and .npz files, read from untrusted sources.

Nothing is unpickled. Memory grows with the bytes read, not with the sizes in a header.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.engines.threads import fork_safe_lock
from jetpy.errors import FileFormatError
from jetpy.graph.csr import INT32_MAX
from jetpy.io.limits import max_unpacked

ARCHIVE = b"PK"
"""First bytes of an archive."""
PIECE = 1 << 20  # bytes
MAX_AXES = 8

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_parsing = fork_safe_lock()
"""NumPy parses headers by `ast`, which may fail in several threads at once before Python 3.11.9 and
3.12.3 (CPython issue 106905)."""


def read_array(stream: Any, room: float = math.inf) -> npt.NDArray[Any]:
    """Read an array in the format of `numpy.save`, up to the end of the stream.

    Parameters
    ----------
    stream : binary stream
    room : float
        Maximum size of the array in bytes.

    Raises
    ------
    FileFormatError
        If the stream is not an array, holds Python objects, or is shorter or longer than its
        header says.
    """
    shape, by_columns, dtype = _read_header(stream)
    if len(shape) > MAX_AXES or not all(0 <= d <= INT32_MAX for d in shape) or not dtype.itemsize:
        raise FileFormatError(f"an array cannot have shape {shape} and type {dtype}")
    size = math.prod(shape) * dtype.itemsize
    if size > room:
        raise FileFormatError(
            f"an array needs {size} bytes, which is more than a file of this size can contain"
        )
    content = read_exactly(stream, size, "an array")
    if stream.read(1):
        raise FileFormatError(f"an array should have {size} bytes, but has more")
    flat = np.frombuffer(content, dtype, math.prod(shape))
    return flat.reshape(shape, order="F" if by_columns else "C")


def map_array(path: Path, offset: int = 0) -> npt.NDArray[Any]:
    """Return a memory-mapped, read-only array whose header begins at a byte of a file.

    Raises
    ------
    FileFormatError
        If there is no array, it holds Python objects, or the file is too short.
    """
    with path.open("rb") as stream:
        stream.seek(offset)
        shape, by_columns, dtype = _read_header(stream)
        if 0 in shape:
            return np.zeros(shape, dtype)
        try:
            return np.memmap(stream, dtype, "r", stream.tell(), shape, "F" if by_columns else "C")
        except ValueError as error:
            raise FileFormatError(f"the array is cut short: {error}") from error


def read_exactly(stream: Any, size: int, what: str) -> bytearray:
    """Read `size` bytes of a stream, allocating memory as they arrive.

    Raises
    ------
    FileFormatError
        If the stream is shorter.
    """
    content = bytearray()
    while piece := stream.read(min(PIECE, size - len(content))):
        content += piece
    if len(content) < size:
        raise FileFormatError(f"{what} should have {size} bytes, but there are only {len(content)}")
    return content


def _read_header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape of an array, whether it is in Fortran order, and its dtype."""
    try:
        with _parsing:
            shape, by_columns, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
    except (MemoryError, OSError, zipfile.BadZipFile):
        raise
    except Exception as error:  # damaged headers make NumPy raise all kinds
        raise FileFormatError(f"this is not a NumPy array: {error}") from error
    if dtype.hasobject:
        raise FileFormatError("jetpy does not load arrays of Python objects (allow_pickle=False)")
    return shape, by_columns, dtype


def names_in_archive(stream: BinaryIO) -> set[str]:
    """Return the names of the arrays in an archive; an empty set if it cannot be read."""
    content = stream if stream.seekable() else io.BytesIO(stream.read())
    try:
        with zipfile.ZipFile(content) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except MemoryError:
        raise
    except Exception:  # as below
        return set()


def write_archive(stream: BinaryIO, **arrays: npt.ArrayLike) -> None:
    """Write arrays in the format of `numpy.savez`, also to a stream that cannot seek."""
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    stream.write(content.getbuffer())


def read_archive(stream: BinaryIO, what: str) -> dict[str, npt.NDArray[Any]]:
    """Read all arrays of an archive in the format of `numpy.savez`.

    `what` describes the expected file in messages.

    Raises
    ------
    FileFormatError
        If the stream is not an archive, is truncated or damaged, or an array is refused.
    """
    content = stream if stream.seekable() else io.BytesIO(stream.read())
    if not zipfile.is_zipfile(content):
        raise FileFormatError(f"this is not {what}, or it is cut short")
    room = max_unpacked(content.seek(0, io.SEEK_END))
    arrays: dict[str, npt.NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(content) as archive:
            for member in archive.infolist():
                with archive.open(member) as file:
                    array = read_array(file, room)
                room -= array.nbytes
                arrays[member.filename.removesuffix(".npy")] = array
    except MemoryError:
        raise
    except Exception as error:  # damaged archives make zipfile raise all kinds
        raise FileFormatError(f"the archive cannot be read: {error}") from error
    return arrays
