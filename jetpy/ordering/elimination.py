"""Symbolic Cholesky factorization: the elimination tree and the column counts of the factor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.device.backends import CPU, lease
from jetpy.device.device_graph import upload, with_required_width
from jetpy.engines.base import Array, Backend
from jetpy.errors import OptionError
from jetpy.evaluation.rows import Rows
from jetpy.graph.checks import flag
from jetpy.graph.csr import Graph
from jetpy.graph.validate import integer_array
from jetpy.io.graphs import as_graph
from jetpy.ordering.separator_tree import Bounds
from jetpy.workloads.ordering import elimination as kernels
from jetpy.workloads.ordering.elimination import Elimination

Permutation = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Symbolic:
    """The structure of the Cholesky factor L of a symmetric matrix whose rows are in some order.

    Column j is the j-th column in this order.

    Attributes
    ----------
    parents : int32, shape (n,)
        Parent of each column in the elimination tree: the row of the first entry of L below the
        diagonal, -1 for a root. A parent is larger than its children.
    counts : int32, shape (n,)
        Entries of each column of L, with the diagonal.
    fill : int
        Entries of L: the sum of the counts.
    operations : int
        Operations of the factorization: the sum of the squared counts.
    height : int
        Columns on the longest path from a root of the elimination tree to a leaf.
    critical_path : float
        Operations on the most expensive path from a root to a leaf. Columns on one path have to be
        factorized one after the other, whatever the number of processors.
    """

    parents: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    fill: int
    operations: int
    height: int
    critical_path: float

    def __repr__(self) -> str:
        return (
            f"Symbolic(n = {len(self.parents)}, fill {self.fill}, operations "
            f"{self.operations:.4g}, height {self.height})"
        )


def symbolic_rows(graph: Graph, structure: Symbolic) -> Rows:
    """Describe the factor of a matrix whose rows are in some order."""
    times = structure.fill / max(graph.n + graph.m, 1)
    return [
        ("fill", f"{structure.fill:,} ({times:.2f} times the lower triangle of the matrix)"),
        ("operations", f"{structure.operations:.4g}"),
        ("height", f"{structure.height:,}"),
        ("critical path", f"{structure.critical_path:.4g} operations"),
    ]


def symbolic(
    matrix: Any,
    perm: npt.ArrayLike | None = None,
    *,
    n: int | None = None,
    symmetrize: bool = False,
) -> Symbolic:
    """Compute the elimination tree and the exact fill of a sparse Cholesky factorization.

    It takes nearly linear time in the entries of the matrix, not of the factor (Gilbert, Ng,
    Peyton, SIAM Journal on Matrix Analysis and Applications 15, 1994), on one CPU thread.

    Parameters
    ----------
    matrix : sparse matrix, path, `Graph`, or other input of `as_graph`
        Only the positions of its entries matter. The diagonal does not; it counts as full. A
        `Graph` is trusted: it may not be checked again.
    perm : integers, shape (n,), optional
        The order of elimination: row ``perm[0]`` comes first. The factor is that of
        ``matrix[perm][:, perm]`` in NumPy's notation. By default, the rows keep their order.
    n : int, optional
        Number of rows, as for `as_graph`: an edge list does not show empty last rows.
    symmetrize : bool
        Add missing reverses of entries, so that the pattern becomes symmetric.

    Returns
    -------
    Symbolic

    Raises
    ------
    GraphError
        If the pattern is not symmetric and `symmetrize` is False, or `matrix` breaks a rule of
        `as_graph`.
    OptionError
        If `perm` is not a permutation of 0..n - 1.

    Examples
    --------
    An arrow matrix, whose first row is full: eliminated first, that row makes the factor dense.

    >>> import numpy as np
    >>> import jetpy
    >>> arrow = np.eye(4, dtype=int)
    >>> arrow[0] = arrow[:, 0] = 1
    >>> jetpy.symbolic(arrow)
    Symbolic(n = 4, fill 10, operations 30, height 4)
    >>> jetpy.symbolic(arrow, [3, 2, 1, 0])
    Symbolic(n = 4, fill 7, operations 13, height 2)
    """
    graph = pattern_graph(matrix, n, symmetrize=symmetrize)
    order = checked_permutation(perm, graph.n)
    with lease(CPU, 1) as host, host.using():
        return analysed(with_required_width(host, graph), graph, order)


def pattern_graph(matrix: Any, n: int | None, *, symmetrize: bool) -> Graph:
    """Return the graph of a symmetric matrix: an edge for each entry off the diagonal.

    Raises
    ------
    GraphError
        If the pattern is not symmetric and `symmetrize` is False, or `matrix` breaks a rule of
        `as_graph`.
    """
    flag("symmetrize", symmetrize)
    graph = None
    if isinstance(matrix, Graph) and n is None and not symmetrize:
        graph = _pattern_of_graph(matrix)
    if graph is None:
        graph = as_graph(matrix, n=n, pattern=True if symmetrize else "symmetric", name="matrix")
    return replace(graph, vertex_weights=np.ones(graph.n, np.int32))


def _pattern_of_graph(graph: Graph) -> Graph | None:
    """Return a graph with edges of weight 1, or None if its rows are not sorted int32 arrays."""
    if any(getattr(array, "dtype", None) != np.int32 for array in (graph.indptr, graph.indices)):
        return None
    ones = np.ones(len(graph.indices), np.int32)
    rows = sp.csr_array((ones, graph.indices, graph.indptr), shape=(graph.n, graph.n))
    return replace(graph, edge_weights=ones) if rows.has_canonical_format else None


def checked_permutation(perm: npt.ArrayLike | None, n: int) -> Permutation:
    """Return a permutation as int32, shape (n,); the identity for None.

    Raises
    ------
    OptionError
        If it is not a permutation of 0..n - 1.
    """
    if perm is None:
        return np.arange(n, dtype=np.int32)
    values = integer_array(perm, "perm")
    if values.shape != (n,):
        raise OptionError(f"perm has shape {values.shape}, but the matrix has {n} rows")
    outside = np.flatnonzero((values < 0) | (values >= n))
    if outside.size:
        i = int(outside[0])
        raise OptionError(f"perm[{i}] is {values[i]}, but must be in 0..{n - 1}")
    times = np.bincount(values, minlength=n)
    if n and times.max() > 1:
        raise OptionError(f"perm is not a permutation: row {int(times.argmax())} occurs twice")
    return values.astype(np.int32)


def analysed(
    host: Backend, graph: Graph, order: Permutation, ranges: Bounds | None = None
) -> Symbolic:
    """Return the structure of the factor of a graph eliminated in an order (int32, shape (n,)).

    `ranges` as for `elimination_tree`.
    """
    tree = elimination_tree(host, graph, order, ranges)
    counts = host.to_host(tree.counts)
    times = np.bincount(counts)
    values = np.flatnonzero(times)
    squares = (
        value**2 * count
        for value, count in zip(values.tolist(), times[values].tolist(), strict=True)
    )
    return Symbolic(
        parents=host.to_host(tree.parents),
        counts=counts,
        fill=int(counts.sum(dtype=np.int64)),
        operations=sum(squares),
        height=int(host.to_host(tree.heights).max(initial=0)),
        critical_path=float(host.to_host(tree.paths).max(initial=0)),
    )


def elimination_tree(
    host: Backend, graph: Graph, order: Permutation, ranges: Bounds | None = None
) -> Elimination:
    """Return the elimination tree of a graph eliminated in an order (int32, shape (n,)).

    A vertex of weight w stands for w rows with the same pattern. `ranges` are the begins and ends
    of disjoint ranges of columns in ascending order, without entries in earlier columns outside of
    the range; all threads analyse them. By default, all columns are one range.
    """
    n = graph.n
    begins, ends = (np.zeros(1, np.int32), np.full(1, n, np.int32)) if ranges is None else ranges
    stops = np.arange(n, dtype=np.int32)
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        stops[begin:end] = end
    tree = _room(host, order, stops)
    found = kernels.Ranges(
        host.from_host(begins), host.from_host(ends), host.empty(n), host.empty(n)
    )
    shared = {"graph": upload(host, graph), "tree": tree, "ranges": found}
    host.parallel_for(n, kernels.begin_columns, tree=tree)
    host.run_tasks(len(begins), kernels.find_parents_in_ranges, **shared)
    upper = host.scan(n, kernels.list_upper, tree=tree, ranges=found)
    host.run_tasks(1, kernels.find_parents_above, n=n, count=upper, **shared)
    host.run_tasks(len(begins), kernels.count_in_ranges, **shared)
    border = host.scan(n, kernels.list_border, **shared)
    host.run_tasks(1, kernels.count_above, n=n, count=border, **shared)
    host.run_tasks(len(begins), kernels.sum_in_ranges, **shared)
    host.run_tasks(1, kernels.sum_above, count=upper, **shared)
    return tree


def _room(host: Backend, order: Permutation, stops: Permutation) -> Elimination:
    """Return arrays for the analysis of an order."""
    n = len(order)

    def empty() -> Array:
        return host.empty(n)

    return Elimination(
        order=host.from_host(order),
        column_of=empty(),
        stops=host.from_host(stops),
        parents=empty(),
        counts=empty(),
        sizes=empty(),
        places=empty(),
        postorder=empty(),
        ancestors=empty(),
        last_leaves=empty(),
        heights=empty(),
        paths=host.empty(n, np.float64),
    )
