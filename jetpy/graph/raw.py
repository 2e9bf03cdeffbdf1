"""Unchecked arrays of a graph, and the rules for checking and repairing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy.typing as npt

from jetpy.graph.coordinates import Locate
from jetpy.graph.csr import IntArray
from jetpy.graph.validate import Naming

Pattern = bool | Literal["symmetric"]
SymmetryCheck = Callable[[IntArray, IntArray, npt.NDArray[Any]], bool]
"""Called with indptr, indices and edge weights."""


@dataclass(frozen=True)
class Rules:
    """Options for checking and repairing a graph.

    Attributes
    ----------
    repair : bool
        Repair self-loops, duplicate edges and missing or unequal reverse edges.
    pattern : bool or 'symmetric'
        Use only the positions of the entries: edges of weight 1 in both directions. With
        'symmetric', refuse an entry whose reverse is missing.
    scale : bool
        Convert weights of any kind to integers.
    n : int or None
        Number of vertices, if the caller gives it.
    are_symmetric : function, optional
        Returns quickly whether all rows are ascending, and each edge has an equal reverse edge. If
        it returns False, SciPy finds the first defect, if any.
    """

    repair: bool = False
    pattern: Pattern = False
    scale: bool = False
    n: int | None = None
    are_symmetric: SymmetryCheck | None = None

    @property
    def any_weights(self) -> bool:
        """Whether edge weights may be numbers other than integers."""
        return bool(self.pattern) or self.scale


PLAIN = Rules()


@dataclass(frozen=True, eq=False)
class Raw:
    """An unchecked graph: compressed sparse rows, or a list of directed edges.

    Attributes
    ----------
    targets : integers, shape (entries,)
        Targets of the directed edges.
    indptr : integers, shape (n + 1,), or None
        Start of each vertex's row in `targets`.
    edge_weights, vertex_weights : numbers, or None for ones
        Vertex weights may have shape (n, c), for several weights of each vertex.
    sources : integers, shape (entries,), or None
        Sources of the directed edges, if `indptr` is None.
    n : int, or None
        Number of vertices, if `indptr` is None.
    vertex_sizes : numbers, shape (n,), or None for ones
    naming : Naming
        How messages name vertices and edges.
    names : sequence or None
        Names of the vertices.
    locate : function without arguments, or None
        Computes the coordinates of the vertices.
    """

    targets: npt.ArrayLike
    indptr: npt.ArrayLike | None = None
    edge_weights: npt.ArrayLike | None = None
    vertex_weights: npt.ArrayLike | None = None
    sources: npt.ArrayLike | None = None
    n: int | None = None
    naming: Naming | None = None
    names: Sequence[Any] | None = None
    locate: Locate | None = None
    vertex_sizes: npt.ArrayLike | None = None


class Names(Naming):
    """Vertex names in messages: `kind`, then the vertex's own name."""

    def __init__(self, names: Sequence[Any], kind: str = "node") -> None:
        self._names, self._kind = names, kind

    def vertex(self, v: int) -> str:
        """Return the name of the vertex with id `v`."""
        return f"{self._kind} {self._names[v]!r}"

    def edge(self, u: int, v: int) -> str:
        """Return the name of the edge between the vertices with ids `u` and `v`."""
        return f"edge ({self._names[u]!r}, {self._names[v]!r})"

    def missing(self, u: int, v: int) -> str:
        """Return the name of the directed edge that the graph lacks."""
        return self.edge(u, v)
