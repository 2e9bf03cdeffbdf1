"""The check that rows are ascending and each edge has an equal reverse edge."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jetpy.device.row_checks import are_symmetric
from jetpy.graph.generators import delaunay

Rows = list[list[tuple[int, int]]]
"""The neighbours and weights of each vertex."""


@st.composite
def almost_symmetric(draw: st.DrawFn) -> Rows:
    """Draw the ascending rows of a graph, and change a few of their entries."""
    n = draw(st.integers(1, 6))
    pairs = [(u, v) for u in range(n) for v in range(u)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    rows: Rows = [[] for _ in range(n)]
    for u, v in edges:
        weight = draw(st.integers(0, 3))
        rows[u].append((v, weight))
        rows[v].append((u, weight))
    rows = [sorted(row) for row in rows]
    for _ in range(draw(st.integers(0, 2))):
        row = rows[draw(st.integers(0, n - 1))]
        place = draw(st.integers(0, len(row)))
        entry = draw(st.integers(0, n - 1)), draw(st.integers(0, 3))
        row[place : place + draw(st.integers(0, 1))] = draw(st.sampled_from([[], [entry]]))
    return rows


def is_symmetric(rows: Rows) -> bool:
    weights = {(u, v): w for u, row in enumerate(rows) for v, w in row}
    return all(before < after for row in rows for (before, _), (after, _) in pairwise(row)) and all(
        u != v and weights.get((v, u)) == w for (u, v), w in weights.items()
    )


def check(rows: Rows) -> bool:
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    entries = np.array([entry for row in rows for entry in row], np.int32).reshape(-1, 2)
    return are_symmetric(indptr, entries[:, 0].copy(), entries[:, 1].copy())


@given(almost_symmetric())
@example([[], [(0, 1)]])
@example([[(1, 1)], []])
@example([[(1, 1), (1, 1)], [(0, 1), (0, 1)]])
@example([[(2, 1), (1, 1)], [(0, 1)], [(0, 1)]])
@example([[(1, 1)], [(0, 2)]])
@example([[(0, 1)]])
@example([[]])
def test_check_equals_the_oracle(rows: Rows) -> None:
    assert check(rows) == is_symmetric(rows)


def test_edge_to_a_lower_vertex_without_a_reverse_edge_is_found() -> None:
    graph = delaunay(500, seed=1)
    last = int(graph.indptr[300])
    indices = graph.indices.copy()
    assert are_symmetric(graph.indptr, indices, graph.edge_weights)
    indices[last] = 0 if indices[last] else 1
    assert not are_symmetric(graph.indptr, indices, graph.edge_weights)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_other_types_are_left_to_the_host(kind: type) -> None:
    graph = delaunay(100, seed=1)
    assert not are_symmetric(graph.indptr, graph.indices, graph.edge_weights.astype(kind))
