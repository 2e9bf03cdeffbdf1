"""ParHiP's binary format for large graphs, used by KaHIP, KaMinPar and KaGen.

The header has three 64-bit integers: a bit field, the number of vertices, and the number of
directed edges. Then follow the byte offset of each vertex's neighbours in the file, with the final
end; the neighbours; the vertex weights; the edge weights. The bit field marks absent arrays, and
arrays of 32-bit instead of 64-bit integers. It is 3 in KaHIP's own files.
"""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.graph.build import graph_of
from jetpy.graph.csr import Graph
from jetpy.graph.raw import Raw, Rules
from jetpy.graph.validate import check_storable
from jetpy.io.archive import read_exactly

HEADER = 24
"""Size of the header in bytes."""
ABSENT = {"edge_weights": 1, "vertex_weights": 2}
"""Bits of absent arrays."""
NARROW = {"indptr": 4, "indices": 8, "vertex_weights": 16, "edge_weights": 32}
"""Bits of arrays of 32-bit integers."""


def layout(header: bytes) -> dict[str, tuple[int, np.dtype[Any]]]:
    """Return the length and the type of each array of a file, in their order.

    Raises
    ------
    FileFormatError
        If the header is not in this format.
    """
    if len(header) < HEADER or (kind := int(np.frombuffer(header, "<u8")[0])) >= 64:
        raise FileFormatError("this is not ParHiP's binary format")
    n, entries = np.frombuffer(header, "<u8")[1:].tolist()
    lengths = {"indptr": n + 1, "indices": entries, "vertex_weights": n, "edge_weights": entries}
    return {
        name: (length, np.dtype("<u4" if kind & NARROW[name] else "<u8"))
        for name, length in lengths.items()
        if not kind & ABSENT.get(name, 0)
    }


def read(stream: BinaryIO, *, rules: Rules, name: str) -> Graph:
    """Read a graph; `rules` as for `jetpy.as_graph`.

    Raises
    ------
    GraphError
        If the file is not in this format or is truncated, or the graph breaks a rule.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    for what, (length, width) in layout(stream.read(HEADER)).items():
        content = read_exactly(stream, length * width.itemsize, what)
        arrays[what] = np.frombuffer(content, width)
    starts = _offsets(arrays["indptr"], arrays["indices"].itemsize)
    weights = arrays.get("edge_weights"), arrays.get("vertex_weights")
    return graph_of(Raw(arrays["indices"], starts, *weights), rules, name)


def _offsets(places: npt.NDArray[Any], width: int) -> npt.NDArray[np.int64]:
    """Convert byte offsets of neighbours in the file to indices of entries.

    Raises
    ------
    FileFormatError
        If an offset is not at the start of an entry.
    """
    offsets, beside = np.divmod(places.astype(np.int64) - (HEADER + places.nbytes), width)
    if beside.any():
        v = int(np.argmax(beside != 0))
        raise FileFormatError(f"the neighbours of vertex {v} begin in the middle of a number")
    return offsets


def write(stream: BinaryIO, graph: Graph) -> None:
    """Write a graph with 64-bit integers; weights are written only if they are not all 1.

    Raises
    ------
    GraphError
        If the graph has several weights per vertex, or vertex sizes, which would be lost.
    """
    check_storable(graph, "a ParHiP file", vertex_weights=True)
    kind, weights = 0, []
    for what in ("vertex_weights", "edge_weights"):
        array = getattr(graph, what)
        if (array == 1).all():
            kind |= ABSENT[what]
        else:
            weights.append(array)
    start = HEADER + 8 * (graph.n + 1)
    places = start + 8 * graph.indptr.astype(np.int64)
    for array in ([kind, graph.n, len(graph.indices)], places, graph.indices, *weights):
        stream.write(np.asarray(array).astype("<u8").tobytes())
