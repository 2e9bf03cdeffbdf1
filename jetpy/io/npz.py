"""NumPy archives: the arrays of a graph, or a matrix as `scipy.sparse.save_npz` writes it.

The arrays are called ``indptr``, ``indices``, ``edge_weights`` (or ``data``) and
``vertex_weights``; weights may be missing and are 1 then.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from jetpy.build import as_graph
from jetpy.errors import FileFormatError
from jetpy.graph import Graph


def read(stream: BinaryIO, *, repair: bool, name: str) -> Graph:
    """Read a graph; with `repair`, mend what `jetpy.as_graph` mends.

    Raises
    ------
    GraphError
        When the file is no such archive, is cut short, or the graph breaks a rule.
    """
    return as_graph(_load(stream), repair=repair, name=name)


def write(stream: BinaryIO, graph: Graph) -> None:
    """Write the four arrays of a graph."""
    content = io.BytesIO()  # archives are not written front to back
    np.savez(
        content,
        indptr=graph.indptr,
        indices=graph.indices,
        edge_weights=graph.edge_weights,
        vertex_weights=graph.vertex_weights,
    )
    stream.write(content.getbuffer())


def _load(stream: BinaryIO) -> Any:
    """SciPy matrix or tuple of arrays in an archive."""
    content = io.BytesIO(stream.read())
    if not zipfile.is_zipfile(content):
        raise FileFormatError("this is not an .npz archive, or it is cut short")
    content.seek(0)
    try:
        with np.load(content) as archive:
            arrays = {} if "format" in archive else dict(archive)
        if not arrays:
            content.seek(0)
            return sp.load_npz(content)
    except Exception as error:  # damaged archives make NumPy and zipfile raise all kinds
        raise FileFormatError(f"the archive cannot be read: {error}") from error
    missing = {"indptr", "indices"} - arrays.keys()
    if missing:
        raise FileFormatError(
            f"no array {' or '.join(sorted(missing))} in the archive, only {', '.join(arrays)}"
        )
    edge_weights = arrays.get("edge_weights", arrays.get("data"))
    return arrays["indptr"], arrays["indices"], edge_weights, arrays.get("vertex_weights")
