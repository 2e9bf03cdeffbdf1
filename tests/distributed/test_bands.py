"""Bands of a level in pieces: their vertices, and the partitions that flows find in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.device.device_graph import upload
from jetpy.distributed.band import Bands, marks_of
from jetpy.distributed.band_flows import PieceFlows
from jetpy.distributed.block import upload_rows
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.piece import Blocks, Piece
from jetpy.engines.base import Backend
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.refinement import flows as module
from jetpy.refinement.flows import Flows
from jetpy.workloads.common.loads import Loads
from tests.distributed.test_pieces import ENGINES, block_of, evenly
from tests.distributed.threads import run_on_threads
from tests.refinement.test_flows import GRAPHS, flows_on, in_stripes, measures_of
from tests.strategies import weighted_graphs

HOST = CpuBackend(1)


def piece_of(
    graph: Graph, bounds: np.ndarray, comm: Communicator, backend: Backend = HOST
) -> Piece:
    block = block_of(graph, bounds, comm.rank)
    return upload_rows(backend, block, Blocks.of(comm, block.n)).as_piece()


def with_ghosts(piece: Piece, values: np.ndarray, backend: Backend = HOST) -> np.ndarray:
    own = np.arange(piece.blocks.first, piece.blocks.end)
    everything = np.append(own, backend.to_host(piece.halo.ghosts))
    return values[everything].astype(np.int32)


def cuts(graph: Graph, data: st.DataObject) -> np.ndarray:
    """Return bounds of one to four blocks, some of them empty."""
    size = data.draw(st.integers(1, 4))
    inner = data.draw(st.lists(st.integers(0, graph.n), min_size=size - 1, max_size=size - 1))
    return np.array([0, *sorted(inner), graph.n])


def several_of(graph: Graph, parts: np.ndarray, k: int, seed: int) -> Loads:
    """Return two weights of each vertex; parts may hold a little more than they do."""
    weights = np.random.default_rng(seed).integers(0, 9, (graph.n, 2)).astype(np.int32)
    held = np.zeros((k, 2), np.int64)
    np.add.at(held, parts, weights)
    least, ones = np.zeros(2 * k, np.int64), np.ones(2, np.int64)
    return Loads(weights.ravel(), (held + 5).ravel(), least, held.ravel().copy(), ones, kinds=2)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("on_device", [False, True])
@settings(max_examples=40)
@given(graph=weighted_graphs(2, 40), data=st.data())
def test_flows_in_bands_equal_those_of_the_whole_level(
    on_device: bool, engine: str, graph: Graph, data: st.DataObject
) -> None:
    """With pinned vertices, several weights, few bits, and hubs that are in no region."""
    k, seed = data.draw(st.integers(2, 9)), data.draw(st.integers(0, 10**6))
    bounds, random = cuts(graph, data), np.random.default_rng(seed)
    parts = random.integers(0, k, graph.n).astype(np.int32)
    is_pinned = random.random(graph.n) < random.choice([0, 0.2])
    pinned = np.where(is_pinned, parts, -1).astype(np.int32) if is_pinned.any() else None
    several = several_of(graph, parts, k, seed) if data.draw(st.booleans()) else None
    backend, measures = CpuBackend(1), measures_of(graph, parts, k)
    _, problem = flows_on(backend, graph, k, flow_hops=data.draw(st.integers(0, 4)))

    def run(comm: Communicator) -> Any:
        there = ENGINES[engine]()
        piece = piece_of(graph, bounds, comm, there)
        own = slice(piece.blocks.first, piece.blocks.end)
        kept = None if pinned is None else there.from_host(pinned[own].copy())
        loads = None
        if several is not None:
            both = several.weights.reshape(-1, 2)[own].ravel()
            fields = {**vars(several), "weights": both, "loads": several.loads.copy()}
            loads = Loads(**fields)
        flows = PieceFlows(there, piece, problem, kept, loads)
        given = there.from_host(with_ghosts(piece, parts, there))
        found, after = flows.improve(given, measures)
        return piece, there, there.to_host(found), after, loads

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "builds_on_device", lambda *_: on_device)
        patch.setattr(module, "MAX_DEGREE", data.draw(st.sampled_from([4, 128])))
        patch.setattr("jetpy.distributed.band_flows.MAX_DEGREE", module.MAX_DEGREE)
        patch.setattr("jetpy.distributed.band.BITS", data.draw(st.sampled_from([1, 31])))
        alone = None if several is None else Loads(**{**vars(several), "loads": several.loads + 0})
        level = upload(backend, graph)
        flows = Flows(backend, level, problem, pinned, several=alone)
        expected, known = flows.improve(parts.copy(), measures)
        results = run_on_threads(len(bounds) - 1, run)
    for piece, there, found, after, loads in results:
        assert found.tolist() == with_ghosts(piece, expected, there).tolist()
        assert after.cut == known.cut
        assert after.part_weights.tolist() == known.part_weights.tolist()
        if alone is not None:
            assert loads.loads.tolist() == alone.loads.tolist()


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("sweeps", [1, 3])
def test_flows_of_a_mesh_in_bands(size: int, sweeps: int) -> None:
    """They lower the cut, and exchange less than the whole level."""
    graph, k = GRAPHS["grid"], 5
    parts = in_stripes(graph, k, 3)
    backend, before = CpuBackend(1), measures_of(graph, parts, k)
    _, problem = flows_on(backend, graph, k, flow_sweeps=sweeps)
    flows = Flows(backend, upload(backend, graph), problem)
    expected, measures = flows.improve(parts.copy(), before)
    assert measures.cut < before.cut

    def run(comm: Communicator) -> Any:
        piece = piece_of(graph, evenly(graph.n, size), comm)
        own = PieceFlows(CpuBackend(1), piece, problem)
        found, after = own.improve(with_ghosts(piece, parts), before)
        return found[: piece.n_owned].tolist(), after.cut

    found = run_on_threads(size, run)
    assert [p for parts, _ in found for p in parts] == expected.tolist()
    assert {cut for _, cut in found} == {measures.cut}


def reached(
    graph: Graph, ends: np.ndarray, hops: int, max_degree: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices within some hops of `ends`, and these with all their neighbours."""
    degrees, found = np.diff(graph.indptr), ends.copy()
    for _ in range(hops):
        found |= touched(graph, found & (degrees <= max_degree)) & (degrees <= max_degree)
    return found, found | touched(graph, found)


