"""Files of modifiers: changes of a graph in batches.

Each line is one modifier; ids are those of `jetpy.IncrementalPartitioner`, 0-based:

=============  ======================================================================
``+v [W]``     insert a vertex (of weight W), which gets the next id
``-v V``       delete vertex V and its edges
``+e U V [W]`` insert an edge (of weight W)
``-e U V``     delete an edge
=============  ======================================================================

A line ``---`` ends a batch. Within a batch the order of lines matters only for the ids of new
vertices: edges are deleted first, then vertices, and vertices are inserted before edges. Lines
that start with ``#`` or ``%`` are comments; empty lines are skipped.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from jetpy.errors import FileFormatError
from jetpy.graph.csr import INT32_MAX
from jetpy.incremental.batch import Batch
from jetpy.io.compression import open_input
from jetpy.io.text import first_line

END = "---"
NUMBERS = {"+v": (0, 1), "-v": (1, 1), "+e": (2, 3), "-e": (2, 2)}
"""Minimum and maximum count of numbers after each word."""
LONGEST_LINE = 1 << 12
"""Maximum length of a line in bytes, except for comments."""


class Lines(NamedTuple):
    """The first and the last modifier of a batch, as line numbers from 1."""

    first: int
    last: int

    def __str__(self) -> str:
        if self.first == self.last:
            return f"line {self.first}"
        return f"lines {self.first} to {self.last}"


def read_modifiers(path: str | os.PathLike[str]) -> Iterator[tuple[Batch, Lines]]:
    """Read batches of modifiers and their lines; all lines are checked before the first batch.

    Parameters
    ----------
    path : path
        May end in a compression suffix.

    Raises
    ------
    FileFormatError
        If a line is not a modifier; the message names it.
    JetpyError
        If the file cannot be read.
    """
    with open_input(path) as stream:
        text = first_line(stream) + stream.read()
        for _ in _batches(io.BytesIO(text)):
            pass
    return _batches(io.BytesIO(text))


def _batches(stream: BinaryIO) -> Iterator[tuple[Batch, Lines]]:
    """Yield the batches that are not empty, one at a time, because there may be millions."""
    lines: dict[str, list[list[int]]] = {word: [] for word in NUMBERS}
    first_of_batch = last_of_batch = 0
    for number, line in enumerate(stream, 1):
        if line.lstrip()[:1] in (b"", b"#", b"%"):
            continue
        if len(line) > LONGEST_LINE:
            raise FileFormatError(f"line {number}: longer than {LONGEST_LINE:,} bytes")
        words = line.split()
        first = words[0].decode("utf-8", "replace")
        if first == END and len(words) == 1:
            if first_of_batch:
                yield _batch(lines), Lines(first_of_batch, last_of_batch)
                lines = {word: [] for word in NUMBERS}
                first_of_batch = 0
        elif first in NUMBERS:
            lines[first].append(_numbers(first, words[1:], number))
            first_of_batch, last_of_batch = first_of_batch or number, number
        else:
            raise FileFormatError(
                f"line {number}: {first!r} is not a modifier; a line must begin with "
                f"{', '.join(NUMBERS)} or {END}"
            )
    if first_of_batch:
        yield _batch(lines), Lines(first_of_batch, last_of_batch)


def _numbers(word: str, words: list[bytes], line: int) -> list[int]:
    """Return the numbers of a modifier; a missing weight is 1."""
    least, most = NUMBERS[word]
    if not least <= len(words) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise FileFormatError(
            f"line {line}: {word} has {len(words)} numbers; it must have {wanted}"
        )
    values = []
    for given in words:
        if not given.isdigit() or len(given) > 10 or int(given) > INT32_MAX:
            shown = given.decode("utf-8", "replace")
            raise FileFormatError(f"line {line}: {shown!r} is not an integer in 0..2147483647")
        values.append(int(given))
    return values + [1] * (most - len(values))


def _batch(lines: dict[str, list[list[int]]]) -> Batch:
    return Batch(
        delete_edges=lines["-e"],
        delete_vertices=[v for (v,) in lines["-v"]],
        insert_vertices=[weight for (weight,) in lines["+v"]],
        insert_edges=[ends for *ends, _ in lines["+e"]],
        edge_weights=[weight for *_, weight in lines["+e"]],
    )
