"""Coordinates of vertices in files: a line for each vertex, or an array."""

from __future__ import annotations

import os

from jetpy.graph.coordinates import Coordinates, checked_coordinates
from jetpy.io.archive import read_array
from jetpy.io.compression import open_input, split_name
from jetpy.io.pairs import read_table
from jetpy.io.text import first_line, read_rows


def read_coordinates(path: str | os.PathLike[str], n: int) -> Coordinates:
    """Read where n vertices are: numbers of shape (n, 2) or (n, 3).

    A file ``.npy`` holds such an array; any other has a line for each vertex, with x, y and maybe
    z between blanks or commas.

    Raises
    ------
    FileFormatError
        When the file is not of that format, or for another number of vertices.
    JetpyError
        When it cannot be read.
    """
    with open_input(path) as stream:
        if split_name(path)[1] == ".npy":
            return checked_coordinates(read_array(stream), n)
        head = first_line(stream)
        rows = read_rows(stream, head=head, comments=b"#%", comma=True, decimals=True)
        return checked_coordinates(read_table(rows, (2, 3)).columns, n)
