"""Distributed reading of files in ParHiP's binary format (`jetpy.io.parhip`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, cannot_read
from jetpy.io.parhip import HEADER, layout

SUFFIXES = ".parhip", ".bgf"


def arrays_of(path: Path) -> dict[str, Any]:
    """Return the memory-mapped arrays of a graph, with the names of `jetpy.io.npz`.

    Raises
    ------
    JetpyError
        If the file cannot be read, or is shorter than its header says.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            listed = layout(stream.read(HEADER))
    except OSError as error:
        raise cannot_read(path, error) from error
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    arrays: dict[str, Any] = {}
    place = HEADER
    for name, (length, kind) in listed.items():
        end = place + length * kind.itemsize
        if end > size:
            raise FileFormatError(
                f"{path}: the file has {size} bytes, but {name} of {listed['indptr'][0] - 1} "
                f"vertices would end at byte {end}"
            )
        is_empty = length == 0  # which cannot be mapped
        arrays[name] = (
            np.zeros(0, kind) if is_empty else np.memmap(path, kind, "r", place, (length,))
        )
        place = end
    start = HEADER + arrays["indptr"].nbytes
    arrays["indptr"] = _Places(arrays["indptr"], start, listed["indices"][1].itemsize)
    return arrays


class _Places:
    """Byte offsets of neighbours, converted to indices of entries on access."""

    def __init__(self, places: npt.NDArray[Any], start: int, width: int) -> None:
        self._places, self._start, self._width = places, start, width

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, at: Any) -> Any:
        return (self._places[at].astype(np.int64) - self._start) // self._width
