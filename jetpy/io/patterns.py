"""Sparse symmetric matrices as graphs, and permutations of their rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import OptionError
from jetpy.graph.checks import flag
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.validate import integer_array
from jetpy.io.graphs import as_graph


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


def checked_permutation(perm: npt.ArrayLike | None, n: int, name: str = "perm") -> IntArray:
    """Return a permutation as int32, shape (n,); the identity for None. `name` is for messages.

    Raises
    ------
    OptionError
        If it is not a permutation of 0..n - 1.
    """
    if perm is None:
        return np.arange(n, dtype=np.int32)
    values = integer_array(perm, name)
    if values.shape != (n,):
        raise OptionError(f"{name} has shape {values.shape}, but the matrix has {n} rows")
    outside = np.flatnonzero((values < 0) | (values >= n))
    if outside.size:
        i = int(outside[0])
        raise OptionError(f"{name}[{i}] is {values[i]}, but must be in 0..{n - 1}")
    times = np.bincount(values, minlength=n)
    if n and times.max() > 1:
        raise OptionError(f"{name} is not a permutation: row {int(times.argmax())} occurs twice")
    return values.astype(np.int32)
