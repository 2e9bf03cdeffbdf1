"""Weights of vertices in files: a line for each vertex, or an array."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.io.archive import read_array
from jetpy.io.compression import open_input, split_name
from jetpy.io.pairs import read_table
from jetpy.io.text import first_line, read_rows

MOST_COLUMNS = 64
"""Weights of a vertex, in text."""


def read_vertex_weights(path: str | os.PathLike[str], n: int) -> npt.NDArray[Any]:
    """Read the weights of n vertices, shape (n,); or several of each, shape (n, c).

    A file ``.npy`` holds such an array; any other has a line for each vertex, with a number or
    more, between blanks or commas.

    Raises
    ------
    FileFormatError
        When the file is not of that format, or for another number of vertices.
    JetpyError
        When it cannot be read.
    """
    with open_input(path) as stream:
        if split_name(path)[1] == ".npy":
            weights = read_array(stream)
        else:
            head = first_line(stream)
            rows = read_rows(stream, head=head, comments=b"#%", comma=True, decimals=True)
            weights = read_table(rows, tuple(range(1, MOST_COLUMNS + 1))).columns
            weights = weights[:, 0] if weights.shape[1] == 1 else weights
        if weights.ndim not in (1, 2) or len(weights) != n:
            raise FileFormatError(
                f"weights of {n} vertices are needed, not an array of shape {weights.shape}"
            )
    if weights.dtype.kind == "f" and (weights == np.rint(weights)).all():
        return weights.astype(np.int64)
    return weights
