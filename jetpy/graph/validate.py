"""Validation and repair of the arrays of a graph.

Every check names the first offending vertex or edge. Self-loops, duplicate edges and missing
or unequal reverse edges can be repaired; all other defects are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import GraphError, OptionError, count
from jetpy.graph.checks import integer
from jetpy.graph.csr import (
    INT32_MAX,
    MAX_ENTRIES,
    MAX_WEIGHT,
    Graph,
    IntArray,
    column_sums,
    is_large,
)
from jetpy.graph.dlpack import on_host

SCALING = "scale=True (--scale) scales weights of any size to fit"
PATTERN = "pattern=True (--pattern) ignores edge weights"
SCALED = "scale=True (--scale) scales weights to integers"
EDGE_WEIGHTS = "edge weights"
VERTEX_WEIGHTS = "vertex weights"
CELL_WEIGHTS = "cell weights"
ROW_WEIGHTS = "weights of the rows"
REPAIRED_WEIGHTS = "repaired edge weights"
_IN_WHOLE_NUMBERS = {
    EDGE_WEIGHTS: f"; {SCALED}, and {PATTERN}",
    VERTEX_WEIGHTS: f"; {SCALED}",
    CELL_WEIGHTS: f"; {SCALED}",
    ROW_WEIGHTS: "; scale=True scales weights to integers",
    REPAIRED_WEIGHTS: f"; {SCALED}",
}
"""Remedies for weights that are not integers, but can be scaled; weights in a batch of changes have
none."""
_TO_FIT = {
    **dict.fromkeys((EDGE_WEIGHTS, VERTEX_WEIGHTS, CELL_WEIGHTS, REPAIRED_WEIGHTS), f"; {SCALING}"),
    ROW_WEIGHTS: "; scale=True scales weights of any size to fit",
}
"""Remedies for weights that are too large."""
RULE = "weights must be integers from 0 on"

Matrix = Any  # a SciPy sparse array; SciPy has no types of its own


class Naming:
    """Names of vertices, edges and options in messages; readers of graphs override them.

    Attributes
    ----------
    base : int
        Id of the first vertex.
    kind, kinds : str
        Name of one vertex, and of several.
    edge_weights : str
        Name of the edge weights; it selects the remedies for wrong ones.
    repeated : str
        What is wrong with duplicate edges.
    repair : str
        The option that repairs a graph.
    """

    base = 0
    kind, kinds = "vertex", "vertices"
    edge_weights = EDGE_WEIGHTS
    repeated = "is listed more than once"
    repair = "repair=True (--repair on the command line)"

    def vertex(self, v: int) -> str:
        """Return the name of the vertex with 0-based id `v`."""
        return f"{self.kind} {v + self.base}"

    @property
    def vertex_weights(self) -> str:
        """Name of the vertex weights; it selects the remedies for wrong ones."""
        return f"{self.kind} weights"

    def edge(self, u: int, v: int) -> str:
        """Return the name of the directed edge from `u` to `v`, 0-based ids."""
        return f"edge ({u + self.base}, {v + self.base})"

    def missing(self, u: int, v: int) -> str:
        """Return the name of a directed edge that the graph lacks."""
        return Naming.edge(self, u, v)


class CellNaming(Naming):
    """Names of cells of a mesh that are the vertices of a graph; `ids` are their cell ids."""

    kind, kinds = "cell", "cells"

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = ids

    def vertex(self, v: int) -> str:
        """Return the name of the cell that is vertex `v`."""
        return super().vertex(int(self.ids[v]))


def row_of(indptr: npt.NDArray[Any], position: int) -> int:
    """Return the row that holds the entry at index `position` of a CSR adjacency."""
    return int(np.searchsorted(indptr, position, side="right")) - 1


def check_order(n: int) -> None:
    """Check a number of vertices.

    Raises
    ------
    GraphError
        If `n` is not in 0..2**31 - 2.
    """
    if n < 0:
        raise GraphError(f"the number of vertices is {n}; it must be at least 0")
    if n >= INT32_MAX:
        raise GraphError(f"{n} vertices are too many; there must be fewer than 2**31 - 1")


def checked_n(n: Any, name: str = "n") -> int | None:
    """Return a number of vertices as an int; None stays None.

    Raises
    ------
    OptionError
        If `n` is neither None nor an integer in 0..2**31 - 2.
    """
    if n is None:
        return None
    count = integer(name, n)
    if not 0 <= count < INT32_MAX:
        raise OptionError(f"{name} is {count}; it must be in 0..{INT32_MAX - 1}")
    return count


def check_n(n: int, found: int, what: str = "the graph") -> None:
    """Check that the caller's number of vertices equals the number found.

    Raises
    ------
    GraphError
        If the two differ.
    """
    if n != found:
        raise GraphError(f"n is {n}, but {what} has {found} vertices; leave n out")


def integer_array(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Return `values` as a one-dimensional array of integers, of any width.

    Raises
    ------
    GraphError
        If `values` has another shape or type, or more than `MAX_ENTRIES` entries.
    """
    array = on_host(values)
    if array.ndim != 1:
        raise GraphError(f"{what} must be one-dimensional, not of shape {array.shape}")
    if array.size > MAX_ENTRIES:
        raise GraphError(f"{what} has {array.size} entries, but may have at most {MAX_ENTRIES}")
    if array.size == 0:
        return array.astype(np.int32, copy=False)
    if array.dtype.kind not in "iu":
        raise GraphError(f"{what} must contain integers, not {array.dtype}")
    return array


