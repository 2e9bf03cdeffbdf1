"""Row-by-row edits of a bucket list."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.engines.base import Array
from jetpy.graph.csr import IntArray


@dataclass(frozen=True, eq=False)
class EdgeModifiers:
    """Edges to delete and to insert, in the rows of both ends, on the host or a back end.

    Attributes
    ----------
    vertices : int32, ascending
        Vertices whose rows change.
    starts : int32, shape (len(vertices) + 1,)
        Start of each row's modifiers, then the end.
    places, targets, weights : int32
        The modifiers, in the order and encoding of `jetpy.workloads.incremental.buckets`.
    """

    vertices: Array
    starts: Array
    places: Array
    targets: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Edits:
    """Changes of a bucket list, on the host.

    Attributes
    ----------
    new_weights : int32
        Weights of inserted vertices.
    dead : int32, ascending
        Deleted vertices; `modifiers` deletes their edges.
    modifiers : EdgeModifiers
    growth : int32, shape (len(modifiers.vertices),)
        Change in the degree of each of these vertices.
    edges, edge_weight, vertex_weight : int
        Changes in the number and weight of undirected edges, and in the weight of vertices.
    """

    new_weights: IntArray
    dead: IntArray
    modifiers: EdgeModifiers
    growth: IntArray
    edges: int
    edge_weight: int
    vertex_weight: int
