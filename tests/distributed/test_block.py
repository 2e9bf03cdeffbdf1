"""Upload of the rows of a block: types, weights, and refused input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jetpy
import jetpy.distributed
from jetpy.distributed.block import Block, as_block, upload_rows
from jetpy.distributed.communicator import SelfCommunicator
from jetpy.distributed.piece import Blocks
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.errors import GraphError
from tests.device_backend import DeviceBackend

GRID = jetpy.generators.grid(9, 7)
ENGINES = {"host": CpuBackend, "device": DeviceBackend}


def uploaded(engine: str, block: Block) -> Any:
    backend = ENGINES[engine](1)
    return backend, upload_rows(backend, block, Blocks.of(SelfCommunicator(), block.n))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.int32, np.int64])
def test_any_integers_give_the_same_rows(
    engine: str, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jetpy.distributed.block.UPLOADED", 5)
    weights = 1 + np.arange(2 * GRID.m) % 4
    indptr = GRID.indptr.astype(np.int64 if kind == np.int8 else kind)
    given = indptr, GRID.indices.astype(kind), weights.astype(kind)
    backend, rows = uploaded(engine, as_block(given))
    for found, expected in (
        (rows.indptr, GRID.indptr),
        (rows.indices, GRID.indices),
        (rows.edge_weights, weights),
        (rows.vertex_weights, np.ones(GRID.n)),
    ):
        assert found.dtype == np.int32
        assert np.array_equal(backend.to_host(found), expected)
    totals = rows.vertex_weight, rows.edge_weight, rows.global_nnz
    assert totals == (GRID.n, weights.sum(), 2 * GRID.m)


@pytest.mark.parametrize("value", [1, 5])
def test_a_view_of_a_single_weight_is_repeated(value: int) -> None:
    same = np.broadcast_to(np.int32(value), (2 * GRID.m,))
    _, rows = uploaded("host", as_block((GRID.indptr, GRID.indices, same)))
    assert (rows.edge_weights == value).all()
    assert rows.edge_weight == value * 2 * GRID.m


def test_decreasing_offsets_are_refused() -> None:
    for offsets, message in (
        ([0, 2, 1, 3], "indptr decreases at vertex 1: 2, then 1"),
        ([0, 2**32 + 1, 2, 3], f"indptr decreases at vertex 1: {2**32 + 1}, then 2"),
    ):
        block = as_block((np.array(offsets), np.zeros(3, int)))
        with pytest.raises(GraphError, match=message):
            uploaded("host", block)


def test_too_many_edges_of_a_process_are_refused() -> None:
    indices = np.broadcast_to(np.int32(0), (2**31,))
    block = as_block((np.array([0, 2**31]), indices))
    with pytest.raises(GraphError, match=r"2147483648 directed edges.*use more processes"):
        uploaded("host", block)


@pytest.mark.parametrize("shape", [(2, 3, 4), (11, 5, 7)])
def test_lattices_made_in_slices_equal_whole_ones(
    shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jetpy.distributed.generators.SLICE", 7)
    monkeypatch.setattr("jetpy.distributed.generators.THREADS", 3)
    block, graph = jetpy.distributed.cube(None, *shape), jetpy.generators.cube(*shape)
    assert block.indices.dtype == block.indptr.dtype == np.int32
    assert np.array_equal(block.indptr, graph.indptr)
    assert np.array_equal(block.indices, graph.indices)


def test_total_seconds_include_all_stages() -> None:
    found = jetpy.distributed.partition(
        None, (GRID.indptr, GRID.indices), 4, backend="cpu", threads=1
    )
    seconds = found.seconds
    assert seconds["total"] >= seconds["coarsen"] + seconds["initial"] + seconds["refine"] > 0
