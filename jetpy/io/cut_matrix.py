"""Cut matrices in files: the weight of the edges between each two parts, by the suffix.

========  ==========================================================================
``.npy``  the whole matrix, as `numpy.save` writes an array of int64
``.mtx``  Matrix Market, as SciPy reads it, and `jetpy.read_graph`: a graph of parts
``.csv``  a line ``part,other,weight``, then one for each pair of parts with edges
========  ==========================================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from jetpy.errors import FileFormatError
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.io import matrix_market
from jetpy.io.compression import open_output, split_name
from jetpy.io.text import format_rows

MAX_DENSE = 1 << 14
"""Parts whose whole matrix is written; that takes 2 GiB."""


def write_cut_matrix(path: str | os.PathLike[str], matrix: sp.csr_array) -> None:
    """Write a cut matrix, atomically, in the format of the suffix; one of compression may follow.

    Parameters
    ----------
    path : path
    matrix : scipy.sparse.csr_array of int64, shape (k, k)
        As `jetpy.evaluation.evaluate.Evaluation` has it.

    Raises
    ------
    FileFormatError
        When the suffix is another, or a matrix for ``.npy`` has too many rows.
    JetpyError
        When the file cannot be written.
    """
    check_cut_matrix_name(path)
    suffix = split_name(path)[1]
    if suffix == ".npy" and matrix.shape[0] > MAX_DENSE:
        raise FileFormatError(
            f"{path}: {matrix.shape[0]} parts are too many for .npy, which holds every pair; "
            "write .mtx or .csv"
        )
    if suffix != ".npy" and matrix.data.max(initial=0) > INT32_MAX:
        raise FileFormatError(f"{path}: weights of 2**31 or more are written as .npy alone")
    with open_output(path) as stream:
        _FORMATS[suffix](stream, matrix)


def check_cut_matrix_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name whose suffix is not that of a format.

    Raises
    ------
    FileFormatError
    """
    if split_name(path)[1] not in _FORMATS:
        raise FileFormatError(f"{path}: cut matrices are written as {', '.join(_FORMATS)}")


def _write_npy(stream: BinaryIO, matrix: sp.csr_array) -> None:
    np.lib.format.write_array(stream, matrix.toarray())


def _write_mtx(stream: BinaryIO, matrix: sp.csr_array) -> None:
    indptr, indices, weights = (
        array.astype(np.int32) for array in (matrix.indptr, matrix.indices, matrix.data)
    )
    ones = np.ones(matrix.shape[0], np.int32)
    matrix_market.write(stream, Graph(indptr, indices, weights, ones))


def _write_csv(stream: BinaryIO, matrix: sp.csr_array) -> None:
    stream.write(b"part,other,weight\n")
    pairs = sp.triu(matrix, format="coo")
    rows = np.column_stack((pairs.row, pairs.col, pairs.data)).astype(np.int32)
    stream.write(format_rows(rows.ravel(), np.full(len(rows), 3)).replace(b" ", b","))


_FORMATS: dict[str, Callable[[BinaryIO, sp.csr_array], None]] = {
    ".npy": _write_npy,
    ".mtx": _write_mtx,
    ".csv": _write_csv,
}
