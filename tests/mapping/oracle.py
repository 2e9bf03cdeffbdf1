"""Distances and costs of mappings by definition, with NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from jetpy.graph.csr import Graph

Levels = list[tuple[int, int]]


@st.composite
def levels(draw: st.DrawFn, most: int = 48) -> Levels:
    """Draw arity and distance of each level, lowest first, with at most `most` PEs."""
    result: Levels = []
    for _ in range(draw(st.integers(1, 4))):
        room = most // math.prod(a for a, _ in result)
        result.append((draw(st.integers(1, min(room, 6))), draw(st.integers(0, 20))))
    return result


def numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(":")]


def dense(hierarchy: Sequence[int], values: Sequence[int]) -> np.ndarray:
    """Return the value of the lowest common level of every two PEs, int64; 0 on the diagonal."""
    result = np.zeros((1, 1), np.int64)
    for arity, value in zip(hierarchy, values, strict=True):
        own = np.eye(arity, dtype=np.int64)
        result = np.kron(own, result) + np.kron(1 - own, np.full_like(result, value))
    return result


def entries(graph: Graph, pe: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the PEs of both endpoints and the weight of each directed edge, int64."""
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    return pe[sources], pe[graph.indices], graph.edge_weights.astype(np.int64)


def cost_of(graph: Graph, pe: np.ndarray, distances: np.ndarray) -> int:
    p, q, weights = entries(graph, pe)
    return int((weights * distances[p, q]).sum())


def cut_of(graph: Graph, pe: np.ndarray) -> int:
    p, q, weights = entries(graph, pe)
    return int(weights[p != q].sum()) // 2