def checked_indptr(values: npt.ArrayLike, entries: int) -> IntArray:
    """Return `values` as the row starts of a CSR adjacency with `entries` entries.

    They are int32, or int64 if there are 2**31 entries or more.

    Raises
    ------
    GraphError
        If they do not start with 0, decrease, or do not end with `entries`.
    """
    indptr = integer_array(values, "indptr")
    check_order(max(indptr.size - 1, 0))
    if indptr.size == 0 or indptr[0] != 0:
        raise GraphError(f"indptr must start with 0, not {indptr[:1]}")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        v = int(falls[0])
        raise GraphError(f"indptr decreases at vertex {v}: {indptr[v]}, then {indptr[v + 1]}")
    if indptr[-1] != entries:
        raise GraphError(f"indptr ends with {indptr[-1]}, but there are {entries} indices")
    return np.ascontiguousarray(indptr, np.int32 if entries <= INT32_MAX else np.int64)


def checked_ids(values: npt.ArrayLike, n: int, what: str, source: Callable[[int], str]) -> IntArray:
    """Return `values` as int32 vertex ids; `source(i)` describes entry i in messages.

    Raises
    ------
    GraphError
        If an id is outside 0..n - 1.
    """
    ids = integer_array(values, what)
    if ids.size and (ids.min() < 0 or ids.max() >= n):
        i = int(np.flatnonzero((ids < 0) | (ids >= n))[0])
        raise GraphError(f"{source(i)}: {ids[i]} is not a vertex; ids must be in 0..{n - 1}")
    return np.ascontiguousarray(ids, dtype=np.int32)


def number_array(
    values: npt.ArrayLike, size: int, what: str, source: Callable[[int], str]
) -> npt.NDArray[Any]:
    """Return `values` as an array of shape (size,); numeric values are not checked.

    Python number objects become integers, or floats if one is not an integer or is too large.

    Raises
    ------
    GraphError
        If the shape is not (size,), or an entry is an object that is not a number, such as None.
    """
    weights = on_host(values)
    if weights.shape != (size,):
        raise GraphError(f"the {what} have shape {weights.shape}; there must be {size} of them")
    if weights.dtype != object:
        return weights
    for i, weight in enumerate(weights):
        if not isinstance(weight, Real | Decimal):
            what_else = (
                "text; convert it to a number" if isinstance(weight, str) else "not a number"
            )
            raise GraphError(f"{source(i)} has weight {weight!r}, which is {what_else}")
    plain = np.array(weights.tolist())
    try:
        return plain.astype(np.float64) if plain.dtype == object else plain
    except OverflowError:
        raise GraphError(f"the {what} are too large even for floating-point numbers") from None


def how_else(is_scalable: bool) -> str:
    """Return the remedies for edge weights that are not integers.

    Weights that are negative, infinite or not a number cannot be scaled.
    """
    return f"{SCALED}, and {PATTERN}" if is_scalable else PATTERN


def or_pattern(what: str) -> str:
    """Return the hint about `pattern` for messages on edge weights; empty for other weights.

    A pattern replaces edge weights only; vertex weights remain.
    """
    return f"; {PATTERN}" if what == EDGE_WEIGHTS else ""


