"""Distributed reading of files in ParHiP's binary format (`jetpy.io.parhip`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, cannot_read
from jetpy.io.parhip import ABSENT, HEADER, NARROW

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
        header = np.fromfile(path, "<u8", 3)
    except OSError as error:
        raise cannot_read(path, error) from error
    if len(header) < 3 or header[0] >= 64:
        raise FileFormatError(f"{path}: this is not ParHiP's binary format")
    version, n, m = (int(number) for number in header)

    def kind(name: str) -> str:
        return "<u4" if version & NARROW[name] else "<u8"

    lengths = {"indptr": n + 1, "indices": m, "vertex_weights": n, "edge_weights": m}
    arrays: dict[str, Any] = {}
    place = HEADER
    for name, length in lengths.items():
        if version & ABSENT.get(name, 0):
            continue
        end = place + length * int(kind(name)[-1])
        if end > size:
            raise FileFormatError(
                f"{path}: the file has {size} bytes, but {name} of {n} vertices would end at "
                f"byte {end}"
            )
        arrays[name] = (
            np.memmap(path, kind(name), "r", place, (length,))
            if length
            else np.zeros(0, kind(name))
        )
        place = end
    start = HEADER + arrays["indptr"].nbytes
    arrays["indptr"] = _Places(arrays["indptr"], start, int(kind("indices")[-1]))
    return arrays


class _Places:
    """Byte offsets of neighbours, converted to indices of entries on access."""

    def __init__(self, places: npt.NDArray[Any], start: int, width: int) -> None:
        self._places, self._start, self._width = places, start, width

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, at: Any) -> Any:
        return (self._places[at].astype(np.int64) - self._start) // self._width
