"""Which vertices are rows, and that lists and lanes do not meet."""

from __future__ import annotations

import numpy as np
import pytest

from jetpy.backends.long_rows import find_long_rows
from jetpy.backends.numba_engine.engine import NumbaBackend
from jetpy.generators import rmat
from jetpy.graph import INT32_MAX
from jetpy.workloads.long_rows import CHUNK

pytestmark = pytest.mark.usefixtures("compiled")


def test_rows_are_the_rows_above_the_limit() -> None:
    graph, engine = rmat(10, 8), NumbaBackend(2)
    engine.longest_row, engine.prefers_lists = 20, False
    rows = find_long_rows(engine, graph.indptr, graph.indices.size)
    expected = np.flatnonzero(graph.degrees > 20)
    assert rows.longest == 20
    assert rows.whole.vertices[: rows.count].tolist() == expected.tolist()


def test_chunks_cover_the_rows_of_rows() -> None:
    graph, engine = rmat(13, 16), NumbaBackend(2)
    engine.longest_row, engine.prefers_lists = 256, False
    rows = find_long_rows(engine, graph.indptr, graph.indices.size)
    expected = [
        (v, start)
        for v in np.flatnonzero(graph.degrees > 256)
        for start in range(0, graph.degrees[v], CHUNK)
    ]
    assert rows.chunk_count > rows.count > 0
    chunks = zip(rows.vertices, rows.starts, strict=True)
    assert list(chunks)[: rows.chunk_count] == expected


def test_launches_over_lists_know_no_rows() -> None:
    graph, engine = rmat(10, 8), NumbaBackend(2)
    engine.longest_row = 20
    rows = find_long_rows(engine, graph.indptr, graph.indices.size)
    assert (rows.count, rows.longest) == (0, INT32_MAX)
