"""Files of partitions; the suffix selects the format, and the default is METIS's.

=========  =====================================================================
``.npy``   array of integers, as `numpy.save` writes it
``.npz``   archive with this array, called ``parts``, as `numpy.savez` writes it
``.csv``   the line ``vertex,part``, then one line per vertex, 0-based
``.json``  list of integers
others     text: line v holds the part of vertex v
=========  =====================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.graph.csr import INT32_MAX, IntArray
from jetpy.io.archive import read_archive, read_array, write_archive
from jetpy.io.compression import open_input, open_output, split_name
from jetpy.io.pairs import read_table
from jetpy.io.text import first_line, format_rows, one_per_line, read_rows

OTHERS = (
    *(".graph", ".metis", ".mtx", ".edges", ".el", ".tsv"),
    *(".h5", ".hdf5", ".mat", ".parquet", ".feather", ".pkl", ".pickle", ".xls", ".xlsx"),
    *(".xml", ".yaml", ".yml", ".zip", ".7z", ".tar"),
)
"""Suffixes of other formats, which are refused."""
TEXTS = ".part", ".txt"
"""Usual suffixes of text with one part per line."""
BLOCK = 1 << 20  # vertices
NO_PART = -1
DELETED = (
    "; jetpy update writes it for a deleted vertex. Use these parts with the session, not with a "
    "graph"
)


class _Wanted(NamedTuple):
    """Number of entries of a file (None if unknown), the least value, and names for messages."""

    n: int | None
    least: int
    kind: str = "part"
    entry: str = "part id"

    def check_count(self, count: int) -> None:
        """Refuse another number of entries; FileFormatError."""
        if self.n is not None and count != self.n:
            raise FileFormatError(
                f"the file has {count} {self.entry}s, but the graph has {self.n} vertices"
            )


class _Format(NamedTuple):
    read: Callable[[BinaryIO, _Wanted], npt.NDArray[Any]]
    """Reads parts; it may stop if there are too many."""
    write: Callable[[BinaryIO, IntArray], None]


def read_parts(
    path: str | os.PathLike[str], n: int | None = None, *, partial: bool = False
) -> IntArray:
    """Read a partition.

    Parameters
    ----------
    path : path
        Its suffix selects the format: ``.npy``, ``.npz``, ``.csv`` or ``.json``, and text
        otherwise. A compression suffix may follow.
    n : int, optional
        Required number of vertices.
    partial : bool
        Whether vertices may have part -1, which means no part.

    Returns
    -------
    int32, shape (n,)
        Part of each vertex.

    Raises
    ------
    FileFormatError
        If the file has another format or is damaged, or does not hold one non-negative integer
        (or -1, if `partial`) for each vertex.
    JetpyError
        If the file cannot be read.
    """
    return _read(path, _Wanted(n, NO_PART if partial else 0))


def read_groups(path: str | os.PathLike[str], n: int) -> IntArray:
    """Read the groups of n vertices (int32, -1: none) from a file like that of `read_parts`.

    Raises
    ------
    FileFormatError, JetpyError
        Under the conditions of `read_parts`.
    """
    return _read(path, _Wanted(n, NO_PART, "group", "group"))


def _read(path: str | os.PathLike[str], wanted: _Wanted) -> IntArray:
    form = _format(path)
    with open_input(path) as stream:
        parts = _checked(form.read(stream, wanted), wanted)
        wanted.check_count(len(parts))
    return parts


def write_parts(path: str | os.PathLike[str], parts: npt.ArrayLike) -> None:
    """Write a partition atomically, in the format of the suffix (see `read_parts`).

    Parameters
    ----------
    path : path
    parts : integers, shape (n,)
        Not negative, except for -1, which means no part (a deleted vertex, for example).

    Raises
    ------
    GraphError
        If `parts` is not an array of this kind, or the suffix belongs to another format.
    JetpyError
        If the file cannot be written.
    """
    form = _format(path)
    checked = _checked(np.asarray(parts), _Wanted(None, NO_PART))
    with open_output(path) as stream:
        form.write(stream, checked)


def is_parts_name(path: str | os.PathLike[str]) -> bool:
    """Return whether the suffix of a file name is one that partitions usually have."""
    return split_name(path)[1] in (*_FORMATS, *TEXTS)


def check_parts_name(path: str | os.PathLike[str]) -> None:
    """Check that the suffix of a file name does not belong to another format.

    Raises
    ------
    FileFormatError
        If the suffix is in `OTHERS`.
    """
    if split_name(path)[1] in OTHERS:
        raise FileFormatError(
            f"{path}: jetpy does not write partitions as {split_name(path)[1]}; use "
            f"{', '.join(_FORMATS)}, or another name, for example mesh.part, for text"
        )


def _format(path: str | os.PathLike[str]) -> _Format:
    check_parts_name(path)
    return _FORMATS.get(split_name(path)[1], _TEXT)


def _checked(parts: npt.NDArray[Any], wanted: _Wanted) -> IntArray:
    """Return parts as int32, after checking that they are integers from the least on."""
    if parts.ndim != 1:
        raise FileFormatError(
            f"{wanted.entry}s must be one-dimensional, not of shape {parts.shape}"
        )
    if parts.size and parts.dtype.kind not in "iu":
        raise FileFormatError(f"{wanted.entry}s must be integers, not {parts.dtype}")
    wrong = (parts < wanted.least) | (parts >= INT32_MAX)
    if wrong.any():
        v = int(wrong.argmax())
        raise _outside(v, parts[v], wanted)
    return np.ascontiguousarray(parts, np.int32)


def _outside(v: int, part: Any, wanted: _Wanted) -> FileFormatError:
    return FileFormatError(
        f"vertex {v} is in {wanted.kind} {part!s:.40}; {wanted.kind}s must be in "
        f"{wanted.least}..2147483646"
    )


def _read_text(stream: BinaryIO, wanted: _Wanted) -> IntArray:
    chunks, count = [np.empty(0, np.int32)], 0
    for rows in one_per_line(stream, wanted.entry):
        if rows.values.min(initial=0) < wanted.least:
            i = int((rows.values < wanted.least).argmax())
            part = rows.values[i]
            remedy = DELETED if part == NO_PART else ""
            raise FileFormatError(f"line {rows.lines[i]}: {wanted.kind} {part} is negative{remedy}")
        count += len(rows.values)
        if wanted.n is None or count <= wanted.n:
            chunks.append(rows.values)
    if wanted.n is not None and count > wanted.n:
        wanted.check_count(count)
    return np.concatenate(chunks)


def _read_npz(stream: BinaryIO, wanted: _Wanted) -> npt.NDArray[Any]:
    arrays = read_archive(stream, "an .npz archive")
    if "parts" not in arrays:
        raise FileFormatError(f"the archive has no array parts, only {', '.join(arrays)}")
    return arrays["parts"]


def _write_npz(stream: BinaryIO, parts: IntArray) -> None:
    write_archive(stream, parts=parts)


def _read_csv(stream: BinaryIO, wanted: _Wanted) -> npt.NDArray[Any]:
    """Read lines ``vertex,part`` in any order, or lines with only the part, in order."""
    first = first_line(stream)
    head = b"\n" if first[:1].isalpha() or first[:1] in (b'"', b"'") else first
    table = read_table(read_rows(stream, head=head, comments=b"#%", comma=True), (1, 2))
    parts, size = table.columns[:, -1], len(table.columns)
    if table.columns.shape[1] == 1 or not size:
        return parts
    vertices = table.columns[:, 0]
    wrong = (vertices < 0) | (vertices >= size)
    if wrong.any():
        i = int(wrong.argmax())
        raise FileFormatError(
            f"line {table.lines[i]}: there is no vertex {vertices[i]}; vertices must be in "
            f"0..{size - 1}"
        )
    result = np.full(size, -1, np.int32)
    result[vertices] = parts
    counts = np.bincount(vertices, minlength=size)
    if counts.max() > 1:
        raise FileFormatError(f"vertex {counts.argmax()} is listed more than once")
    return result


def _read_json(stream: BinaryIO, wanted: _Wanted) -> npt.NDArray[Any]:
    content = stream.read()
    try:
        parts = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"this is not JSON: {error}") from error
    if not isinstance(parts, list):
        raise FileFormatError(f"this is not a list of {wanted.entry}s")
    for v, part in enumerate(parts):
        if type(part) is not int or not wanted.least <= part < INT32_MAX:
            raise _outside(v, repr(part), wanted)
    return np.array(parts, np.int32)


def _write_text(stream: BinaryIO, parts: IntArray) -> None:
    for text in _texts(parts[:, None]):
        stream.write(text)


def _write_json(stream: BinaryIO, parts: IntArray) -> None:
    stream.write(b"[")
    for i, text in enumerate(_texts(parts[:, None])):
        stream.write(b"," * (i > 0 and text != b"") + text[:-1].replace(b"\n", b","))
    stream.write(b"]\n")


def _write_csv(stream: BinaryIO, parts: IntArray) -> None:
    stream.write(b"vertex,part\n")
    vertices = np.arange(len(parts), dtype=np.int32)
    for text in _texts(np.column_stack((vertices, parts))):
        stream.write(text.replace(b" ", b","))


def _texts(table: IntArray) -> Iterator[bytes]:
    """Yield blocks of rows as text, with a blank between columns."""
    for start in range(0, len(table), BLOCK):
        block = table[start : start + BLOCK]
        if block.min() < 0:
            yield b"".join(b" ".join(b"%d" % value for value in row) + b"\n" for row in block)
        else:
            yield format_rows(block.ravel(), np.full(len(block), block.shape[1]))


_TEXT = _Format(_read_text, _write_text)
_FORMATS = {
    ".npy": _Format(
        lambda stream, wanted: read_array(stream),
        lambda stream, parts: np.lib.format.write_array(stream, parts),
    ),
    ".npz": _Format(_read_npz, _write_npz),
    ".csv": _Format(_read_csv, _write_csv),
    ".json": _Format(_read_json, _write_json),
}
"""Reader and writer for each suffix; all other suffixes mean text."""
