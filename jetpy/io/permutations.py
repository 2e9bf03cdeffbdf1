"""Files of orderings: one row per line in the order of elimination, or an array (``.npy``)."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.graph.csr import IntArray
from jetpy.io.archive import read_array
from jetpy.io.compression import open_input, split_name
from jetpy.io.parts import OTHERS, write_parts
from jetpy.io.text import one_per_line

REFUSED = (*OTHERS, ".npz", ".csv", ".json")
"""Suffixes of other formats."""


def read_permutation(path: str | os.PathLike[str], n: int, *, base: int = 0) -> IntArray:
    """Read a permutation of n rows, int32, shape (n,), with rows from 0.

    Parameters
    ----------
    path : path
        ``.npy`` for an array of integers, text with one row on each line otherwise. A compression
        suffix may follow.
    n : int
    base : {0, 1}
        The number of the first row in the file.

    Raises
    ------
    FileFormatError
        If the file has another format, or is not a permutation of `n` rows. The message names the
        file, and the line if the format has lines.
    JetpyError
        If the file cannot be read.
    """
    return _read(path, n, base, is_permutation=True)


def read_rows(path: str | os.PathLike[str], n: int, *, base: int = 0) -> IntArray:
    """Read some of n rows, int32, rows from 0, as `read_permutation` reads all.

    Raises
    ------
    FileFormatError, JetpyError
        As `read_permutation` does, except that rows may be missing.
    """
    return _read(path, n, base, is_permutation=False)


def _read(path: str | os.PathLike[str], n: int, base: int, *, is_permutation: bool) -> IntArray:
    check_permutation_name(path)
    with open_input(path) as stream:
        if split_name(path)[1] == ".npy":
            rows, places, kind = read_array(stream), np.arange(n), "entry"
        else:
            rows, places, kind = *_read_text(stream, n), "line"
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise FileFormatError(
                f"the array has shape {rows.shape} and type {rows.dtype}; it must have one integer "
                "for each row"
            )
        if is_permutation and len(rows) != n:
            raise _wrong_count(len(rows), n)
        wrong = (rows < base) | (rows >= n + base)
        if wrong.any():
            i = int(wrong.argmax())
            raise FileFormatError(
                f"{kind} {places[i]}: row {rows[i]} is not in {base}..{n - 1 + base}"
                + _other_base(rows, n, base)
            )
        rows = (rows - base).astype(np.int32)
        times = np.bincount(rows, minlength=n)
        if n and times.max() > 1:
            row = int(times.argmax())
            first, second, *_ = places[rows == row]
            what = "a permutation has" if is_permutation else "the file must have"
            raise FileFormatError(
                f"{kind} {second}: row {row + base} is also on {kind} {first}; {what} each row once"
            )
    return np.ascontiguousarray(rows)


def write_permutation(path: str | os.PathLike[str], perm: IntArray, *, base: int = 0) -> None:
    """Write a permutation (int32, shape (n,)) in a format of `read_permutation`, atomically.

    Raises
    ------
    FileFormatError
        If the suffix belongs to another format.
    JetpyError
        If the file cannot be written.
    """
    check_permutation_name(path)
    write_parts(path, perm + np.int32(base))


def check_permutation_name(path: str | os.PathLike[str]) -> None:
    """Check that the suffix of a file name does not belong to another format.

    Raises
    ------
    FileFormatError
        If the suffix is in `REFUSED`.
    """
    suffix = split_name(path)[1]
    if suffix in REFUSED:
        raise FileFormatError(
            f"{path}: {suffix} is not a format of orderings; use .npy, or another name, for "
            "example perm.txt, for text"
        )


def _read_text(stream: BinaryIO, n: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the rows and the line number of each; at most about `n` lines are kept."""
    chunks, lines, count = [np.empty(0, np.int32)], [np.empty(0, np.int64)], 0
    for rows in one_per_line(stream, "row", comments=b"#%"):
        count += len(rows.values)
        if count <= n:
            chunks.append(rows.values)
            lines.append(rows.lines)
    if count > n:
        raise _wrong_count(count, n)
    return np.concatenate(chunks), np.concatenate(lines)


def _wrong_count(found: int, n: int) -> FileFormatError:
    return FileFormatError(f"the file has {found} rows, but the matrix has {n}")


def _other_base(rows: npt.NDArray[Any], n: int, base: int) -> str:
    """Return the remedy if the rows would be in range with the other base."""
    other = 1 - base
    if rows.min() < other or rows.max() >= n + other:
        return ""
    return f"; if the file counts from {other}, pass base={other} (--base {other})"
