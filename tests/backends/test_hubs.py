"""Which vertices are hubs, and that lists and lanes do not meet."""

from __future__ import annotations

import numpy as np
import pytest

from jetpy.backends.hubs import PIECE, find_hubs
from jetpy.backends.numba_engine.engine import NumbaBackend
from jetpy.generators import rmat
from jetpy.graph import INT32_MAX

pytestmark = pytest.mark.usefixtures("compiled")


def test_hubs_are_the_rows_above_the_limit() -> None:
    graph, engine = rmat(10, 8), NumbaBackend(2)
    engine.hub_degree, engine.prefers_lists = 20, False
    hubs = find_hubs(engine, graph.indptr, graph.indices.size)
    expected = np.flatnonzero(graph.degrees > 20)
    assert hubs.degree == 20
    assert hubs.rows[: hubs.count].tolist() == expected.tolist()


def test_pieces_cover_the_rows_of_hubs() -> None:
    graph, engine = rmat(13, 16), NumbaBackend(2)
    engine.hub_degree, engine.prefers_lists = 256, False
    hubs = find_hubs(engine, graph.indptr, graph.indices.size)
    expected = [
        (v, start)
        for v in np.flatnonzero(graph.degrees > 256)
        for start in range(0, graph.degrees[v], PIECE)
    ]
    assert hubs.piece_count > hubs.count > 0
    pieces = zip(hubs.pieces, hubs.starts, strict=True)
    assert list(pieces)[: hubs.piece_count] == expected


def test_launches_over_lists_know_no_hubs() -> None:
    graph, engine = rmat(10, 8), NumbaBackend(2)
    engine.hub_degree = 20
    hubs = find_hubs(engine, graph.indptr, graph.indices.size)
    assert (hubs.count, hubs.degree) == (0, INT32_MAX)
