"""What is to be done to a bucket list, row by row."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.engines.base import Array
from jetpy.graph.csr import IntArray


@dataclass(frozen=True, eq=False)
class EdgeModifiers:
    """Edges to delete and to insert, in the rows of both their ends, on the host or a back end.

    Attributes
    ----------
    vertices : int32, ascending
        Those whose rows change.
    starts : int32, shape (len(vertices) + 1,)
        Where the modifiers of each one's row begin.
    places, targets, weights : int32
        The modifiers, in the order and with the meaning of `jetpy.workloads.incremental.buckets`.
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
        Weights of the vertices inserted.
    dead : int32, ascending
        Vertices deleted, whose edges are among those deleted.
    modifiers : EdgeModifiers
    growth : int32, shape (len(modifiers.vertices),)
        How many more edges each of these vertices gets.
    edges, edge_weight, vertex_weight : int
        How many more undirected edges there are, their weight, and how much more weight vertices
        have.
    """

    new_weights: IntArray
    dead: IntArray
    modifiers: EdgeModifiers
    growth: IntArray
    edges: int
    edge_weight: int
    vertex_weight: int
