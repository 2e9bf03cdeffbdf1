"""An order of elimination, and what it costs a sparse Cholesky factorization."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from jetpy.errors import OptionError
from jetpy.io.parts import write_parts
from jetpy.lazy import cached_property
from jetpy.ordering.separator_tree import SeparatorTree
from jetpy.ordering.symbolic import Permutation, Symbolic


@dataclass(frozen=True, eq=False)
class Ordering:
    """An order of the rows and columns of a symmetric matrix.

    Attributes
    ----------
    perm : int32, shape (n,)
        ``perm[i]`` is the row that comes in place i: ``matrix[perm][:, perm]`` is the permuted
        matrix in NumPy's notation. METIS calls this array `perm`, too.
    symbolic : Symbolic
        Structure of the Cholesky factor of the permuted matrix.
    method : str
        The function that found the order.
    seconds : float
        Seconds of that function, without the symbolic factorization.
    tree : SeparatorTree or None
        The separators and leaves of a nested dissection.
    """

    perm: Permutation
    symbolic: Symbolic
    method: str
    seconds: float
    tree: SeparatorTree | None = None

    def __repr__(self) -> str:
        return (
            f"Ordering({self.method}, n = {self.n}, fill {self.fill}, operations "
            f"{self.operations:.4g}, height {self.height}, {self.seconds:.3g} s)"
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.perm)

    @cached_property
    def iperm(self) -> Permutation:
        """Place of each row, int32, shape (n,): the inverse of `perm`, METIS's `iperm`."""
        inverse = np.empty_like(self.perm)
        inverse[self.perm] = np.arange(self.n, dtype=np.int32)
        return inverse

    @property
    def fill(self) -> int:
        """Entries of the factor L, with the diagonal."""
        return self.symbolic.fill

    @property
    def operations(self) -> int:
        """Operations of the factorization: the sum of the squared entries of each column of L."""
        return self.symbolic.operations

    @property
    def height(self) -> int:
        """Columns on the longest path from a root of the elimination tree to a leaf."""
        return self.symbolic.height

    def permute(self, matrix: Any) -> Any:
        """Return ``matrix[perm][:, perm]``, shape (n, n): a CSR array, or an array if it was one.

        Raises
        ------
        OptionError
            If the matrix does not have n rows and columns.
        """
        if matrix.shape != (self.n, self.n):
            raise OptionError(f"the matrix has shape {matrix.shape}, not ({self.n}, {self.n})")
        if not sp.issparse(matrix):
            return np.asarray(matrix)[np.ix_(self.perm, self.perm)]
        return sp.csr_array(matrix)[self.perm][:, self.perm]

    def save(self, path: str | os.PathLike[str], *, base: int = 0) -> None:
        """Write `perm` in the formats of `write_parts`: NumPy's for ``.npy``, text for ``.txt``.

        A text file has one row per line. Rows count from `base`, 0 or 1.

        Raises
        ------
        OptionError
            If `base` is not 0 or 1.
        JetpyError
            As `write_parts` does.
        """
        if base not in (0, 1):
            raise OptionError(f"base must be 0 or 1, not {base}")
        write_parts(path, self.perm + np.int32(base))
