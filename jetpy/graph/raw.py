"""Plain arrays of a graph, not checked yet, and how they are to be taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from jetpy.graph.coordinates import Locate
from jetpy.graph.validate import Naming


@dataclass(frozen=True)
class Rules:
    """How to take a graph.

    Attributes
    ----------
    repair : bool
        Mend self-loops, duplicate edges and missing or unequal reverse edges.
    pattern : bool
        Take where entries are, whatever they are: edges of weight 1 in both directions.
    scale : bool
        Turn positive weights of any kind into integers.
    n : int or None
        Number of vertices, where the caller gives it.
    """

    repair: bool = False
    pattern: bool = False
    scale: bool = False
    n: int | None = None

    @property
    def any_weights(self) -> bool:
        """Whether weights of edges may be other numbers than integers."""
        return self.pattern or self.scale


PLAIN = Rules()


@dataclass(frozen=True, eq=False)
class Raw:
    """A graph in compressed sparse row form, or as a list of directed edges.

    Attributes
    ----------
    targets : integers, shape (entries,)
        Heads of directed edges.
    indptr : integers, shape (n + 1,), or None
        Where the edges of each vertex begin.
    sources : integers, shape (entries,), or None
        Their tails, where there is no `indptr`.
    n : int, or None
        Number of vertices, where there is no `indptr`.
    edge_weights, vertex_weights : numbers, or None for ones
    naming : Naming
        How messages name vertices and edges.
    names : sequence or None
        Names of the vertices.
    locate : function without arguments, or None
        Says where the vertices are.
    """

    targets: npt.ArrayLike
    indptr: npt.ArrayLike | None = None
    sources: npt.ArrayLike | None = None
    n: int | None = None
    edge_weights: npt.ArrayLike | None = None
    vertex_weights: npt.ArrayLike | None = None
    naming: Naming | None = None
    names: Sequence[Any] | None = None
    locate: Locate | None = None


class Names(Naming):
    """Names vertices by names of their own; `kind` is what they are called."""

    def __init__(self, names: Sequence[Any], kind: str = "node") -> None:
        self._names, self._kind = names, kind

    def vertex(self, v: int) -> str:
        """Name of vertex number `v`."""
        return f"{self._kind} {self._names[v]!r}"

    def edge(self, u: int, v: int) -> str:
        """Name of the edge between vertices number `u` and `v`."""
        return f"edge ({self._names[u]!r}, {self._names[v]!r})"
