"""Files of modifiers: what changes in a graph, batch by batch.

Each line is one modifier; ids are those of `jetpy.IncrementalPartitioner`, 0-based:

=============  ======================================================================
``+v [W]``     insert a vertex (of weight W), which gets the next id
``-v V``       delete vertex V and its edges
``+e U V [W]`` insert an edge (of weight W)
``-e U V``     delete an edge
=============  ======================================================================

A line ``---`` ends a batch. Within a batch the order of lines matters only for the ids of new
vertices: edges are deleted first, then vertices, and vertices are inserted before edges. Lines
that start with ``#`` or ``%`` are comments, empty lines mean nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from jetpy.errors import FileFormatError
from jetpy.graph import INT32_MAX
from jetpy.incremental.batch import Batch
from jetpy.io.compression import open_input

END = "---"
NUMBERS = {"+v": (0, 1), "-v": (1, 1), "+e": (2, 3), "-e": (2, 2)}
"""Least and most numbers after each word."""


def read_modifiers(path: str | os.PathLike[str]) -> list[Batch]:
    """Read batches of modifiers.

    Parameters
    ----------
    path : path
        May end in a suffix of compression.

    Raises
    ------
    FileFormatError
        When a line is none of the above; the message names it.
    JetpyError
        When the file cannot be read.
    """
    with open_input(path) as stream:
        batches: list[dict[str, list[list[int]]]] = [_no_lines()]
        for number, line in enumerate(stream, 1):
            words = line.split()
            if not words or words[0][:1] in (b"#", b"%"):
                continue
            first = words[0].decode("utf-8", "replace")
            if first == END and len(words) == 1:
                batches.append(_no_lines())
                continue
            if first not in NUMBERS:
                raise FileFormatError(
                    f"line {number}: {first!r} is no modifier; "
                    f"lines begin with {', '.join(NUMBERS)} or {END}"
                )
            batches[-1][first].append(_numbers(first, words[1:], number))
    return [_batch(lines) for lines in batches if any(lines.values())]


def _no_lines() -> dict[str, list[list[int]]]:
    return {word: [] for word in NUMBERS}


def _numbers(word: str, words: list[bytes], line: int) -> list[int]:
    least, most = NUMBERS[word]
    if not least <= len(words) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise FileFormatError(f"line {line}: {word} takes {wanted} numbers, not {len(words)}")
    values = []
    for given in words:
        if not given.isdigit() or len(given) > 10 or int(given) > INT32_MAX:
            shown = given.decode("utf-8", "replace")
            raise FileFormatError(
                f"line {line}: {shown!r} is not a whole number from 0 to 2147483647"
            )
        values.append(int(given))
    return values


def _batch(lines: dict[str, list[list[int]]]) -> Batch:
    return Batch(
        delete_edges=lines["-e"],
        delete_vertices=[v for (v,) in lines["-v"]],
        insert_vertices=_weights(lines["+v"], 0),
        insert_edges=[numbers[:2] for numbers in lines["+e"]],
        edge_weights=_weights(lines["+e"], 2),
    )


def _weights(lines: Iterable[list[int]], place: int) -> list[int]:
    """Return the number at a place of each line, 1 where there is none."""
    return [numbers[place] if len(numbers) > place else 1 for numbers in lines]
