"""Files of vertex weights and targets: one line per vertex, or an array."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, MissingFileError, OptionError
from jetpy.graph.csr import MAX_WEIGHT
from jetpy.graph.scaling import weights_of
from jetpy.graph.validate import Naming, checked_columns
from jetpy.io.archive import read_array
from jetpy.io.compression import open_input, split_name
from jetpy.io.pairs import read_table
from jetpy.io.text import LineNumbers, are_no_integers, first_line, read_rows

MAX_COLUMNS = 64
"""Maximum number of weights per vertex in text files."""
VERTICES = Naming()


class _Lines(Naming):
    """Names of vertices, with their line numbers."""

    def __init__(self, naming: Naming, lines: LineNumbers) -> None:
        self.naming, self.lines = naming, lines
        self.kind, self.kinds = naming.kind, naming.kinds

    def vertex(self, v: int) -> str:
        """Return the name of vertex `v`."""
        return f"{self.naming.vertex(v)} on line {self.lines[v]}"


def read_vertex_weights(
    path: str | os.PathLike[str],
    n: int,
    *,
    scale: bool = False,
    naming: Naming = VERTICES,
) -> npt.NDArray[Any]:
    """Read the weights of n vertices, shape (n,), or several weights per vertex, shape (n, c).

    A ``.npy`` file holds an array of this shape. Any other file has one line per vertex, with one
    or more numbers, separated by blanks or commas.

    Parameters
    ----------
    path : path
    n : int
    scale : bool
        Whether single weights may be any numbers from 0 on, to be scaled later.
    naming : Naming
        Names of the vertices in messages.

    Returns
    -------
    int32, shape (n,) or (n, c); or float64, shape (n,), if `scale`

    Raises
    ------
    FileFormatError
        If the file has another format or another number of vertices, or a weight breaks a rule.
        The message names the file, and the line if the format has lines.
    JetpyError
        If the file cannot be read.
    """
    with open_input(path) as stream:
        weights, naming = _numbers(path, stream, naming)
        if weights.ndim not in (1, 2) or len(weights) != n:
            raise FileFormatError(
                f"the array of weights has shape {weights.shape}; there must be weights of {n} "
                f"{naming.kinds}"
            )
        weights = _whole_if_all_are(weights)
        if weights.ndim == 2:
            return checked_columns(weights, n, naming)
        return weights_of(weights, n, naming.vertex_weights, naming.vertex, scale=scale)


def _whole_if_all_are(weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return floats that all have integer values as int64; messages then show integers."""
    if weights.dtype.kind != "f" or are_no_integers(weights, -MAX_WEIGHT, MAX_WEIGHT).any():
        return weights
    return weights.astype(np.int64)


def _numbers(
    path: str | os.PathLike[str], stream: BinaryIO, naming: Naming
) -> tuple[npt.NDArray[Any], Naming]:
    """Return the numbers in a file unchecked, and the vertex names for messages."""
    if split_name(path)[1] == ".npy":
        columns = read_array(stream)
    else:
        head = first_line(stream)
        rows = read_rows(stream, head=head, comments=b"#%", comma=True, decimals=True)
        columns, lines = read_table(rows, tuple(range(1, MAX_COLUMNS + 1)))
        naming = _Lines(naming, lines)
    return columns[:, 0] if columns.shape[1:] == (1,) else columns, naming


def read_targets(text: str) -> npt.NDArray[np.float64]:
    """Return targets from text such as ``2:1:1:1``, or from a file: see `read_of_parts`."""
    return np.atleast_1d(read_of_parts(text, "targets"))


def read_of_parts(text: str, what: str) -> npt.NDArray[np.float64]:
    """Return numbers, one for each part, from text such as ``2:1:1:1``, or from a file.

    The text names the file, which has one line per part, with one or several numbers, or is a
    ``.npy`` array. `what` names the numbers in messages. One number has shape (), several shape
    (k,) or (k, c).

    Raises
    ------
    OptionError
        If the text is neither.
    MissingFileError
        If the text has no colon and is not a number, and the file does not exist.
    """
    path = Path(text)
    try:
        if not path.is_file():
            numbers = [float(number) for number in text.split(":")]
            return np.array(numbers if len(numbers) > 1 else numbers[0])
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False), np.float64)
        rows = [line.split() for line in path.read_text().splitlines() if line.strip()]
        table = np.array(rows, np.float64)
        return table[:, 0] if table.shape[1:] == (1,) else table
    except (ValueError, OSError) as error:
        is_name = bool(text) and not path.is_file() and ":" not in text
        kind = MissingFileError if is_name else OptionError
        raise kind(
            f"{what} is {text!r}, which is neither a file nor numbers such as 2:1:1:1: {error}"
        ) from None
