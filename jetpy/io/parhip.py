"""ParHiP's binary format, in which KaHIP, KaMinPar and KaGen keep large graphs.

Three numbers of 64 bits: what the rest is made of, the vertices, the directed edges. Then where the
neighbours of each vertex begin in the file, in bytes, and where they end; neighbours; weights of
vertices; weights of edges. Bits of the first number say what is absent, and what has 32 bits
instead of 64. KaHIP's own files have 3 there.
"""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.graph.build import graph_of
from jetpy.graph.csr import Graph
from jetpy.graph.raw import Raw, Rules
from jetpy.io.archive import read_exactly

HEADER = 24
"""Bytes of the three numbers."""
ABSENT = {"edge_weights": 1, "vertex_weights": 2}
"""Bits of what is absent."""
NARROW = {"indptr": 4, "indices": 8, "vertex_weights": 16, "edge_weights": 32}
"""Bits of what has 32 bits."""


def read(stream: BinaryIO, *, rules: Rules, name: str) -> Graph:
    """Read a graph by rules such as those of `jetpy.as_graph`.

    Raises
    ------
    GraphError
        When the file is none of this format, is cut short, or the graph breaks a rule.
    """
    header = np.frombuffer(stream.read(HEADER), np.uint8)
    if len(header) < HEADER or (kind := int(header.view("<u8")[0])) >= 64:
        raise FileFormatError("not in ParHiP's binary format")
    n, entries = (int(number) for number in header.view("<u8")[1:])
    lengths = {"indptr": n + 1, "indices": entries, "vertex_weights": n, "edge_weights": entries}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for what, length in lengths.items():
        if not kind & ABSENT.get(what, 0):
            width = np.dtype("<u4" if kind & NARROW[what] else "<u8")
            content = read_exactly(stream, length * width.itemsize, what)
            arrays[what] = np.frombuffer(content, width)
    raw = Raw(
        arrays["indices"],
        indptr=_offsets(arrays["indptr"], arrays["indices"].itemsize),
        edge_weights=arrays.get("edge_weights"),
        vertex_weights=arrays.get("vertex_weights"),
    )
    return graph_of(raw, rules, name)


def _offsets(places: npt.NDArray[Any], width: int) -> npt.NDArray[np.int64]:
    """Return places of neighbours, which are given in bytes of the file, as numbers of entries.

    Raises
    ------
    FileFormatError
    """
    offsets, beside = np.divmod(places.astype(np.int64) - (HEADER + places.nbytes), width)
    if beside.any():
        v = int(np.argmax(beside != 0))
        raise FileFormatError(f"the neighbours of vertex {v} begin within a number")
    return offsets


def write(stream: BinaryIO, graph: Graph) -> None:
    """Write a graph, all numbers with 64 bits, and weights only where there are any but 1."""
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
