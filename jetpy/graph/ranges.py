"""Ranges of consecutive numbers, and the entries of rows of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph

Integers = npt.NDArray[np.int64]


def ranges(firsts: Integers, sizes: Integers) -> Integers:
    """Return ``firsts[i]..firsts[i] + sizes[i] - 1`` for each i, one after the other, int64."""
    before = np.cumsum(sizes) - sizes
    found: Integers = np.arange(int(sizes.sum())) + np.repeat(firsts - before, sizes)
    return found


def entries_of(
    graph: Graph, vertices: npt.NDArray[np.integer[Any]]
) -> tuple[npt.NDArray[np.intp], Integers]:
    """Return the directed edges of vertices: index in `vertices`, and index in `graph.indices`."""
    counts = graph.degrees[vertices].astype(np.int64)
    tails = np.repeat(np.arange(len(vertices)), counts)
    return tails, ranges(graph.indptr[vertices], counts)
