"""Conversion of any supported object: networks, matrices, arrays and edge lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import GraphError
from jetpy.graph.convert.gerrychain import unwrapped
from jetpy.graph.convert.gmsh_model import from_gmsh, is_gmsh_model
from jetpy.graph.convert.lazy_tables import in_memory
from jetpy.graph.convert.libpysal import from_libpysal, is_libpysal
from jetpy.graph.convert.matrices import from_dense, from_scipy
from jetpy.graph.convert.networks import from_igraph, from_networkit, from_networkx, is_from
from jetpy.graph.convert.rustworkx import from_rustworkx, is_rustworkx
from jetpy.graph.convert.scikit_fem import from_scikit_fem
from jetpy.graph.convert.trimesh_mesh import from_trimesh
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.graph.dlpack import is_array, on_host, sparse_on_host
from jetpy.graph.raw import Raw
from jetpy.graph.validate import checked_indptr

ONE_EDGE = ((0, 1), (1, 0))
"""An array of shape (2, 2) that means the same graph as an edge list and as a matrix."""


def from_array(data: Any, n: int | None) -> Raw:
    """Convert an integer edge list of shape (2, E), or a square dense matrix.

    By default, the number of vertices of an edge list is its largest id plus 1.

    Raises
    ------
    GraphError
        If the array is neither, or could be both.
    """
    array = on_host(data)
    is_list = array.ndim == 2 and array.shape[0] == 2 and array.dtype.kind in "iu"
    if is_list and n is None and array.shape[1] == 2 and not np.array_equal(array, ONE_EDGE):
        raise GraphError(
            "an array of shape (2, 2) is ambiguous: for two edges, also give n=, the number of "
            "vertices; for a matrix, give a SciPy matrix"
        )
    if is_list:
        largest = int(array.max()) if array.size else -1
        if n is None and largest >= INT32_MAX - 1:
            raise GraphError(
                f"vertex {largest} is too large; ids must be in 0..{INT32_MAX - 2}: number the "
                "vertices, for example by jetpy.from_edges"
            )
        return Raw(array[1], sources=array[0], n=largest + 1 if n is None else n)
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return from_dense(array)
    raise GraphError(
        f"the array has shape {array.shape} and type {array.dtype}; it must be an edge list, "
        f"integers of shape (2, E), or a square matrix{_as_edge_list(array)}"
    )


def _as_edge_list(array: npt.NDArray[Any]) -> str:
    """Return how to make an edge list of an array, in a message; empty if that is not clear."""
    if array.dtype.kind in "OSU":
        return "; for names of vertices, use jetpy.from_edges"
    if array.ndim != 2 or array.shape == (2, 3) or not _is_whole(array):
        return ""
    integers = "" if array.dtype.kind in "iu" else ".astype(int)"
    if array.shape[1] == 2:
        return f"; give the transpose, array.T{integers}"
    if array.shape[0] == 2:
        return f"; give array{integers}"
    if array.shape[1] == 3:
        return f"; give array[:, :2].T{integers}, and edge_weights=array[:, 2]"
    if array.shape[0] == 3:
        return f"; give array[:2]{integers}, and edge_weights=array[2]"
    return ""


def _is_whole(array: npt.NDArray[Any]) -> bool:
    """Return whether an array contains integers only, of whatever type."""
    return array.dtype.kind in "iu" or (
        array.dtype.kind == "f" and bool((array == np.rint(array)).all())
    )


def is_mesh_object(data: Any) -> bool:
    """Return whether `raw_of` converts `data` to the dual graph of a mesh."""
    return (
        is_from("skfem", "Mesh", data) or is_from("trimesh", "Trimesh", data) or is_gmsh_model(data)
    )


def raw_of(
    data: Any,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
) -> Raw:
    """Return the unchecked arrays of any graph object that `as_graph` accepts.

    Raises
    ------
    GraphError
        If the object is of an unsupported kind.
    """
    if isinstance(data, Graph):
        return Raw(
            data.indices,
            indptr=data.indptr,
            edge_weights=data.edge_weights,
            vertex_weights=(
                data.vertex_weights if data.constraint_weights is None else data.constraint_weights
            ),
            names=data.names,
            locate=data.locate,
            vertex_sizes=data.vertex_sizes,
        )
    if sp.issparse(data):
        return from_scipy(data)
    if isinstance(data, tuple) and 2 <= len(data) <= 4:
        indptr, indices, *weights = data
        _check_rows(indptr, indices)
        return Raw(indices, indptr, *weights)
    data = unwrapped(data)
    if is_from("networkx", "Graph", data):
        return from_networkx(data, weight, node_weight)
    if is_from("igraph", "Graph", data):
        return from_igraph(data, weight, node_weight)
    if is_from("networkit", "Graph", data):
        return from_networkit(data, weight)
    if is_rustworkx(data):
        return from_rustworkx(data, weight, node_weight)
    if is_libpysal(data):
        return from_libpysal(data, weight)
    if is_from("skfem", "Mesh", data):
        return from_scikit_fem(data)
    if is_from("trimesh", "Trimesh", data):
        return from_trimesh(data)
    if is_gmsh_model(data):
        return from_gmsh(data)
    table = in_memory(data)
    if table or hasattr(data, "columns"):
        raise GraphError(
            f"jetpy.from_edges({table or 'table'}, source, target) makes a graph from a table of "
            "edges"
        )
    matrix = sparse_on_host(data)
    if matrix is not None:
        return from_scipy(matrix)
    if is_array(data):
        return from_array(data, n)
    raise GraphError(
        f"cannot make a graph from {type(data).__name__!r}; give a jetpy.Graph, the path of a "
        "file, a SciPy sparse matrix, a tuple (indptr, indices[, edge_weights[, "
        "vertex_weights]]), an edge list of shape (2, E), a square matrix, a graph of networkx, "
        "igraph, NetworKit, rustworkx, GerryChain or libpysal, or an object with edge_index and "
        f"num_nodes; {_hint(data)}"
    )


def _hint(data: Any) -> str:
    """Return how to make a graph of an object of an unsupported kind."""
    if isinstance(data, list):
        lengths = {len(item) if isinstance(item, Sized) else 0 for item in data}
        if len(data) == 2 and len(lengths) == 1 and max(lengths) > 2:
            return "for the sources and the targets of edges, give np.stack((sources, targets))"
        return (
            "for the neighbours of each vertex, give (indptr, indices) or use jetpy.pymetis; for "
            "a list of edges, give numpy.array(edges).T"
        )
    if isinstance(data, Iterable) and not isinstance(data, Mapping):
        return "for edges, give numpy.array(list(edges)).T"
    return "for a table, use jetpy.from_edges; for a mesh, jetpy.dual_graph"


def _check_rows(indptr: Any, indices: Any) -> None:
    """Check that the arrays of a tuple are not an edge list in two arrays, or with its weights.

    Raises
    ------
    GraphError
        If they are of equal length, and the first is not an array of row starts, or one of the two
        has shape (2, E).
    """
    starts, ends = on_host(indptr), on_host(indices)
    if any(array.ndim == 2 and len(array) == 2 for array in (starts, ends)):
        raise GraphError(
            f"the arrays of the tuple have the shapes {starts.shape} and {ends.shape}; (indptr, "
            "indices) must be one-dimensional. For edges with weights, give the edge list, of "
            "shape (2, E), and edge_weights="
        )
    if starts.ndim != 1 or starts.shape != ends.shape or starts.dtype.kind not in "iu":
        return
    try:
        checked_indptr(starts, len(ends))
    except GraphError as error:
        raise GraphError(
            f"{error}; (indptr, indices) are compressed sparse rows. If the two are the sources "
            "and the targets of edges, give one array, np.stack((sources, targets))"
        ) from None
