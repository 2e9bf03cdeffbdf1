"""Folders that hold each array of a graph in a .npy file.

The files are ``indptr.npy``, ``indices.npy``, ``edge_weights.npy`` and ``vertex_weights.npy``.
Missing weights are 1.
"""

from __future__ import annotations

from pathlib import Path

from jetpy.errors import FileFormatError, GraphError
from jetpy.graph.build import graph_of
from jetpy.graph.csr import Graph
from jetpy.graph.raw import Raw, Rules
from jetpy.io.archive import read_array
from jetpy.io.compression import Progress, open_input

NEEDED = "indptr", "indices"
WEIGHTS = "edge_weights", "vertex_weights"


def is_graph(path: Path) -> bool:
    """Return whether a folder has the arrays that a graph requires."""
    return all((path / f"{name}.npy").is_file() for name in NEEDED)


def read(path: Path, *, rules: Rules, name: str, progress: Progress | None = None) -> Graph:
    """Read a graph; `rules` as for `jetpy.as_graph`.

    Raises
    ------
    FileFormatError
        If an array is missing or not in NumPy's format, or the graph breaks a rule.
    JetpyError
        If a file cannot be read.
    """
    arrays = {}
    for array in (*NEEDED, *WEIGHTS):
        file = path / f"{array}.npy"
        if array in NEEDED and not file.exists():
            raise FileFormatError(f"{path}: {file.name} is missing")
        if file.exists():
            with open_input(file, progress) as stream:
                arrays[array] = read_array(stream)
    raw = Raw(
        arrays["indices"],
        indptr=arrays["indptr"],
        edge_weights=arrays.get("edge_weights"),
        vertex_weights=arrays.get("vertex_weights"),
    )
    try:
        return graph_of(raw, rules, name)
    except GraphError as error:
        raise FileFormatError(f"{path}: {error}") from error
