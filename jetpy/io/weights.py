"""Weights of vertices in files: a line for each vertex, or an array."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, MissingFileError, OptionError
from jetpy.graph.csr import MAX_WEIGHT
from jetpy.graph.scaling import weights_of
from jetpy.graph.validate import VERTEX_WEIGHTS, Naming
from jetpy.io.archive import read_array
from jetpy.io.compression import open_input, split_name
from jetpy.io.pairs import read_table
from jetpy.io.text import LineNumbers, are_no_integers, first_line, read_rows
from jetpy.problem.multiconstraint import checked_weights

MAX_COLUMNS = 64
"""Weights of a vertex, in text."""


class _Lines(Naming):
    """Names vertices and the lines that they stand on."""

    def __init__(self, lines: LineNumbers) -> None:
        self.lines = lines

    def vertex(self, v: int) -> str:
        """Name of vertex `v`."""
        return f"{super().vertex(v)} on line {self.lines[v]}"


def read_vertex_weights(
    path: str | os.PathLike[str], n: int, *, scale: bool = False
) -> npt.NDArray[Any]:
    """Read the weights of n vertices, shape (n,); or several of each, shape (n, c).

    A file ``.npy`` holds such an array; any other has a line for each vertex, with a number or
    more, between blanks or commas.

    Parameters
    ----------
    path : path
    n : int
    scale : bool
        Whether single weights may be any positive numbers, which are then to be scaled.

    Returns
    -------
    int32, shape (n,) or (n, c); or float64, shape (n,), if they may be scaled

    Raises
    ------
    FileFormatError
        When the file is not of that format, or for another number of vertices, or a weight breaks
        a rule. The message names the file, and the line where there is one.
    JetpyError
        When it cannot be read.
    """
    with open_input(path) as stream:
        weights, naming = _numbers(path, stream)
        if weights.ndim not in (1, 2) or len(weights) != n:
            raise FileFormatError(
                f"weights of {n} vertices are needed, not an array of shape {weights.shape}"
            )
        weights = _whole_if_all_are(weights)
        if weights.ndim == 2:
            return checked_weights(weights, n, naming)
        return weights_of(weights, n, VERTEX_WEIGHTS, naming.vertex, scale=scale)


def _whole_if_all_are(weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return fractions that are all whole numbers as integers, which messages show as such."""
    if weights.dtype.kind != "f" or are_no_integers(weights, -MAX_WEIGHT, MAX_WEIGHT).any():
        return weights
    return weights.astype(np.int64)


def _numbers(path: str | os.PathLike[str], stream: BinaryIO) -> tuple[npt.NDArray[Any], Naming]:
    """Return the numbers of a file as they are, and how to name vertices."""
    if split_name(path)[1] == ".npy":
        return read_array(stream), Naming()
    head = first_line(stream)
    rows = read_rows(stream, head=head, comments=b"#%", comma=True, decimals=True)
    columns, lines = read_table(rows, tuple(range(1, MAX_COLUMNS + 1)))
    return columns[:, 0] if columns.shape[1] == 1 else columns, _Lines(lines)


def read_targets(text: str) -> npt.NDArray[np.float64]:
    """Return targets from text such as ``2:1:1:1``, or from the file that it names.

    A file has a number a line, or is a ``.npy`` array.

    Raises
    ------
    OptionError
        If the text is neither.
    MissingFileError
        If it has no colon and is not a number, and no file has that name.
    """
    path = Path(text)
    try:
        if not path.is_file():
            return np.array([float(number) for number in text.split(":")])
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False), np.float64)
        return np.array([float(line) for line in path.read_text().split()])
    except (ValueError, OSError) as error:
        is_name = bool(text) and not path.is_file() and ":" not in text
        kind = MissingFileError if is_name else OptionError
        raise kind(
            f"targets {text!r} are neither numbers such as 2:1:1:1 nor a file of them: {error}"
        ) from None
