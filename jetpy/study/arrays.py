"""Graphs as .npy files, a fast transfer to another process; checksums of graphs and parts."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import ARRAYS, Graph, named_arrays


def save_arrays(folder: Path, graph: Graph) -> None:
    """Write each array of a graph to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in named_arrays(graph).items():
        np.save(folder / f"{name}.npy", array)


def load_arrays(folder: Path) -> Graph:
    """Return the graph written by `save_arrays`, unchecked."""
    return Graph(*(np.load(folder / f"{name}.npy") for name in ARRAYS))


def checksum(graph: Graph) -> str:
    """Return the first 16 digits of the SHA-256 of a graph's arrays, each as little-endian int64.

    Examples
    --------
    >>> from jetpy import generators
    >>> checksum(generators.grid(2, 3)) == checksum(generators.grid(3, 2))
    False
    """
    digest = hashlib.sha256()
    for array in named_arrays(graph).values():
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def checksum_of_parts(parts: npt.ArrayLike) -> str:
    """Return the first 16 digits of the SHA-256 of parts, shape (n,), as little-endian int32.

    Examples
    --------
    >>> checksum_of_parts([0, 1])
    '01acecb507abfe1a'
    """
    return hashlib.sha256(np.asarray(parts, "<i4").tobytes()).hexdigest()[:16]
