"""What is to be done to a bucket list, row by row."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.graph import IntArray


@dataclass(frozen=True, eq=False)
class Edits:
    """Changes of the rows of a bucket list, vertex by vertex.

    Attributes
    ----------
    new_weights : int32
        Weights of the vertices inserted.
    dead : int32, ascending
        Vertices deleted, whose edges are among those deleted.
    vertices : int32, ascending
        Those whose rows change.
    starts : int32, shape (len(vertices) + 1,)
        Where the changes of each one's row begin.
    places, targets, weights : int32
        The changes, as `modify_rows` of `jetpy.workloads.buckets` takes them.
    growth : int32, shape (len(vertices),)
        How many more edges each one gets.
    edges, edge_weight, vertex_weight : int
        How many more undirected edges there are, their weight, and how much more weight vertices
        have.
    """

    new_weights: IntArray
    dead: IntArray
    vertices: IntArray
    starts: IntArray
    places: IntArray
    targets: IntArray
    weights: IntArray
    growth: IntArray
    edges: int
    edge_weight: int
    vertex_weight: int
