"""Folders that hold each array of a graph in a .npy file.

The files are ``indptr.npy``, ``indices.npy``, ``edge_weights.npy`` and ``vertex_weights.npy``.
Missing weights are 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy.typing as npt

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


def arrays_of(path: Path, read_file: Callable[[Path], npt.NDArray[Any]]) -> dict[str, Any]:
    """Return the arrays in a folder by name, each read from its file by `read_file`.

    Raises
    ------
    FileFormatError
        If an array is missing.
    """
    arrays = {}
    for name in (*NEEDED, *WEIGHTS):
        file = path / f"{name}.npy"
        if file.exists():
            arrays[name] = read_file(file)
        elif name in NEEDED:
            raise FileFormatError(f"{path}: {file.name} is missing")
    return arrays


def read(path: Path, *, rules: Rules, name: str, progress: Progress | None = None) -> Graph:
    """Read a graph; `rules` as for `jetpy.as_graph`.

    Raises
    ------
    FileFormatError
        If an array is missing or not in NumPy's format, or the graph breaks a rule.
    JetpyError
        If a file cannot be read.
    """

    def read_file(file: Path) -> npt.NDArray[Any]:
        with open_input(file, progress) as stream:
            return read_array(stream)

    arrays = arrays_of(path, read_file)
    raw = Raw(arrays["indices"], arrays["indptr"], *map(arrays.get, WEIGHTS))
    try:
        return graph_of(raw, rules, name)
    except GraphError as error:
        raise FileFormatError(f"{path}: {error}") from error
