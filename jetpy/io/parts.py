"""Partition files as METIS writes them: line v holds the part of vertex v."""

from __future__ import annotations

import os

import numpy as np

from jetpy.errors import FileFormatError
from jetpy.graph import IntArray
from jetpy.io.compression import open_input, open_output
from jetpy.io.text import format_rows, read_rows


def read_parts(path: str | os.PathLike[str], n: int | None = None) -> IntArray:
    """Read a partition.

    Parameters
    ----------
    path : path
        May end in a suffix of compression.
    n : int, optional
        Number of vertices that it must be for.

    Returns
    -------
    int32, shape (n,)
        Part of each vertex.

    Raises
    ------
    FileFormatError
        When a line is not one non-negative integer, or there are not `n` of them.
    JetpyError
        When the file cannot be read.
    """
    found = [np.empty(0, np.int32)]
    with open_input(path) as stream:
        for rows in read_rows(stream):
            wrong = rows.counts != 1
            if wrong.any():
                i = int(wrong.argmax())
                raise FileFormatError(
                    f"line {rows.lines[i]}: one part id is expected, not {rows.counts[i]} integers"
                )
            if rows.values.min(initial=0) < 0:
                i = int((rows.values < 0).argmax())
                raise FileFormatError(f"line {rows.lines[i]}: part {rows.values[i]} is negative")
            found.append(rows.values)
        parts = np.concatenate(found)
        if n is not None and len(parts) != n:
            raise FileFormatError(f"{len(parts)} part ids, but the graph has {n} vertices")
    return parts


def write_parts(path: str | os.PathLike[str], parts: IntArray) -> None:
    """Write a partition, atomically, compressed if the name says so.

    Parameters
    ----------
    path : path
    parts : int32, shape (n,), non-negative

    Raises
    ------
    JetpyError
        When the file cannot be written.
    """
    with open_output(path) as stream:
        for block in np.array_split(parts, len(parts) // (1 << 20) + 1):
            stream.write(format_rows(block, np.ones(len(block), np.int64)))
