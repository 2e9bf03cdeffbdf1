"""The selection of long rows, and their lanes."""

from __future__ import annotations

import numpy as np

from jetpy.device.long_rows import find_long_rows
from jetpy.engines.cpu.engine import LONGEST_ROW, CpuBackend
from jetpy.graph.generators import rmat
from jetpy.workloads.common.long_rows import CHUNK, LANES


def test_long_rows_exceed_the_limit() -> None:
    graph, engine = rmat(10, 8), CpuBackend(2)
    engine.longest_row, engine.warp_size = 20, 32
    rows = find_long_rows(engine, graph.indptr, graph.indices.size)
    expected = np.flatnonzero(graph.degrees > 20)
    assert rows.chunks.longest == 20
    assert rows.whole.vertices[: rows.count].tolist() == expected.tolist()


def test_chunks_cover_the_long_rows() -> None:
    graph, engine = rmat(13, 16), CpuBackend(2)
    engine.longest_row, engine.warp_size = 256, 32
    rows = find_long_rows(engine, graph.indptr, graph.indices.size)
    expected = [
        (v, start)
        for v in np.flatnonzero(graph.degrees > 256)
        for start in range(0, graph.degrees[v], CHUNK)
    ]
    chunks = list(zip(rows.chunks.vertices, rows.chunks.starts, strict=True))
    assert chunks[: len(expected)] == expected
    assert rows.chunks.lanes == LANES * len(expected) > LANES * rows.count > 0


def test_cpus_have_one_lane_per_chunk() -> None:
    graph = rmat(13, 16)
    lanes = {}
    for lists in (True, False):
        engine = CpuBackend(2)
        engine.longest_row, engine.warp_size = 256, 1 if lists else 32
        rows = find_long_rows(engine, graph.indptr, graph.indices.size)
        lanes[lists] = rows.chunks.lanes
        assert rows.fine.count == (0 if lists else rows.count)
    assert lanes[False] == LANES * lanes[True] > LANES * rows.count


def test_one_or_two_threads_have_no_long_rows() -> None:
    graph = rmat(13, 16)
    assert graph.degrees.max() > LONGEST_ROW
    counts = [
        find_long_rows(CpuBackend(threads), graph.indptr, graph.indices.size).count
        for threads in (1, 2, 4)
    ]
    assert counts == [0, 0, (graph.degrees > LONGEST_ROW).sum()]