def checked_weights(
    values: npt.ArrayLike, size: int, what: str, source: Callable[[int], str]
) -> IntArray:
    """Return `values` as int32 weights from 0 on; `source(i)` names the owner of weight i.

    Integers, booleans and floats with integer values are accepted.

    Raises
    ------
    GraphError
        If there are not `size` weights, one is not an integer in 0..2**31 - 1, or their sum exceeds
        2**46.
    """
    weights = number_array(values, size, what, source)
    if weights.dtype.kind not in "biuf" and size:
        raise GraphError(f"{what} must be integers, not {weights.dtype}{or_pattern(what)}")

    def refuse(wrong: npt.NDArray[np.bool_], why: str) -> None:
        if wrong.any():
            i = int(wrong.argmax())
            raise GraphError(f"{source(i)} has weight {weights[i]}, {why}")

    scaling = _TO_FIT.get(what, "")
    refuse(weights < 0, f"but {RULE}{or_pattern(what)}")
    if weights.dtype.kind == "f":
        is_scalable = bool(((weights >= 0) & np.isfinite(weights)).all())
        remedies = _IN_WHOLE_NUMBERS.get(what, "") if is_scalable else or_pattern(what)
        scaling = scaling if is_scalable else or_pattern(what)
        refuse(weights != np.rint(weights), f"which is not a whole number{remedies}")
    refuse(weights > INT32_MAX, f"which overflows: weights must be below 2**31{scaling}")
    total = int(weights.sum(dtype=np.int64))
    if total > MAX_WEIGHT:
        raise GraphError(
            f"the {what} overflow: their sum is {total}, but must be at most 2**46{scaling}"
        )
    return np.ascontiguousarray(weights, dtype=np.int32)


def checked_columns(weights: npt.ArrayLike, n: int, naming: Naming) -> IntArray:
    """Return several weights per vertex as int32, shape (n, c).

    Raises
    ------
    GraphError
        If the weights are not n rows of integers from 0 on, or a column sums to 2**31 or more.
    """
    array = on_host(weights)
    if array.ndim != 2 or len(array) != n or array.shape[1] == 0:
        raise GraphError(
            f"vertex_weights has shape {array.shape}; it must have shape ({n}, c), where c is the "
            "number of weights of each vertex"
        )
    if array.dtype.kind not in "biuf":
        raise GraphError(f"{naming.vertex_weights} must be integers, not {array.dtype}")
    wrong = ~((array >= 0) & (array <= INT32_MAX))
    if array.dtype.kind == "f":
        wrong |= array != np.rint(array)
    if wrong.any():
        v, j = (int(i) for i in np.argwhere(wrong)[0])
        raise GraphError(
            f"weight {j} of {naming.vertex(v)} is {array[v, j]}; it must be an integer in "
            "0..2**31 - 1"
        )
    totals = column_sums(array, np.float64)
    if (totals > INT32_MAX).any():
        raise GraphError(
            f"the {naming.vertex_weights} overflow: the sum of weight {int(totals.argmax())} over "
            f"all {naming.kinds} is 2**31 or more"
        )
    return np.ascontiguousarray(array, np.int32)


def checked_sizes(sizes: npt.ArrayLike, n: int, naming: Naming) -> IntArray:
    """Return the sizes of n vertices as int32.

    Raises
    ------
    GraphError
        If the sizes are not n integers from 0 on, or they sum to 2**31 or more.
    """
    array = number_array(sizes, n, "vertex sizes", naming.vertex)
    if array.dtype.kind not in "biuf" and n:
        raise GraphError(f"vertex sizes must be integers, not {array.dtype}")
    wrong = ~((array >= 0) & (array <= INT32_MAX) & (array == np.rint(array)))
    if wrong.any():
        v = int(wrong.argmax())
        raise GraphError(
            f"{naming.vertex(v)} has size {array[v]}; sizes must be integers in 0..2**31 - 1"
        )
    total = int(array.sum(dtype=np.float64))
    if total > INT32_MAX:
        raise GraphError(
            f"the vertex sizes sum to {total}; the sum must be below 2**31. Divide them by a number"
        )
    return np.ascontiguousarray(array, np.int32)


def check_one_weight(graph: Graph, what: str) -> None:
    """Check that vertices have one weight each.

    Raises
    ------
    GraphError
        If they have several; the message says that `what` needs one.
    """
    weights = graph.constraint_weights
    if weights is not None and weights.shape[1] > 1:
        raise GraphError(
            f"each vertex has {weights.shape[1]} weights; {what} needs one weight of each vertex. "
            "Pass jetpy.as_graph(graph, vertex_weights=...), or --vertex-weights on the command "
            "line"
        )


