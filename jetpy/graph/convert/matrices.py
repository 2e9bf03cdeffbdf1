"""Sparse matrices of SciPy, and dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph.raw import Raw


def from_scipy(matrix: Any) -> Raw:
    """Convert a square sparse matrix; its entries become edge weights."""
    check_square(matrix.shape)
    if matrix.format == "coo":
        return Raw(matrix.col, sources=matrix.row, n=matrix.shape[0], edge_weights=matrix.data)
    if matrix.format in ("csc", "bsr"):
        try:
            matrix.check_format(full_check=True)  # the conversion trusts its indices
        except ValueError as error:
            raise GraphError(f"the SciPy matrix is not valid: {error}") from error
    rows = matrix.tocsr()
    if matrix.format == "bsr":
        rows.eliminate_zeros()  # the padding of its blocks
    return Raw(rows.indices, indptr=rows.indptr, edge_weights=rows.data)


def from_dense(matrix: npt.NDArray[Any]) -> Raw:
    """Convert a square dense matrix; its nonzero entries become edge weights."""
    check_square(matrix.shape)
    rows, columns = np.nonzero(matrix)
    return Raw(columns, sources=rows, n=len(matrix), edge_weights=matrix[rows, columns])


def check_square(shape: tuple[int, ...]) -> None:
    """Check that a matrix is square.

    Raises
    ------
    GraphError
        If `shape` does not have two equal extents.
    """
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"an adjacency matrix must be square, not of shape {shape}")
