"""Files of vertex coordinates: one line per vertex, or an array."""

from __future__ import annotations

import os

from jetpy.graph.coordinates import Coordinates, checked_coordinates
from jetpy.io.archive import read_array
from jetpy.io.compression import open_input, split_name
from jetpy.io.pairs import read_table
from jetpy.io.text import first_line, read_rows


def read_coordinates(path: str | os.PathLike[str], n: int) -> Coordinates:
    """Read the coordinates of n vertices, shape (n, 2) or (n, 3).

    A ``.npy`` file holds an array of this shape. Any other file has one line per vertex, with x, y
    and optionally z, separated by blanks or commas.

    Raises
    ------
    FileFormatError
        If the file has another format, or another number of vertices.
    JetpyError
        If the file cannot be read.
    """
    with open_input(path) as stream:
        if split_name(path)[1] == ".npy":
            return checked_coordinates(read_array(stream), n)
        head = first_line(stream)
        rows = read_rows(stream, head=head, comments=b"#%", comma=True, decimals=True)
        return checked_coordinates(read_table(rows, (2, 3)).columns, n)
