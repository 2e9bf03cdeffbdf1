"""Batches of modifiers, and the checks that do not depend on the edges of the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, IntArray
from jetpy.graph.scaling import weights_of
from jetpy.graph.validate import integer_array


@dataclass(frozen=True, eq=False)
class Batch:
    """Modifiers of a graph that are applied together: all of them, or none if one is invalid.

    The order is fixed: delete edges, delete vertices with their remaining edges, insert vertices,
    insert edges. A batch may therefore delete an edge and insert it with another weight.

    Attributes
    ----------
    delete_edges : integers, shape (b, 2)
    delete_vertices : integers, shape (b,)
    insert_vertices : int, or whole numbers from 0 on, shape (b,)
        Number of new vertices of weight 1, or their weights. They get the next ids; ids of deleted
        vertices are not reused.
    insert_edges : integers, shape (b, 2)
        The ends may be vertices that the batch inserts.
    edge_weights : whole numbers from 0 on, shape (b,), optional
        Weights of the inserted edges; 1 by default.
    """

    delete_edges: npt.ArrayLike = ()
    delete_vertices: npt.ArrayLike = ()
    insert_vertices: int | npt.ArrayLike = ()
    insert_edges: npt.ArrayLike = ()
    edge_weights: npt.ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class Modifiers:
    """A checked and sorted batch.

    An edge is one integer: the smaller vertex id in the high 32 bits, the larger in the low 32
    bits.

    Attributes
    ----------
    deleted_edges, inserted_edges : int64, ascending
    deleted_vertices : int32, ascending
    vertex_weights : int32
        Weights of the inserted vertices.
    edge_weights : int32
        Weights of the inserted edges.
    """

    deleted_edges: npt.NDArray[np.int64]
    deleted_vertices: IntArray
    vertex_weights: IntArray
    inserted_edges: npt.NDArray[np.int64]
    edge_weights: IntArray

    def __len__(self) -> int:
        edges = len(self.deleted_edges) + len(self.inserted_edges)
        return edges + len(self.deleted_vertices) + len(self.vertex_weights)


def ends_of(edges: npt.NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Return the smaller and the larger ends of packed edges."""
    return (edges >> 32).astype(np.int32), (edges & 0xFFFFFFFF).astype(np.int32)


def checked_batch(batch: Batch, is_present: npt.NDArray[np.bool_]) -> Modifiers:
    """Check a batch against the existing vertices, and convert it to `Modifiers`.

    Parameters
    ----------
    is_present : bool, shape (ids,)
        Whether each vertex exists; deleted vertices do not.

    Raises
    ------
    GraphError
        If a vertex does not exist, a vertex or edge occurs twice, an edge is a loop, or a weight is
        negative. The message names the first offender.
    """
    new = _vertex_weights(batch.insert_vertices, INT32_MAX - 1 - len(is_present))
    dead = integer_array(batch.delete_vertices, "vertices to delete")
    known = _Known(is_present)
    known.check(dead, lambda i: "vertices to delete")
    first = _first_repeated(dead)
    if first is not None:
        raise GraphError(f"vertex {first} is deleted twice")
    dead = np.sort(dead).astype(np.int32)
    deleted = _edges(batch.delete_edges, "delete", known)
    inserted = _edges(batch.insert_edges, "insert", _Known(is_present, dead, len(new)))
    weights = weights_of(
        batch.edge_weights,
        len(inserted),
        "weights of inserted edges",
        lambda i: name(inserted[i]),
    )
    order = np.argsort(inserted)
    return Modifiers(np.sort(deleted), dead, new, inserted[order], weights[order])


@dataclass(frozen=True, eq=False)
class _Known:
    """The vertices that may be ends of edges.

    Attributes
    ----------
    is_present : bool
        Whether each vertex exists before the batch.
    dead : int32, ascending
        Vertices that the batch deletes.
    new : int
        Number of vertices that the batch inserts.
    """

    is_present: npt.NDArray[np.bool_]
    dead: IntArray = field(default_factory=lambda: np.empty(0, np.int32))
    new: int = 0

    def check(self, ids: npt.NDArray[Any], source: Callable[[int], str]) -> None:
        """Raise GraphError if an id is not a vertex; `source(i)` describes entry i."""
        old = len(self.is_present)
        outside = (ids < 0) | (ids >= old + self.new)
        if outside.any():
            i = int(outside.argmax())
            raise GraphError(f"{source(i)}: there is no vertex {ids[i]}")
        is_old = ids < old
        gone = is_old.copy()
        gone[is_old] = ~self.is_present[ids[is_old]]
        gone |= is_among(ids, self.dead)
        if gone.any():
            i = int(gone.argmax())
            raise GraphError(f"{source(i)}: vertex {ids[i]} is deleted")


def is_among(values: npt.NDArray[Any], members: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return a mask of the values in `members` (ascending); for few, faster than `numpy.isin`.

    >>> is_among(np.array([3, 1, 7]), np.array([1, 2, 3]))
    array([ True,  True, False])
    """
    if len(members) == 0:
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(members, values), len(members) - 1)
    found: npt.NDArray[np.bool_] = members[places] == values
    return found


def begins_of(values: npt.NDArray[Any]) -> IntArray:
    """Return the index at which each run of equal values begins, int32.

    >>> begins_of(np.array([4, 4, 5, 9, 9])).tolist()
    [0, 2, 3]
    """
    is_first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return np.flatnonzero(is_first).astype(np.int32)


def name(edge: np.int64) -> str:
    """Return the name of a packed edge for messages."""
    u, v = int(edge) >> 32, int(edge) & 0xFFFFFFFF
    return f"edge ({u}, {v})"


def _vertex_weights(given: int | npt.ArrayLike, most: int) -> IntArray:
    """Return the weights of new vertices; at most `most` are allowed."""
    is_number = isinstance(given, int | np.integer)
    weights = np.empty(0, np.int32) if is_number else np.asarray(given)
    number = int(given) if is_number else weights.size  # type: ignore[arg-type]
    if number < 0:
        raise GraphError(f"the number of vertices to insert is {number}; it must be at least 0")
    if number > most:
        raise GraphError(f"{number} new vertices are too many; ids must be below 2**31 - 1")
    return weights_of(
        None if is_number else weights,
        number,
        "weights of inserted vertices",
        lambda i: f"inserted vertex {i}",
    )


def _edges(given: npt.ArrayLike, verb: str, known: _Known) -> npt.NDArray[np.int64]:
    """Return packed edges, in the given order."""
    pairs = np.asarray(given)
    if pairs.size == 0:
        return np.empty(0, np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GraphError(f"edges to {verb} have shape {pairs.shape}; the shape must be (b, 2)")
    ends = integer_array(pairs.ravel(), f"edges to {verb}")
    known.check(ends, lambda i: f"edges to {verb}, row {i // 2}")
    low, high = pairs.min(axis=1).astype(np.int64), pairs.max(axis=1).astype(np.int64)
    if (low == high).any():
        raise GraphError(
            f"vertex {low[low == high][0]} has an edge to itself; self-loops are not allowed"
        )
    edges: npt.NDArray[np.int64] = (low << 32) + high
    first = _first_repeated(edges)
    if first is not None:
        raise GraphError(f"{name(first)} is {verb.removesuffix('e')}ed twice")
    return edges


def _first_repeated(values: npt.NDArray[Any]) -> Any:
    """Return the first value that occurred before, or None."""
    order = np.sort(values)
    if (order[1:] != order[:-1]).all():
        return None
    _, first = np.unique(values, return_index=True)
    again = np.ones(len(values), bool)
    again[first] = False
    return values[again.argmax()]
