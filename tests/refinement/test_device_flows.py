"""Networks from all indices of a level at once, and flows with them: equal to those by pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy import partition
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.multiconstraint import loads
from jetpy.refinement import flows as module
from jetpy.refinement.device_flows import DeviceFlows, DownloadBuffer
from jetpy.refinement.flows import Flows, pair_rows, turns
from jetpy.refinement.host_flows import HostFlows
from jetpy.workloads.common.loads import Loads
from jetpy.workloads.flows.flow_networks import TERMINALS
from jetpy.workloads.flows.regions import KEPT_OUTSIDE, OUTSIDE, Pair, Pairs
from tests.refinement.test_flows import GRAPHS, build_network, flows_on, in_stripes, measures_of
from tests.strategies import weighted_graphs

COMPARED = [
    *range(Pair.PARTS, Pair.PARTS + 2),
    *(Pair.SIZE, Pair.ARCS, Pair.CUT, Pair.NEARER, Pair.FARTHER),
]
"""Fields that do not depend on who builds a network."""


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Build networks on the back end, whatever it is."""
    monkeypatch.setattr(module, "builds_on_device", lambda *_: True)
    return


Edges = dict[tuple[str | int, str | int], int]


def network(
    row: np.ndarray, order: np.ndarray, hops: np.ndarray, arcs: object
) -> tuple[dict[int, int], Edges]:
    """Return the signed hops of a region's vertices, and the capacities of its network's arcs."""
    first, size, node = (int(row[field]) for field in (Pair.FIRST, Pair.SIZE, Pair.NODE))
    vertices = order[first : first + size].tolist()
    names = ["source", "sink", *vertices]
    capacities: Edges = {}
    for place, name in enumerate(names):
        for arc in range(arcs.rows[node + place], arcs.ends[node + place]):
            head, twin = int(arcs.heads[arc]), int(arcs.twins[arc])
            assert arcs.heads[twin] == node + place
            assert arcs.twins[twin] == arc
            pair = name, names[head - node]
            assert pair not in capacities
            capacities[pair] = int(arcs.capacities[arc])
    return dict(zip(vertices, hops[first : first + size].tolist(), strict=True)), capacities


def flows_of(
    kind: type, backend: Backend, graph: Graph, k: int, hops: int, kept: np.ndarray
) -> HostFlows | DeviceFlows:
    places = backend.from_host(np.where(kept, KEPT_OUTSIDE, OUTSIDE).astype(np.int32))
    return kind(backend, upload(backend, graph), k, hops, places)


def built_by_tasks(
    flows: HostFlows, rows: np.ndarray, chosen: np.ndarray, parts: np.ndarray
) -> tuple[np.ndarray, list[tuple[dict[int, int], Edges]]]:
    """Return the rows and networks of a turn, one task per pair."""
    found: list[tuple[dict[int, int], Edges]] = []
    result = rows.copy()

    def improve_pairs(pairs: Pairs, parts: Array) -> np.ndarray:
        pairs, trees = flows.find_regions(pairs, parts)
        level = {"graph": flows.graph, "pairs": pairs, "parts": parts}
        flows.backend.run_tasks(len(rows), build_network, **level, arcs=trees)
        result[:] = pairs.rows.reshape(rows.shape)
        found.extend(network(row, pairs.order, pairs.hops, trees) for row in result)
        return result

    flows.improve_pairs = improve_pairs
    flows.begin_sweep(parts)
    flows.improve(rows.copy(), chosen)
    return result, found


