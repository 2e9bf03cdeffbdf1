"""Distances between PEs: text with one number per level, or a file with a matrix."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, MissingFileError, OptionError
from jetpy.io.archive import read_array


def matrix_file(text: str) -> Path | None:
    """Return the path that `text` names; None if `text` is a list of distances by level."""
    return None if re.fullmatch(r"[\d:\s-]*", text) else Path(text)


def read_distances(text: str) -> str | npt.NDArray[np.int64]:
    """Return text such as ``1:10:100`` unchanged, or the matrix in the file that it names.

    The file is a ``.npy`` array, or text with one row per line and numbers separated by blanks or
    commas.

    Raises
    ------
    OptionError
        If the text has a colon and is neither distances nor the name of a file.
    MissingFileError
        If the text has no colon and the file does not exist.
    FileFormatError
        If the file does not hold a matrix of integers.
    OSError
        If the file cannot be read.
    """
    path = matrix_file(text)
    if path is None:
        return text
    if not path.exists():
        kind = OptionError if ":" in text else MissingFileError
        raise kind(
            f"{text}: this is neither a list of distances such as 1:10:100 nor an existing file"
        )
    try:
        if path.suffix == ".npy":
            with open(path, "rb") as stream:
                matrix = read_array(stream)
        else:
            rows = path.read_text(encoding="utf-8-sig").replace(",", " ").splitlines()
            matrix = np.array([row.split() for row in rows if row.strip()], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise FileFormatError(f"{path}: this is not a matrix of integers ({error})") from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu":
        raise FileFormatError(f"{path}: this is not a matrix of integers")
    return np.asarray(matrix, np.int64)
