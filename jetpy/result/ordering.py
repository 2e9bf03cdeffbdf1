"""An order of elimination, and what it costs a sparse Cholesky factorization."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from jetpy.choices import Backend
from jetpy.device.backends import CPU
from jetpy.errors import OptionError, count
from jetpy.evaluation.rows import Rows, matrix_text
from jetpy.graph.checks import whole_number
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.ranges import ranges
from jetpy.io.patterns import pattern_graph
from jetpy.io.permutations import write_permutation
from jetpy.lazy import cached_property
from jetpy.progress import ProgressOption
from jetpy.result.binary_tree import binary_tree
from jetpy.result.ordering_choice import OrderingChoice
from jetpy.result.separator_tree import SeparatorTree
from jetpy.result.symbolic import Symbolic, symbolic_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jetpy.profiling.profile import Profile

MAX_LEVELS = 20
"""Levels of a partition tree; it then has 2**MAX_LEVELS - 1 parts."""


class OrderingUpdate(NamedTuple):
    """The work of `Ordering.updated`.

    Attributes
    ----------
    changed : int
        Number of rows that are new, or have an entry that was inserted or removed.
    ordered : int
        Number of rows that were ordered again.
    old_fill : int
        The fill of the old ordering in the old matrix.
    """

    changed: int
    ordered: int
    old_fill: int


class Origin(Protocol):
    """The run that has found an ordering."""

    def update(
        self, old: Ordering, matrix: Any, n: int | None, *, symmetrize: bool, **options: Any
    ) -> Ordering:
        """Return the updated ordering for another matrix."""
        ...

    def save(self, path: str | os.PathLike[str], ordering: Ordering) -> None:
        """Write an ordering that `jetpy.read_ordering` reads."""
        ...


@dataclass(frozen=True, eq=False)
class Ordering:
    """An order of the rows and columns of a symmetric matrix.

    `perm` and `iperm` are inverse to each other and have METIS's names. They are always int32,
    because a matrix has fewer than 2**31 rows.

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
    profile : Profile or None
        Times of stages and kernels, if they were asked for.
    backend : str
    threads : int
        Number of CPU threads.
    device_perm : int32, shape (n,), or None
        `perm` on the GPU, with `device=True`.
    choices : tuple of OrderingChoice
        The methods that `order` has chosen. Otherwise, it is empty.
    update : OrderingUpdate or None
        The changes, if `updated` has returned the ordering.
    origin : Origin or None
        The pattern of the matrix and the options, for `updated`.

    Examples
    --------
    The first row of an arrow matrix is full. Eliminated late, it causes no fill.

    >>> import numpy as np
    >>> import jetpy
    >>> arrow = np.eye(4, dtype=int)
    >>> arrow[0] = arrow[:, 0] = 1
    >>> order = jetpy.minimum_degree(arrow)
    >>> order.perm  # row 1 comes first, row 0 third
    array([1, 2, 0, 3], dtype=int32)
    >>> order.iperm  # the position of row 0 is 2
    array([2, 0, 1, 3], dtype=int32)
    >>> bool((order.permute(arrow) == arrow[order.perm][:, order.perm]).all())
    True
    """

    perm: IntArray
    symbolic: Symbolic
    method: str
    seconds: float
    tree: SeparatorTree | None = None
    profile: Profile | None = None
    backend: str = CPU
    threads: int = 1
    device_perm: Any = None
    choices: tuple[OrderingChoice, ...] = ()
    update: OrderingUpdate | None = None
    origin: Origin | None = None

    def __repr__(self) -> str:
        before = "" if self.update is None else f" (before {self.update.old_fill})"
        tree = "" if self.tree is None else f"{int((~self.tree.is_leaf).sum())} separators, "
        return (
            f"Ordering({self.method}, n = {self.n}, fill {self.fill}{before}, operations "
            f"{self.operations:.4g}, height {self.height}, {tree}{self.seconds:.3g} s)"
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.perm)

    @cached_property
    def iperm(self) -> IntArray:
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

    def updated(
        self,
        matrix: Any,
        *,
        n: int | None = None,
        symmetrize: bool = False,
        backend: Backend = "auto",
        threads: int | None = None,
        device: int | bool | None = None,
        progress: ProgressOption = None,
        profile: bool = False,
    ) -> Ordering:
        """Order a matrix with a similar pattern, in a fraction of the time of a new ordering.

        The matrix has the rows of the old one, possibly others, and possibly new rows at the end.
        Only subtrees of `tree` in which many rows have changed are ordered again, with the options
        of this ordering. New rows are in no group of `together` and not in `last`. The result
        depends only on this ordering, the matrix that it belongs to, and the new one. `update` of
        the result has the number of rows that were ordered again and the old fill.

        Parameters
        ----------
        matrix, n, symmetrize
            As for `symbolic`.
        backend, threads, device, progress, profile
            As for `nested_dissection`.

        Raises
        ------
        GraphError
            As `symbolic` does.
        OptionError, BackendError
            As `partition` does; or if the matrix has fewer rows, or the ordering has no tree.

        Examples
        --------
        Two points of a grid that are not neighbours come into contact.

        >>> import jetpy
        >>> import scipy.sparse as sp
        >>> line = sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(100, 100))
        >>> grid = sp.lil_array(sp.kron(line, sp.eye_array(100)) + sp.kron(sp.eye_array(100), line))
        >>> order = jetpy.nested_dissection(grid)
        >>> grid[0, 202] = grid[202, 0] = 1
        >>> again = order.updated(grid)
        >>> again.update.changed, again.update.ordered < 1000
        (2, True)
        """
        return self._checked_origin.update(
            self,
            matrix,
            n,
            symmetrize=symmetrize,
            backend=backend,
            threads=threads,
            device=device,
            progress=progress,
            profile=profile,
        )

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

    def partition_tree(self, levels: int) -> tuple[IntArray, IntArray]:
        """Return an equivalent permutation by the parts of a binary tree, and the part sizes.

        cuDSS reads both arrays, as ``CUDSS_DATA_USER_PERM`` and
        ``CUDSS_DATA_USER_ND_PARTITION_TREE``. `levels` is its ``CUDSS_CONFIG_ND_NLEVELS``.

        The binary tree is complete. A part on the deepest level has a leaf or whole subtrees of
        `tree`, and any other part has a separator. A part may be empty. No entry of the matrix or
        of the factor joins two parts unless one of them is above the other. Rows of the same part
        keep their order, so `fill`, `operations` and `height` are those of `perm`.

        Parameters
        ----------
        levels : int
            Number of levels in 1..20, with the root and the deepest level. cuDSS needs at least 2.

        Returns
        -------
        perm : int32, shape (n,)
            The order of elimination, as in the attribute `perm`. The parts of the deepest level
            come first, from left to right. The levels above follow, and the root comes last.
        sizes : int32, shape (2**levels - 1,)
            Number of rows of each part, in the same order.

        Raises
        ------
        OptionError
            If `levels` is out of range, or the ordering has no tree.

        Examples
        --------
        A separator of three rows divides a grid of 3 x 7 points.

        >>> import jetpy
        >>> grid = jetpy.generators.grid(7, 3)
        >>> order = jetpy.nested_dissection(grid, leaf_size=9)
        >>> perm, sizes = order.partition_tree(2)
        >>> sizes
        array([ 8, 10,  3], dtype=int32)
        >>> jetpy.symbolic(grid, perm).fill == order.fill
        True
        """
        levels = whole_number("levels", levels, 1, MAX_LEVELS)
        if self.tree is None:
            raise OptionError(f"an ordering by {self.method} has no separator tree")
        begins, ends = binary_tree(self.tree, levels)
        sizes = ends - begins
        return self.perm[ranges(begins, sizes)], sizes.astype(np.int32)

    def plot(self, matrix: Any, *, n: int | None = None, symmetrize: bool = False) -> Figure:
        """Draw the pattern of the permuted matrix as a matplotlib figure.

        With more than 256 rows, several rows and columns share a cell, which is darker if it has
        more entries. The rows and columns of separators are shaded as far as their subtrees reach.
        Separators narrower than a cell are not shaded.

        Parameters
        ----------
        matrix, n, symmetrize
            As for `symbolic`.

        Raises
        ------
        GraphError
            As `symbolic` does, or if the matrix has no rows.
        OptionError
            If the matrix and the ordering have different numbers of rows.
        JetpyError
            If matplotlib is not installed; the extra `report` installs it.
        """
        from jetpy.pages.pattern import draw_pattern

        graph = pattern_graph(matrix, n, symmetrize=symmetrize)
        if graph.n != self.n:
            raise OptionError(f"the matrix has {graph.n} rows, but the ordering has {self.n}")
        row = np.concatenate((self.iperm[graph.sources(0, graph.n)], np.arange(self.n)))
        column = np.concatenate((self.iperm[graph.indices], np.arange(self.n)))
        ones = np.ones(len(row), np.int32)
        pattern = sp.csr_array((ones, (row, column)), shape=(self.n, self.n))
        tree, separators = self.tree, np.empty((0, 3), np.int32)
        if tree is not None:
            columns = (tree.subtree_starts, tree.starts[:-1], tree.starts[1:])
            separators = np.stack(columns, axis=1)[~tree.is_leaf]
        return draw_pattern(pattern, separators)

    @property
    def _checked_origin(self) -> Origin:
        """The run that has found the ordering.

        Raises
        ------
        OptionError
            If the ordering has no tree.
        """
        if self.origin is None:
            raise OptionError(f"an ordering by {self.method} has no separator tree to update")
        return self.origin

    def save_session(self, path: str | os.PathLike[str]) -> None:
        """Write the ordering to a NumPy archive, from which `jetpy.read_ordering` can update it.

        It has the order, the tree, the pattern of the matrix and the options. The file appears only
        when it is complete. A further suffix (``.gz``, ``.bz2``, ``.xz``, ``.zst``) compresses it.

        Raises
        ------
        OptionError
            If the ordering has no tree.
        JetpyError
            If the file cannot be written.
        """
        self._checked_origin.save(path, self)

    def save(self, path: str | os.PathLike[str], *, base: int = 0) -> None:
        """Write `perm` as an array if the suffix is ``.npy``, otherwise as text.

        A text file has one row per line. Rows count from `base`, 0 or 1. A suffix for compression
        may follow, as in ``perm.txt.gz``.

        Raises
        ------
        OptionError
            If `base` is not 0 or 1.
        FileFormatError
            If the suffix belongs to another format, such as ``.mtx`` or ``.csv``.
        JetpyError
            If the file cannot be written.
        """
        if base not in (0, 1):
            raise OptionError(f"base must be 0 or 1, not {base}")
        write_permutation(path, self.perm, base=base)


def ordering_rows(graph: Graph, ordering: Ordering, run: str) -> Rows:
    """Describe an ordering of a matrix; `run` has its options."""
    rows = [
        ("matrix", matrix_text(graph)),
        ("run", f"{run}, {ordering.backend}, {count(ordering.threads, 'thread')}"),
    ]
    for choice in ordering.choices:
        rows += [("choice", choice.what), ("reason", choice.reason)]
    if ordering.update is not None:
        changed, ordered, old_fill = ordering.update
        rows.append(("update", f"{count(changed, 'changed row')}, {ordered:,} ordered again"))
        rows.append(("fill before", f"{old_fill:,}"))
    rows += symbolic_rows(graph, ordering.symbolic)
    tree = ordering.tree
    if tree is not None:
        leaves = int(tree.is_leaf.sum())
        separators = count(len(tree) - leaves, "separator")
        noun = "leaf" if leaves == 1 else "leaves"
        rows.append(("tree", f"{separators}, {leaves:,} {noun}, depth {tree.depth}"))
    return rows
