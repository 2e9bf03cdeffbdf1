"""Row-by-row edits of a bucket list."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.graph.csr import IntArray
from jetpy.workloads.incremental.buckets import EdgeModifiers


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