def check_storable(graph: Graph, what: str, *, vertex_weights: bool = False) -> None:
    """Check that a file format without vertex sizes can hold a graph.

    Raises
    ------
    GraphError
        If the graph has several weights per vertex, vertex sizes, or vertex weights other than 1
        unless the format has `vertex_weights`; `what` names the format.
    """
    weights = graph.constraint_weights
    if weights is not None and weights.shape[1] > 1:
        lost = "several weights per vertex"
    elif graph.vertex_sizes is not None:
        lost = "vertex sizes"
    elif not vertex_weights and (graph.vertex_weights != 1).any():
        lost = "vertex weights"
    else:
        return
    raise GraphError(f"{what} cannot store {lost}; write .graph or .npz")


def check_small(graph: Graph, what: str) -> None:
    """Check that 32 bits suffice for the directed edges and weight sums of a graph.

    Raises
    ------
    GraphError
        If they do not; the message says that `what` does not support the graph.
    """
    if graph.is_large:
        remedy = "; jetpy.as_graph(graph, scale=True), or --scale, scales weights to fit"
        raise GraphError(
            f"{what} needs a graph with fewer than 2**31 directed edges and sums of weights below "
            f"2**31{'' if is_large(2 * graph.m) else remedy}"
        )


def find_defect(matrix: Matrix, naming: Naming) -> str | None:
    """Return a message about the first repairable defect of an adjacency matrix, or None.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n, n)
        No negative entries; rows in any order, possibly with duplicates.
    naming : Naming
        How the message names vertices and edges.
    """
    if matrix.nnz == 0:
        return None
    v = _first_loop(matrix)
    if v is not None:
        return f"{naming.edge(v, v)} is a self-loop; {naming.repair} drops self-loops"
    reverse = matrix.T.tocsr()
    forward = matrix if matrix.has_sorted_indices else reverse.T.tocsr()
    if not forward.has_canonical_format:
        edge = naming.edge(*_first_duplicate(forward.indptr, forward.indices))
        return f"{edge} {naming.repeated}; {naming.repair} merges duplicates"
    missing = _first_unmatched(forward, reverse)
    if missing is not None:
        u, v = missing
        return (
            f"{naming.edge(u, v)} is listed, but not its reverse, {naming.missing(v, u)}; "
            f"{naming.repair} adds missing directions"
        )
    unequal = np.flatnonzero(forward.data != reverse.data)
    if unequal.size:
        i = int(unequal[0])
        u, v = row_of(forward.indptr, i), int(forward.indices[i])
        return (
            f"{naming.edge(u, v)} has weight {forward.data[i]}, but its reverse, "
            f"{naming.edge(v, u)}, has weight {reverse.data[i]}; {naming.repair} takes the larger "
            "weight"
        )
    return None


def merged(matrix: Matrix) -> Matrix:
    """Drop self-loops, and add the weights of duplicate edges.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n, n)
        No negative entries.

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n), rows sorted
    """
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
    keep = rows != matrix.indices
    if matrix.has_canonical_format:
        if keep.all():
            return matrix
        loops = np.searchsorted(np.flatnonzero(~keep), matrix.indptr)
        starts = (matrix.indptr - loops).astype(matrix.indptr.dtype)
        return sp.csr_array((matrix.data[keep], matrix.indices[keep], starts), shape=matrix.shape)
    data = matrix.data.astype(np.float64 if matrix.dtype.kind == "f" else np.int64, copy=False)
    pairs = (data[keep], (rows[keep], matrix.indices[keep]))
    return sp.coo_array(pairs, shape=matrix.shape).tocsr()  # adds duplicates


def symmetric(matrix: Matrix) -> Matrix:
    """Add missing reverse edges, and give both directions the larger of the two weights.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n, n), rows sorted
        No negative entries, duplicates or self-loops.

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n), rows sorted
    """
    reverse = matrix.T.tocsr()
    is_symmetric = all(
        np.array_equal(getattr(matrix, name), getattr(reverse, name))
        for name in ("indptr", "indices", "data")
    )
    if is_symmetric:
        return matrix
    if matrix.data.all():
        return matrix.maximum(reverse)
    both = with_data(matrix, 1).maximum(with_data(reverse, 1))  # a maximum of 0 is no entry
    places, weights = keys_of(both), np.zeros(both.nnz, matrix.dtype)
    for one in (matrix, reverse):
        own = np.searchsorted(places, keys_of(one))
        weights[own] = np.maximum(weights[own], one.data)
    return with_data(both, weights)


