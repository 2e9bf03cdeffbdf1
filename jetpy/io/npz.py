"""NumPy archives: the arrays of a graph, or a matrix as `scipy.sparse.save_npz` writes it.

The arrays are ``indptr``, ``indices``, ``edge_weights`` (or ``data``), ``vertex_weights``,
``vertex_sizes`` and ``coordinates``. Missing weights are 1, and sizes and coordinates are optional.
``vertex_weights`` may have a column for each of several weights. Session files are read, too,
unless vertices were deleted: the ids of the other vertices would change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from jetpy.errors import FileFormatError
from jetpy.graph.build import graph_of
from jetpy.graph.convert.objects import raw_of
from jetpy.graph.csr import Graph, named_arrays
from jetpy.graph.raw import Rules
from jetpy.io.archive import read_archive, write_archive
from jetpy.io.limits import is_justified

_FORMATS = {
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "bsr": sp.bsr_array,
    "coo": sp.coo_array,
    "dia": sp.dia_array,
}


def read(stream: BinaryIO, *, rules: Rules, name: str) -> Graph:
    """Read a graph; `rules` as for `jetpy.as_graph`.

    Raises
    ------
    GraphError
        If the file is not a graph archive or is truncated, or the graph breaks a rule.
    """
    arrays = read_archive(stream, "an .npz archive")
    _check_numbers(arrays)
    raw = raw_of(_matrix(arrays) if "format" in arrays else _rows(arrays))
    graph = graph_of(replace(raw, vertex_sizes=arrays.get("vertex_sizes")), rules, name)
    places = arrays.get("coordinates")
    return graph if places is None else graph.with_coordinates(places)


def write(stream: BinaryIO, graph: Graph) -> None:
    """Write the four arrays of a graph, and its coordinates and vertex sizes if it has them."""
    arrays: dict[str, Any] = named_arrays(graph)
    if graph.constraint_weights is not None:
        arrays["vertex_weights"] = graph.constraint_weights
    if graph.vertex_sizes is not None:
        arrays["vertex_sizes"] = graph.vertex_sizes
    if graph.locate is not None:
        arrays["coordinates"] = graph.locate()
    write_archive(stream, **arrays)


def _check_numbers(arrays: dict[str, Any]) -> None:
    """Refuse a session whose vertex ids differ from those of its graph.

    Raises
    ------
    FileFormatError
        If vertices were deleted in the session.
    """
    ids = arrays.get("vertices")
    if ids is None or "settings" not in arrays or np.array_equal(ids, np.arange(len(ids))):
        return
    raise FileFormatError(
        "this is a session with deleted vertices; reading it as a graph would renumber the "
        "others. Use jetpy evaluate or jetpy report, or IncrementalPartitioner.load for its "
        "graph and vertices"
    )


def _rows(arrays: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arrays of an archive in compressed sparse row form."""
    missing = {"indptr", "indices"} - arrays.keys()
    if missing:
        raise FileFormatError(
            f"the archive has no array {' or '.join(sorted(missing))}, only {', '.join(arrays)}"
        )
    edge_weights = arrays.get("edge_weights", arrays.get("data"))
    return arrays["indptr"], arrays["indices"], edge_weights, arrays.get("vertex_weights")


def _matrix(arrays: dict[str, Any]) -> Any:
    """Return the SciPy matrix in an archive of `scipy.sparse.save_npz`."""
    try:
        kind, (rows, columns) = arrays["format"].item(), arrays["shape"].tolist()
        name = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
        entries = arrays["data"].size
        if name not in ("csr", "csc") and not is_justified(rows, entries):
            raise FileFormatError(
                f"{rows} rows are too many for {entries} entries; if this is intended, save the "
                "matrix as csr"
            )
        matrix = _FORMATS[name](_content(name, arrays), shape=(rows, columns))
        return matrix.tocsr() if name == "dia" else matrix
    except (FileFormatError, MemoryError):
        raise
    except Exception as error:  # damaged matrices make SciPy raise all kinds
        raise FileFormatError(f"the archive cannot be read as a matrix: {error}") from error


def _content(name: str, arrays: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of the constructor of a matrix format."""
    data = arrays["data"]
    if name == "dia":
        return data, arrays["offsets"]
    if name == "coo":
        rows_columns = arrays["coords"] if "coords" in arrays else (arrays["row"], arrays["col"])
        return data, tuple(rows_columns)
    return data, arrays["indices"], arrays["indptr"]