def touched(graph: Graph, chosen: np.ndarray) -> np.ndarray:
    """Return the vertices with a chosen neighbour."""
    found = np.zeros(graph.n, np.bool_)
    found[graph.indices[np.repeat(chosen, np.diff(graph.indptr))]] = True
    return found


@settings(max_examples=60)
@given(graph=weighted_graphs(2, 30), data=st.data())
def test_bands_equal_the_oracle(graph: Graph, data: st.DataObject) -> None:
    """Each has the vertices near the cuts of its pairs, with rows, and their neighbours."""
    k, bounds = 3, cuts(graph, data)
    size, seed = len(bounds) - 1, data.draw(st.integers(0, 10**6))
    hops, max_degree = data.draw(st.integers(0, 3)), data.draw(st.sampled_from([3, 99]))
    random = np.random.default_rng(seed)
    parts = random.integers(0, k, graph.n)
    sources = graph.sources(0, graph.n)
    of_edges = np.sort([parts[sources], parts[graph.indices]], axis=0)
    edge_keys = of_edges[0] * k + of_edges[1]
    keys = np.unique(edge_keys[of_edges[0] < of_edges[1]]).astype(np.int64)
    owners = random.integers(-1, size, len(keys))

    def run(comm: Communicator) -> Any:
        backend, piece = HOST, piece_of(graph, bounds, comm)
        everywhere = with_ghosts(piece, parts)
        reach = hops, max_degree
        marks = marks_of(backend, piece, everywhere, k, (keys, owners), reach)
        nothing = np.empty((piece.n_owned, 0), np.int32)
        return Bands.find(backend, piece, *marks).exchange(everywhere, everywhere, nothing)

    for rank, band in enumerate(run_on_threads(size, run)):
        ends = np.zeros(graph.n, np.bool_)
        ends[sources[np.isin(edge_keys, keys[owners == rank])]] = True
        with_rows, everything = reached(graph, ends, hops, max_degree)
        assert band.ids.tolist() == np.flatnonzero(everything).tolist()
        assert band.parts.tolist() == parts[everything].tolist()
        assert band.graph.vertex_weights.tolist() == graph.vertex_weights[everything].tolist()
        for i, v in enumerate(band.ids.tolist()):
            row = slice(band.graph.indptr[i], band.graph.indptr[i + 1])
            own = slice(graph.indptr[v], graph.indptr[v + 1] if with_rows[v] else graph.indptr[v])
            assert band.ids[band.graph.indices[row]].tolist() == graph.indices[own].tolist()
            assert band.graph.edge_weights[row].tolist() == graph.edge_weights[own].tolist()


def test_bands_are_smaller_than_the_level() -> None:
    graph, size, k = grid(40, 100), 2, 2
    parts = (np.arange(graph.n) * k // graph.n).astype(np.int32)
    keys, owners = np.array([1], np.int64), np.array([1])

    def run(comm: Communicator) -> int:
        backend, piece = HOST, piece_of(graph, evenly(graph.n, size), comm)
        everywhere = with_ghosts(piece, parts)
        marks = marks_of(backend, piece, everywhere, k, (keys, owners), (3, 128))
        nothing = np.empty((piece.n_owned, 0), np.int32)
        return Bands.find(backend, piece, *marks).exchange(everywhere, everywhere, nothing).graph.n

    first, second = run_on_threads(size, run)
    assert first == 0
    assert 0 < second < graph.n / 2
