"""A graph as files that NumPy reads straight into place: the quick way into another process."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jetpy.graph import Graph

ARRAYS = ("indptr", "indices", "edge_weights", "vertex_weights")


def save_arrays(folder: Path, graph: Graph) -> None:
    """Write each array of a graph to a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(graph, name))


def load_arrays(folder: Path) -> Graph:
    """Return the graph that `save_arrays` wrote; nothing is checked."""
    return Graph(*(np.load(folder / f"{name}.npy") for name in ARRAYS))