@settings(max_examples=150)
@given(weighted_graphs(2, 40), st.integers(0, 10**6), st.integers(0, 4), st.integers(2, 6))
def test_networks_equal_those_of_tasks(graph: Graph, seed: int, hops: int, k: int) -> None:
    random, backend = np.random.default_rng(seed), get_backend("cpu", 1)
    parts = random.integers(0, k, graph.n).astype(np.int32)
    kept = random.random(graph.n) < random.choice([0, 0.2])
    by_tasks = flows_of(HostFlows, backend, graph, k, hops, kept)
    flows = flows_of(DeviceFlows, backend, graph, k, hops, kept)
    _, problem = flows_on(backend, graph, k)
    cut = flows.begin_sweep(parts)
    for chosen in turns(cut.parts, cut.weights):
        rows = pair_rows(cut.parts[chosen], part_weights(graph, parts, k), problem)
        rows[:, Pair.MAX_DEGREE] = random.integers(1, graph.n)
        rows[:, Pair.ROOMS : Pair.ROOMS + 2] *= random.integers(1, 4)
        expected, networks = built_by_tasks(by_tasks, rows, chosen, parts)
        by_tasks._places.fill(OUTSIDE)
        by_tasks._places[kept] = KEPT_OUTSIDE
        found, turn = flows._find_regions(rows.copy())
        turn, arcs = flows._build_networks(found, turn)
        found = flows._download_rows(len(rows))
        assert found[:, COMPARED].tolist() == expected[:, COMPARED].tolist()
        nodes = sum(found[:, Pair.SIZE]) + TERMINALS * len(found)
        assert len(arcs.rows) == nodes
        assert [network(row, turn.order, turn.hops, arcs) for row in found] == networks
        turn.places.fill(OUTSIDE)
        turn.places[kept] = KEPT_OUTSIDE


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(("k", "imbalance"), [(2, 0.0), (2, 0.1), (5, 0.02), (9, 0.3)])
def test_parts_equal_those_of_tasks(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, name: str, k: int, imbalance: float
) -> None:
    graph = GRAPHS[name]
    start = in_stripes(graph, k, 3)
    pinned = np.where(np.random.default_rng(2).random(graph.n) < 0.1, start, -1).astype(np.int32)
    before = measures_of(graph, start, k)
    for fixed in (None, pinned):
        _, problem = flows_on(backend, graph, k, imbalance)
        level = upload(backend, graph)
        kept = None if fixed is None else backend.from_host(fixed)
        flows = Flows(backend, level, problem, kept)
        assert isinstance(flows.method, DeviceFlows)
        found, after = flows.improve(backend.from_host(start.copy()), before)
        with monkeypatch.context() as patch:
            patch.setattr(module, "builds_on_device", lambda *_: False)
            tasks = Flows(backend, level, problem, kept)
            assert isinstance(tasks.method, HostFlows)
            expected, measures = tasks.improve(backend.from_host(start.copy()), before)
        assert (backend.to_host(found) == backend.to_host(expected)).all()
        assert after.cut == measures.cut == edge_cut(graph, backend.to_host(found))
        assert after.part_weights.tolist() == measures.part_weights.tolist()
        if fixed is not None:
            assert (backend.to_host(found)[fixed >= 0] == start[fixed >= 0]).all()


@pytest.mark.parametrize("name", GRAPHS)
def test_several_weights_keep_their_limits(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Parts outside a limit come no further from it; networks from tasks give equal parts."""
    graph, k, kinds = GRAPHS[name], 4, 2
    start = in_stripes(graph, k, 3)
    weights = np.random.default_rng(5).integers(0, 5, (graph.n, kinds)).astype(np.int32)
    before, held = measures_of(graph, start, k), loads(weights, start, k)
    even = held.sum(axis=0) // k
    upper, lower = np.tile(even + even // 20, (k, 1)), np.tile(even - even // 5, (k, 1))
    found = []
    for there in (False, True):
        monkeypatch.setattr(module, "builds_on_device", lambda *_, there=there: there)
        arrays = weights.ravel(), upper.ravel(), lower.ravel(), held.flatten(), np.ones(kinds, int)
        several = Loads(*map(backend.host.from_host, arrays), kinds=kinds)
        _, problem = flows_on(backend, graph, k, 0.1)
        flows = Flows(backend, upload(backend, graph), problem, several=several)
        parts, after = flows.improve(backend.from_host(start.copy()), before)
        found.append(backend.to_host(parts))
        now = loads(weights, found[-1], k)
        assert now.ravel().tolist() == backend.host.to_host(several.loads).tolist()
        assert (now <= np.maximum(held, upper)).all()
        assert (now >= np.minimum(held, lower)).all()
        assert after.cut == edge_cut(graph, found[-1]) <= before.cut
    assert found[0].tolist() == found[1].tolist()


@pytest.mark.parametrize("preset", ["default", "ultra"])
def test_partitions_equal_those_of_tasks(monkeypatch: pytest.MonkeyPatch, preset: str) -> None:
    """Compare whole runs on a graph that is too large to be one task."""
    graph = GRAPHS["delaunay"]
    options = {"small.max_vertices": 0}
    parts = []
    for there in (False, True):
        monkeypatch.setattr(module, "builds_on_device", lambda *_, there=there: there)
        found = partition(graph, 4, preset=preset, options=options, backend="cpu", threads=2)
        parts.append(found.parts)
    assert (parts[0] == parts[1]).all()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 3))
def test_buffers_are_copied_whole(lengths: list[int], times: int) -> None:
    buffer = DownloadBuffer(get_backend("cpu", 1), np.int64)
    for time in range(times):
        for number, array in enumerate(buffer.divide(*lengths[time:], 1)):
            array[:] = 10 * time + number
        copies = buffer.download()
        assert [len(copy) for copy in copies] == [*lengths[time:], 1]
        assert all((copy == 10 * time + number).all() for number, copy in enumerate(copies))
