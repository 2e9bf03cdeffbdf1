"""Files of cut matrices: the edge weight between each pair of parts.

========  ==========================================================================
``.npy``  the dense matrix, as `numpy.save` writes an array of int64
``.mtx``  Matrix Market; SciPy and `jetpy.read_graph` read it as a graph of the parts
``.csv``  the line ``part,other,weight``, then one line for each pair of adjacent parts
========  ==========================================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import FileFormatError
from jetpy.io import matrix_market
from jetpy.io.compression import open_output, split_name
from jetpy.io.text import format_rows

MAX_DENSE = 1 << 14
"""Maximum number of parts of a dense matrix, which then takes 2 GiB."""


def write_cut_matrix(path: str | os.PathLike[str], matrix: sp.csr_array) -> None:
    """Write a cut matrix atomically; the suffix selects the format.

    A compression suffix may follow the suffix of the format.

    Parameters
    ----------
    path : path
    matrix : scipy.sparse.csr_array of int64, shape (k, k)
        The cut matrix of a `jetpy.evaluation.evaluate.Evaluation`.

    Raises
    ------
    FileFormatError
        If the suffix is unknown, or a matrix for ``.npy`` has more than `MAX_DENSE` rows.
    JetpyError
        If the file cannot be written.
    """
    check_cut_matrix_name(path)
    suffix = split_name(path)[1]
    if suffix == ".npy" and matrix.shape[0] > MAX_DENSE:
        raise FileFormatError(
            f"{path}: {matrix.shape[0]} parts are too many for .npy, which stores every pair; "
            "write .mtx or .csv"
        )
    with open_output(path) as stream:
        _FORMATS[suffix](stream, matrix)


def check_cut_matrix_name(path: str | os.PathLike[str]) -> None:
    """Check that a file name has the suffix of a cut matrix format.

    Raises
    ------
    FileFormatError
        If the suffix is unknown.
    """
    if split_name(path)[1] not in _FORMATS:
        raise FileFormatError(
            f"{path}: the suffix of a cut matrix must be one of {', '.join(_FORMATS)}"
        )


def _write_npy(stream: BinaryIO, matrix: sp.csr_array) -> None:
    np.lib.format.write_array(stream, matrix.toarray())


def _write_mtx(stream: BinaryIO, matrix: sp.csr_array) -> None:
    table = _pairs(matrix)
    is_pattern = bool((table[:, 2] == 1).all())
    field, width = ("pattern", 2) if is_pattern else ("integer", 3)
    matrix_market.write_symmetric(stream, matrix.shape[0], len(table), field, [table[:, :width]])


def _write_csv(stream: BinaryIO, matrix: sp.csr_array) -> None:
    stream.write(b"part,other,weight\n")
    rows = _pairs(matrix)
    stream.write(format_rows(rows.ravel(), np.full(len(rows), 3)).replace(b" ", b","))


def _pairs(matrix: sp.csr_array) -> npt.NDArray[np.int64]:
    """Return one row for each pair of adjacent parts: both parts and the weight between them."""
    pairs = sp.triu(matrix, format="coo")
    return np.column_stack((pairs.row, pairs.col, pairs.data)).astype(np.int64)


_FORMATS: dict[str, Callable[[BinaryIO, sp.csr_array], None]] = {
    ".npy": _write_npy,
    ".mtx": _write_mtx,
    ".csv": _write_csv,
}