def with_data(matrix: Matrix, data: Any) -> Matrix:
    """Return a CSR matrix with the same entries and other data, or one number for all."""
    given = np.broadcast_to(data, matrix.nnz).copy()
    copied = sp.csr_array((given, matrix.indices, matrix.indptr), shape=matrix.shape)
    copied.has_canonical_format = matrix.has_canonical_format
    return copied


def keys_of(matrix: Matrix) -> npt.NDArray[np.int64]:
    """Return the row and column of each entry of a CSR matrix in one integer, int64."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return np.asarray((rows << 32) + matrix.indices)


def pattern_of(matrix: Matrix, naming: Naming, *, symmetric_only: bool) -> Matrix:
    """Return the symmetric pattern of a matrix without its diagonal; all entries are 1.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, int32, shape (n, n)
    naming : Naming
        How the message names entries.
    symmetric_only : bool
        Refuse an entry whose reverse is missing.

    Returns
    -------
    scipy.sparse.csr_array, int32, shape (n, n), rows sorted

    Raises
    ------
    GraphError
        If the pattern is not symmetric, but has to be.
    """
    once = merged(matrix)
    both_ways = symmetric(once)
    if symmetric_only and both_ways.nnz > once.nnz:
        missing = _first_unmatched(once, once.T.tocsr())
        assert missing is not None
        raise GraphError(
            f"the pattern is not symmetric: it has {naming.edge(*missing)}, but not its reverse; "
            "symmetrize=True (--symmetrize), or pattern=True of as_graph, adds missing reverses"
        )
    both_ways.data = np.ones(both_ways.nnz, np.int32)
    return both_ways


def what_is_repaired(given: Matrix, once: Matrix, both: Matrix) -> str:
    """Describe the repairs: `once` is `merged(given)`, `both` is `symmetric(once)`."""
    rows = np.repeat(np.arange(given.shape[0], dtype=np.int32), np.diff(given.indptr))
    loops = int((rows == given.indices).sum())
    added = both.nnz - once.nnz
    repairs = (
        (loops, "self-loop", "dropped"),
        (given.nnz - loops - once.nnz, "duplicate edge", "merged"),
        (added, "missing direction", "added"),
        (_count_raised(once, both), "weight", "raised to that of the other direction"),
    )
    return ", ".join(f"{count(number, noun)} {verb}" for number, noun, verb in repairs if number)


def _count_raised(once: Matrix, both: Matrix) -> int:
    """Count the entries of a matrix that are larger in another, which has all of them, sorted."""
    places = np.searchsorted(keys_of(both), keys_of(once))
    return int((both.data[places] > once.data).sum())


def _first_loop(matrix: Matrix) -> int | None:
    """Return the first vertex with a self-loop, of any weight, or None."""
    if matrix.data.all():
        loops = np.flatnonzero(matrix.diagonal())
    else:
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        loops = rows[rows == matrix.indices]
    return int(loops[0]) if loops.size else None


def _first_duplicate(indptr: IntArray, indices: IntArray) -> tuple[int, int]:
    """Return the first edge that occurs twice in sorted rows; one must exist."""
    again = indices[1:] == indices[:-1]
    starts = indptr[(indptr > 0) & (indptr < len(indices))]
    again[starts - 1] = False
    position = int(again.argmax())
    return row_of(indptr, position), int(indices[position])


def _first_unmatched(forward: Matrix, reverse: Matrix) -> tuple[int, int] | None:
    """Return the first edge of `forward` without a reverse edge, or None.

    `forward` is sorted and has no duplicates; `reverse` is its transpose. In the first row that
    differs, the smallest entry that only one of the two has belongs to an unmatched edge.
    """
    if np.array_equal(forward.indptr, reverse.indptr):
        position = int((forward.indices != reverse.indices).argmax())
        if forward.indices[position] == reverse.indices[position]:
            return None
        row = row_of(forward.indptr, position)
    else:
        row = int((forward.indptr != reverse.indptr).argmax()) - 1
        shared = int(forward.indptr[row])
        earlier = forward.indices[:shared] != reverse.indices[:shared]
        if earlier.any():
            row = row_of(forward.indptr, int(earlier.argmax()))
    out = set(forward.indices[forward.indptr[row] : forward.indptr[row + 1]].tolist())
    back = set(reverse.indices[reverse.indptr[row] : reverse.indptr[row + 1]].tolist())
    neighbour = min(out ^ back)
    return (row, neighbour) if neighbour in out else (neighbour, row)
