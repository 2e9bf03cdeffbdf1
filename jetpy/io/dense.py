"""Dense adjacency matrices as .npy files: entry (u, v) is an edge weight, 0 means no edge."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from jetpy.errors import FileFormatError, GraphError
from jetpy.graph.build import graph_of
from jetpy.graph.convert.matrices import from_dense
from jetpy.graph.csr import Graph
from jetpy.graph.raw import Rules
from jetpy.graph.validate import check_storable
from jetpy.io.archive import read_array

LARGEST = 1 << 14
"""Maximum number of rows of a matrix that jetpy writes."""


def read(stream: BinaryIO, *, rules: Rules, name: str) -> Graph:
    """Read a graph; `rules` as for `jetpy.as_graph`.

    Raises
    ------
    GraphError
        If the file does not hold a square matrix, or the graph breaks a rule.
    """
    matrix = read_array(stream)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biufc":
        raise FileFormatError(
            f"the array has shape {matrix.shape} and type {matrix.dtype}; it must be a square "
            "matrix of numbers"
        )
    if 2 in matrix.shape and matrix.shape != (2, 2):
        raise FileFormatError(
            f"a .npy file must hold a square matrix, not an array of shape {matrix.shape}; for an "
            "edge list, load the array and pass it to jetpy.as_graph, or write it as text"
        )
    return graph_of(from_dense(matrix), rules, name)


def write(stream: BinaryIO, graph: Graph) -> None:
    """Write the matrix of edge weights, int32.

    Raises
    ------
    GraphError
        If the graph has vertex weights or sizes, or edges of weight 0, which would be lost, or too
        many vertices.
    """
    check_storable(graph, "a dense matrix")
    if not graph.edge_weights.all():
        raise GraphError(
            "a dense matrix cannot store edges of weight 0, because 0 means no edge; write .graph "
            "or .npz"
        )
    if graph.n > LARGEST:
        raise GraphError(f"{graph.n} vertices are too many for a dense matrix; write .npz")
    matrix = np.zeros((graph.n, graph.n), np.int32)
    matrix[graph.sources(0, graph.n), graph.indices] = graph.edge_weights
    np.lib.format.write_array(stream, matrix)
