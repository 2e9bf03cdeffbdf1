"""Flows between pairs of parts: compared with SciPy's maximum flows, and invariants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from jetpy import generators, partition
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.device.processes import ALONE
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from jetpy.refinement.cut_edges import CutEdges
from jetpy.refinement.flows import (
    MAX_DEGREE,
    MAX_EDGES,
    MIN_EDGES,
    MIN_YIELD,
    PARTS,
    REGION_SHARE,
    TRIAL_ARCS,
    Flows,
    Yield,
    are_due,
    most_edges,
    pair_rows,
    turns,
)
from jetpy.refinement.host_flows import HostFlows, Trees
from jetpy.refinement.measures import Measures
from jetpy.workloads.common.loads import Loads
from jetpy.workloads.flows import turns as kernels
from jetpy.workloads.flows.flow_networks import ARCS_PER_VERTEX, TERMINALS
from jetpy.workloads.flows.regions import KEPT_OUTSIDE, OUTSIDE, Pair, Pairs
from tests.graphs import isolated, random_graph, star, two_cliques
from tests.modules import import_kernels
from tests.strategies import weighted_graphs

build_network = import_kernels("tests.refinement.flow_probes").build_network

GRAPHS = {
    "delaunay": generators.delaunay(900),
    "grid": generators.grid(30, 40),
    "cube": generators.cube(8, 8, 8),
    "random": random_graph(300, 900, 4, weighted=True),
    "rmat": generators.rmat(9, 8),
    "star": star(60),
    "cliques": two_cliques(30),
    "isolated": isolated(40),
}


def flows_on(
    backend: Backend, graph: Graph, k: int, imbalance: float = 0.1, **options: object
) -> tuple[Flows, Problem]:
    usual = preset("default")
    options = {"flow_sweeps": 2, **options}
    problem = make_problem(
        graph.total_vertex_weight,
        k,
        imbalance,
        1,
        replace(usual, refine=replace(usual.refine, **options)),
    )
    return Flows(backend, upload(backend, graph), problem), problem


def measures_of(graph: Graph, parts: np.ndarray, k: int) -> Measures:
    return Measures(edge_cut(graph, parts), part_weights(graph, parts, k))


def in_stripes(graph: Graph, k: int, seed: int) -> np.ndarray:
    """Return parts of consecutive vertices, with a tenth of the vertices in random parts."""
    random = np.random.default_rng(seed)
    parts = (np.arange(graph.n) * k // graph.n).astype(np.int32)
    anywhere = random.random(graph.n) < 0.1
    parts[anywhere] = random.integers(0, k, int(anywhere.sum()))
    return parts


def first_pair(
    backend: Backend,
    graph: Graph,
    parts: np.ndarray,
    rooms: int | np.ndarray,
    limits: int | np.ndarray = 0,
) -> Pairs:
    """Return the pair of parts 0 and 1 with the limits of its region."""
    between = cut_edges(graph, parts, 0, 1)
    row = np.zeros(Pair.COUNT, np.int64)
    row[Pair.PARTS + 1] = 1
    row[Pair.EDGES_END] = len(between)
    row[Pair.ROOMS : Pair.ROOMS + 2] = rooms
    row[Pair.MAX_DEGREE] = graph.n
    row[Pair.WEIGHTS : Pair.WEIGHTS + 2] = part_weights(graph, parts, max(2, parts.max() + 1))[:2]
    row[Pair.LIMITS : Pair.LIMITS + 2] = limits
    order, hops, places = (backend.full(graph.n, OUTSIDE) for _ in range(3))
    tails, heads = np.array(between, np.int32).reshape(-1, 2).T.copy()
    return Pairs(row, order, hops, tails, heads, places)


def cut_edges(graph: Graph, parts: np.ndarray, p: int, q: int) -> list[tuple[int, int]]:
    """Return the edges between two parts, the end in part p first."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    chosen = (parts[tails] == p) & (parts[graph.indices] == q)
    return sorted(zip(tails[chosen].tolist(), graph.indices[chosen].tolist(), strict=True))


def host_flows(
    backend: Backend, graph: Graph, k: int, hops: int, several: Loads | None = None
) -> HostFlows:
    level, places = upload(backend, graph), backend.full(graph.n, OUTSIDE)
    return HostFlows(backend, level, k, hops, places, ALONE, several)


def network_of(graph: Graph, region: list[int], parts: np.ndarray) -> csr_array:
    """Return the flow network of a region between parts 0 and 1: source, sink, vertices."""
    node = {v: 2 + j for j, v in enumerate(region)}
    capacities = np.zeros((len(region) + 2, len(region) + 2), np.int32)
    for v in region:
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            u = int(graph.indices[e])
            if parts[u] < 2:
                other = node.get(u, int(parts[u]))
                capacities[node[v], other] += graph.edge_weights[e]
                if u not in node:
                    capacities[other, node[v]] += graph.edge_weights[e]
    return csr_array(capacities)


@given(weighted_graphs(2, 14), st.integers(0, 99), st.integers(0, 3))
def test_new_cut_equals_the_maximum_flow(graph: Graph, seed: int, hops: int) -> None:
    """Without weight limits, the new cut of a region is a minimum cut."""
    backend = get_backend("cpu", 1)
    random = np.random.default_rng(seed)
    start = random.integers(0, 3, graph.n).astype(np.int32)
    flows = host_flows(backend, graph, 3, hops)
    ends = np.repeat(start, np.diff(graph.indptr)), start[graph.indices]
    if not ((ends[0] == 0) & (ends[1] == 1)).any():
        return
    weights = part_weights(graph, start, 3)
    rooms = np.maximum(weights[:2] - 1, 0)
    pairs = first_pair(backend, graph, start, rooms, graph.total_vertex_weight)
    parts = start.copy()
    result = flows.improve_pairs(pairs, parts)[0]
    region = pairs.order[: result[Pair.SIZE]].tolist()
    assert len(set(region)) == len(region)
    assert (pairs.places == OUTSIDE).all()
    degrees = np.diff(graph.indptr)[region]
    assert len(flows._trees.heads) == int(degrees.sum()) + ARCS_PER_VERTEX * len(region)
    assert len(flows._trees.sides) == len(region) + TERMINALS
    untouched = np.ones(graph.n, bool)
    untouched[region] = False
    assert (parts[untouched] == start[untouched]).all()
    before, after = (edge_cut(graph, p) for p in (start, parts))
    assert before - after == result[Pair.GAIN]
    flow = maximum_flow(network_of(graph, region, start), 0, 1).flow_value
    assert result[Pair.CUT] - result[Pair.GAIN] == flow
    moved = part_weights(graph, parts, 3) - weights
    assert moved.tolist() == [-result[Pair.WEIGHT], result[Pair.WEIGHT], 0]


def reached(residual: np.ndarray, terminals: np.ndarray) -> np.ndarray:
    """Return which nodes the terminals reach over arcs with residual capacity."""
    found = terminals.copy()
    while True:
        more = found | (residual[found] > 0).any(axis=0)
        if (more == found).all():
            return found
        found = more


def chosen_nodes(
    side: np.ndarray, allowed: np.ndarray, wanted: np.ndarray, adjacent: np.ndarray, most: int
) -> list[int]:
    """Return up to `most` nodes that pierce, in descending preference, lower nodes first.

    Each is adjacent to the side, or to a node before it.
    """
    side, chosen = side.copy(), []
    for level in sorted(set(wanted.tolist()), reverse=True):
        for node in np.flatnonzero((wanted == level) & allowed & ~side).tolist():
            if len(chosen) < most and (adjacent[node] & side).any():
                side[node] = True
                chosen.append(node)
    return chosen


def keeps_limits(moved: np.ndarray, several: Loads) -> bool:
    """Return whether no weight leaves its limits if part 0 gives `moved` to part 1."""
    tables = several.loads, several.limits, several.lower_limits
    before, upper, lower = (table.reshape(2, -1) for table in tables)
    change = np.stack([-moved, moved])
    after = before + change
    return bool(((change <= 0) | (after <= upper)).all() & ((change >= 0) | (after >= lower)).all())


def pierced_cut(
    network: np.ndarray,
    first: np.ndarray,
    hops: np.ndarray,
    weights: np.ndarray,
    part_weights: np.ndarray,
    limits: np.ndarray,
    cut: int,
    several: Loads,
    rows: np.ndarray,
) -> tuple[int, np.ndarray]:
    """Return the flow of the first balanced cut below `cut`, and the nodes before it.

    Vertices are in ascending order. `rows` are the several weights of all nodes.

    This is FlowCutter on a dense network (source, sink, vertices) by SciPy's maximum flows.
    """
    count = len(network)
    terminals = np.arange(count) == np.arange(2)[:, np.newaxis]
    over = np.maximum(part_weights, limits) - limits
    rounds = 0
    while True:
        whole = np.zeros((count + 2, count + 2), np.int32)
        whole[:count, :count] = network
        whole[count, :count] = terminals[0] * 10_000
        whole[:count, count + 1] = terminals[1] * 10_000
        flow = maximum_flow(csr_array(whole), count, count + 1)
        if flow.flow_value >= cut:
            return cut, first
        residual = network - flow.flow.toarray()[:count, :count]
        sides = [reached(residual, terminals[0]), reached(residual.T, terminals[1])]
        before = [sides[0], ~sides[1]]
        moved = [int(weights[first & ~b].sum() - weights[~first & b].sum()) for b in before]
        loads = [part_weights - over + [-m, m] - limits for m in moved]
        overloads = [int(load.max()) for load in loads]
        kept = [
            load <= 0 and keeps_limits(rows[first & ~b].sum(0) - rows[~first & b].sum(0), several)
            for load, b in zip(overloads, before, strict=True)
        ]
        if any(kept):
            is_nearer = kept[0] and (overloads[0] <= overloads[1] or not kept[1])
            return flow.flow_value, before[0 if is_nearer else 1]
        lighter = int(
            (part_weights[0] - moved[0]) * limits[1] > (part_weights[1] + moved[1]) * limits[0]
        )
        wanted = np.where(first == (lighter == 0), hops, -1 - hops)
        wanted = wanted + 1000 * ~(sides[0] | sides[1])
        allowed = ~(terminals[0] | terminals[1])
        chosen = chosen_nodes(sides[lighter], allowed, wanted, network > 0, 1 << rounds // 4)
        if not chosen:
            return cut, first
        terminals[lighter] |= sides[lighter]
        terminals[lighter][chosen] = True
        rounds += 1


def check_balanced_cut(
    graph: Graph, start: np.ndarray, hops: int, slack: int, kinds: int = 0
) -> None:
    """Compare the parts after flows with those of `pierced_cut`, with limits `slack` above half.

    Each vertex has `kinds` further weights, with limits of the same kind on both sides.
    """
    weights = part_weights(graph, start, 2)
    limits = np.full(2, -(-int(weights.sum()) // 2) + slack)
    backend = get_backend("cpu", 1)
    pairs = first_pair(backend, graph, start, np.maximum(weights // 2, 1), limits)
    several = several_weights(graph, start, kinds, slack)
    flows = host_flows(backend, graph, 2, hops, replace(several, loads=several.loads.copy()))
    parts = start.copy()
    result = flows.improve_pairs(pairs, parts)[0]
    size = int(result[Pair.SIZE])
    ascending = np.argsort(pairs.order[:size])
    region = pairs.order[:size][ascending]
    first = np.concatenate([[True, False], start[region] == 0])
    distances = np.concatenate([[0, 0], pairs.hops[:size][ascending]])
    distances = np.where(first, distances, -1 - distances)
    inner = np.concatenate([[0, 0], graph.vertex_weights[region]])
    network = network_of(graph, region.tolist(), start).toarray()
    rows = several.weights.reshape(graph.n, kinds)
    flow, before = pierced_cut(
        *(network, first, distances, inner, weights, limits, int(result[Pair.CUT])),
        several,
        np.concatenate([np.zeros((2, kinds), np.int64), rows[region]]),
    )
    assert result[Pair.CUT] - result[Pair.GAIN] == flow
    assert (parts[region] == 0).tolist() == before[2:].tolist()
    held = np.stack([rows[parts == p].sum(axis=0) for p in range(2)]).astype(np.int64)
    assert flows._several.loads.tolist() == held.ravel().tolist()


def several_weights(graph: Graph, parts: np.ndarray, kinds: int, slack: int) -> Loads:
    """Return weights of 0 and 1, the loads of parts, and limits near half of the total."""
    weights = np.random.default_rng(slack).integers(0, 2, (graph.n, kinds)).astype(np.int32)
    held = np.stack([weights[parts == p].sum(axis=0) for p in range(2)]).astype(np.int64)
    half = held.sum(axis=0) // 2
    return Loads(
        weights=weights.ravel(),
        limits=np.tile(half + slack, 2),
        lower_limits=np.tile(half - (slack + 1) // 2, 2),
        loads=held.ravel(),
        factors=np.ones(kinds, np.int64),
        kinds=kinds,
    )


@given(
    weighted_graphs(8, 24),
    st.integers(0, 99),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(0, 2),
)
def test_balanced_cut_equals_the_oracle(
    graph: Graph, seed: int, hops: int, slack: int, kinds: int
) -> None:
    """With tight limits, piercing finds the same cut as a FlowCutter in plain Python."""
    start = np.random.default_rng(seed).integers(0, 2, graph.n).astype(np.int32)
    ends = np.repeat(start, np.diff(graph.indptr)), start[graph.indices]
    if (ends[0] < ends[1]).any():
        check_balanced_cut(graph, start, hops, slack, kinds)


@pytest.mark.parametrize("kinds", [0, 2])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["delaunay", "grid", "cube", "random"])
def test_balanced_cut_of_many_rounds_equals_the_oracle(name: str, seed: int, kinds: int) -> None:
    small = {
        "delaunay": generators.delaunay(150),
        "grid": generators.grid(10, 14),
        "cube": generators.cube(6, 5, 5),
        "random": random_graph(90, 220, seed, weighted=True),
    }
    start, slack = in_stripes(small[name], 2, seed), 1 + seed + 3 * kinds
    check_balanced_cut(small[name], start, 3, slack, kinds)


def test_cuts_at_the_limits_of_several_weights_equal_the_oracle() -> None:
    """Of these cuts, some bring a weight to its limit, and others to its lower limit.

    With the last two seeds, only the worse balanced one of two minimum cuts keeps the limits.
    """
    for seed in (*range(600), 760, 1797):
        random = np.random.default_rng(seed)
        n = int(random.integers(8, 25))
        graph = random_graph(n, int(random.integers(n // 2, 3 * n // 2)), seed, weighted=True)
        start = random.integers(0, 2, n).astype(np.int32)
        check_balanced_cut(graph, start, 1 + seed % 3, seed % 5, 1 + seed % 2)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(("k", "imbalance"), [(2, 0.0), (2, 0.1), (5, 0.02), (9, 0.3)])
def test_flows_report_their_cut_and_keep_limits(
    backend: Backend, name: str, k: int, imbalance: float
) -> None:
    """Overweight parts get no heavier, and every back end finds the same parts."""
    graph = GRAPHS[name]
    start = in_stripes(graph, k, 3)
    before = measures_of(graph, start, k)
    flows, problem = flows_on(backend, graph, k, imbalance)
    parts, after = flows.improve(backend.from_host(start.copy()), before)
    found = backend.to_host(parts)
    assert after.cut == edge_cut(graph, found) <= before.cut
    assert after.part_weights.tolist() == part_weights(graph, found, k).tolist()
    allowed = np.maximum(before.part_weights, problem.limits)
    assert (after.part_weights <= allowed).all()
    plain = get_backend("cpu", 1)
    again, _ = flows_on(plain, graph, k, imbalance)[0].improve(start.copy(), before)
    assert (again == found).all()


def test_flows_straighten_a_ragged_cut(backend: Backend) -> None:
    graph = generators.grid(40, 8)
    across = np.arange(graph.n) // 8 if graph.indices[1] == 8 else np.arange(graph.n) % 40
    ragged = across + np.random.default_rng(1).integers(-2, 3, graph.n)
    start = (ragged >= 20).astype(np.int32)
    flows, _ = flows_on(backend, graph, 2, 0.1)
    before = measures_of(graph, start, 2)
    _, after = flows.improve(backend.from_host(start), before)
    assert after.cut == 8 < before.cut


def test_capacities_of_heavy_edges_do_not_overflow(backend: Backend) -> None:
    """Capacities may sum to twice the weight of an edge."""
    heavy = 2**28
    graph = generators.grid(2, 2)
    graph = replace(graph, edge_weights=np.full(len(graph.indices), heavy - 1, np.int32))
    start = np.array([0, 1, 1, 0], np.int32)
    flows, _ = flows_on(backend, graph, 2, 0.5)
    before = measures_of(graph, start, 2)
    parts, after = flows.improve(backend.from_host(start), before)
    assert after.cut == edge_cut(graph, backend.to_host(parts))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30),
    st.integers(0, 99),
)
def test_turns_schedule_each_pair_once(pairs: list[tuple[int, int]], seed: int) -> None:
    """No turn has a part twice, and the first has the heaviest pair."""
    named = np.array(sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]}), np.int32)
    named = named.reshape(-1, 2)
    weights = np.random.default_rng(seed).integers(1, 9, len(named))
    found = turns(named, weights)
    assert sorted(np.concatenate([*found, []]).astype(int).tolist()) == list(range(len(named)))
    for turn in found:
        parts = named[turn].ravel().tolist()
        assert len(set(parts)) == len(parts)
    if len(named):
        assert weights[found[0]].max() == weights.max()


@given(weighted_graphs(1, 12), st.integers(1, 5), st.integers(0, 99))
def test_cut_edges_equal_the_oracle(backend: Backend, graph: Graph, k: int, seed: int) -> None:
    parts = np.random.default_rng(seed).integers(0, k, graph.n).astype(np.int32)
    there = CutEdges.find(backend, upload(backend, graph), backend.from_host(parts.copy()), k)
    edges = CutEdges(*map(backend.to_host, (there.tails, there.heads, there.keys, there.weights)))
    pairs = {(p, q): cut_edges(graph, parts, p, q) for q in range(k) for p in range(q)}
    pairs = {pair: between for pair, between in sorted(pairs.items()) if between}
    found = zip(edges.tails.tolist(), edges.heads.tolist(), strict=True)
    assert sorted(found) == sorted(edge for between in pairs.values() for edge in between)
    named = parts[edges.tails].astype(np.int64) * k + parts[edges.heads]
    assert edges.keys.tolist() == named.tolist()
    for most in (1 << 20, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("jetpy.problem.metrics.MAX_COUNTED", most)
            result = edges.pairs(backend.host, k)
        assert result.parts.tolist() == [list(pair) for pair in pairs]
        assert result.edges.tolist() == [len(between) for between in pairs.values()]
        assert result.weights.sum() == edge_cut(graph, parts)
        for weight, (p, q) in zip(result.weights.tolist(), pairs, strict=True):
            between = np.where((parts == p) | (parts == q), parts, -1 - np.arange(graph.n))
            whole = np.unique(between, return_inverse=True)[1]
            others = np.where((parts == p) | (parts == q), p, between)
            rest = np.unique(others, return_inverse=True)[1]
            assert weight == edge_cut(graph, whole) - edge_cut(graph, rest)


def test_flows_run_only_on_levels_with_few_cut_edges() -> None:
    """They do not run if no edge is cut, too many are, or the level is too large."""
    graph = GRAPHS["grid"]
    backend = get_backend("cpu", 1)
    level, weights = upload(backend, graph), np.array([600, 600])
    _, problem = flows_on(backend, graph, 2)
    _, for_small = flows_on(backend, graph, 2, flow_size=graph.n)

    def are_due_for(cut: int, *, finest: bool, problem: Problem = problem) -> bool:
        return are_due(level, problem, Measures(cut, weights), finest=finest)

    assert are_due_for(40, finest=False)
    assert not are_due_for(0, finest=True)
    several = graph.total_edge_weight // 13
    assert are_due_for(several, finest=True)
    assert not are_due_for(several, finest=False)
    assert not are_due_for(graph.total_edge_weight // 2, finest=True)
    assert not are_due_for(40, finest=True, problem=for_small)


@pytest.mark.parametrize("k", [2, 7])
def test_flows_reduce_the_cut(k: int) -> None:
    """Compare whole runs, summed over seeds."""
    graph = generators.delaunay(6000)
    cuts = [
        [partition(graph, k, preset=name, seed=seed, threads=1).cut for seed in range(4)]
        for name in ("fast", "default")
    ]
    assert sum(cuts[1]) < sum(cuts[0])


def test_vertex_has_one_arc_to_each_terminal() -> None:
    """This holds for any number of edges to the rest of a part, so that hubs are cheap."""
    backend = get_backend("cpu", 1)
    graph = star(400)
    parts = (np.arange(graph.n) >= 3).astype(np.int32)
    device = upload(backend, graph)
    pairs = first_pair(backend, graph, parts, rooms=5)
    pairs.places[8:] = KEPT_OUTSIDE
    region = {"graph": device, "pairs": pairs, "parts": parts}
    backend.run_tasks(1, kernels.find_region, **region, max_hops=0)
    nodes = int(pairs.rows[Pair.SIZE]) + TERMINALS
    trees = Trees.with_room(backend, nodes, len(graph.indices) + ARCS_PER_VERTEX * graph.n)
    pairs.rows[Pair.NEXT_ARC] = 0
    backend.run_tasks(1, build_network, **region, arcs=trees)
    source, sink, hub = range(3)
    leaves = list(range(3, nodes))
    arcs = [trees.heads[trees.rows[v] : trees.ends[v]].tolist() for v in range(nodes)]
    assert arcs[hub] == [source, sink, *leaves]
    assert arcs[source] == arcs[sink] == [hub]
    assert pairs.rows[Pair.ARCS] == sum(map(len, arcs))
    assert arcs[leaves[0]] == [hub]
    assert trees.capacities[trees.rows[sink]] == 398 - len(leaves)


def test_hubs_are_in_no_region() -> None:
    backend = get_backend("cpu", 1)
    graph = star(2 * MAX_DEGREE)
    parts = (np.arange(graph.n) >= graph.n // 2).astype(np.int32)
    weights = np.bincount(parts)
    _, problem = flows_on(backend, graph, 2)
    pairs = first_pair(backend, graph, parts, rooms=graph.n)
    row = pair_rows(np.array([[0, 1]], np.int32), weights, problem)[0]
    assert row[Pair.ROOMS : Pair.ROOMS + 2].tolist() == (weights // REGION_SHARE).tolist()
    pairs.rows[Pair.MAX_DEGREE] = row[Pair.MAX_DEGREE]
    device = upload(backend, graph)
    backend.run_tasks(1, kernels.find_region, graph=device, pairs=pairs, parts=parts, max_hops=3)
    assert 0 not in pairs.order[: pairs.rows[Pair.SIZE]]
    assert pairs.rows[Pair.SIZE] == graph.n - graph.n // 2


def region_of(
    graph: Graph, parts: np.ndarray, rooms: list[int], max_hops: int, kept: set[int]
) -> dict[int, int]:
    """Return the hops of the vertices of the region between parts 0 and 1."""
    found: dict[int, int] = {}
    hop = {v for edge in cut_edges(graph, parts, 0, 1) for v in edge} - kept
    is_open = [True, True]
    for number in range(max_hops + 1):
        for p in (0, 1):
            new = [v for v in hop if parts[v] == p and graph.vertex_weights[v] <= rooms[p]]
            weight = int(graph.vertex_weights[new].sum())
            is_open[p] = is_open[p] and weight <= rooms[p]
            if is_open[p]:
                rooms[p] -= weight
                found.update(dict.fromkeys(new, number))
        near = [v for v, at in found.items() if at == number]
        hop = {
            int(u)
            for v in near
            for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
            if parts[u] == parts[v]
        }
        hop -= kept | set(found)
    return found


@given(weighted_graphs(2, 30), st.integers(0, 10**6), st.integers(0, 4))
def test_region_equals_the_oracle(graph: Graph, seed: int, hops: int) -> None:
    random = np.random.default_rng(seed)
    backend, parts = get_backend("cpu", 1), random.integers(0, 3, graph.n).astype(np.int32)
    rooms = random.integers(0, graph.total_vertex_weight + 1, 2)
    pairs = first_pair(backend, graph, parts, rooms)
    kept = np.flatnonzero(random.random(graph.n) < 0.2)
    pairs.places[kept] = KEPT_OUTSIDE
    device = upload(backend, graph)
    backend.run_tasks(1, kernels.find_region, graph=device, pairs=pairs, parts=parts, max_hops=hops)
    size = int(pairs.rows[Pair.SIZE])
    found = dict(zip(pairs.order[:size].tolist(), pairs.hops[:size].tolist(), strict=True))
    assert len(found) == size
    assert found == region_of(graph, parts, rooms.tolist(), hops, set(kept.tolist()))
    assert pairs.places[pairs.order[:size]].tolist() == list(range(size))


def test_regions_stay_within_max_hops_of_the_cut() -> None:
    backend = get_backend("cpu", 1)
    graph = generators.grid(20, 20)
    parts = (np.arange(graph.n) >= graph.n // 2).astype(np.int32)
    device = upload(backend, graph)
    pairs = first_pair(backend, graph, parts, rooms=100)
    backend.run_tasks(1, kernels.find_region, graph=device, pairs=pairs, parts=parts, max_hops=2)
    size = int(pairs.rows[Pair.SIZE])
    assert size == 2 * 3 * 20
    assert np.bincount(pairs.hops[:size]).tolist() == [40, 40, 40]
    trees = Trees.with_room(
        backend, size + TERMINALS, len(graph.indices) + ARCS_PER_VERTEX * graph.n
    )
    region = {"graph": device, "pairs": pairs, "parts": parts}
    pairs.rows[Pair.NEXT_ARC] = 0
    backend.run_tasks(1, build_network, **region, arcs=trees)
    assert pairs.rows[Pair.CUT] == edge_cut(graph, parts)
    assert np.bincount(pairs.hops[:size] + 3).tolist() == [20, 20, 20, 20, 20, 20]
    assert trees.node_weights[: size + TERMINALS].tolist() == [0, 0] + [1] * size
    assert pairs.rows[Pair.NEARER] == -pairs.rows[Pair.FARTHER] == size // 2


def test_flows_end_if_they_gain_little_for_their_arcs() -> None:
    """Twice the arcs of the level have to gain 2 / MIN_YIELD of the cut; a few arcs need not."""
    rows = np.zeros((2, Pair.COUNT), np.int64)
    rows[:, Pair.ARCS] = TRIAL_ARCS // 2 - 1
    yields = Yield(cut=1000 * MIN_YIELD, nnz=TRIAL_ARCS - 2, sweeps=1, k=16 * PARTS)
    yields.add(rows)
    assert not yields.ends
    yields.add(rows)
    assert yields.ends
    yields.gain = 1999
    assert yields.ends
    yields.gain = 2000
    assert not yields.ends
    yields.gain, yields.sweeps = 1000, 2
    assert not yields.ends


@pytest.mark.parametrize(
    ("k", "nnz", "most"),
    [
        (2, 1000, TRIAL_ARCS),
        (PARTS + 1, 8 * TRIAL_ARCS, 2 * TRIAL_ARCS),
        (4 * PARTS, 8 * TRIAL_ARCS, 8 * TRIAL_ARCS),
    ],
)
def test_one_sweep_of_flows_ends_after_a_number_of_arcs(k: int, nnz: int, most: int) -> None:
    for sweeps in (1, 2):
        yields = Yield(cut=1, nnz=nnz, sweeps=sweeps, k=k, gain=1_000_000, arcs=most - 1)
        assert not yields.ends
        yields.arcs = most
        assert yields.ends == (sweeps == 1)


def test_pairs_of_dense_coarse_levels_may_have_a_quarter_of_the_edges() -> None:
    """The average degree of the stencil is 19.8, that of the grid at most 4."""
    backend = get_backend("cpu", 1)
    stencil = upload(backend, generators.cube(8, 8, 8, neighbours=26))
    grid = upload(backend, GRAPHS["grid"])
    for k, most in (2, MAX_EDGES // 2), (64, MIN_EDGES):
        assert most_edges(stencil, k, finest=True) == most
        assert most_edges(stencil, k, finest=False) == most // 4
        assert most_edges(grid, k, finest=False) == most


def test_pairs_with_many_edges_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair with as many edges as the finest level admits is too large for a dense coarse level.

    Several sweeps leave out no pair.
    """
    graph = generators.cube(16, 8, 8, neighbours=26)
    layers = np.arange(graph.n) // 64
    start = (layers + np.random.default_rng(0).integers(2, size=graph.n) > 8).astype(np.int32)
    before = measures_of(graph, start, 2)
    backend = get_backend("cpu", 1)
    monkeypatch.setattr("jetpy.refinement.flows.MAX_EDGES", 2 * before.cut)
    flows, _ = flows_on(backend, graph, 2, flow_sweeps=1)
    _, coarse = flows.improve(start.copy(), before, finest=False)
    assert coarse.cut == before.cut
    _, finest = flows.improve(start.copy(), before, finest=True)
    assert finest.cut < before.cut
    several, _ = flows_on(backend, graph, 2, flow_sweeps=2)
    _, coarse = several.improve(start.copy(), before, finest=False)
    assert coarse.cut < before.cut


def test_turns_after_a_poor_yield_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts are those of the turns up to the first after which the yield is poor."""
    graph = generators.delaunay(3000)
    backend = get_backend("cpu", 1)
    start = partition(graph, 9, preset="fast", threads=1).parts
    before = measures_of(graph, start, 9)
    made: list[int] = []
    original = HostFlows.improve_pairs

    def counted(self: HostFlows, pairs: Pairs, parts: np.ndarray) -> np.ndarray:
        rows = original(self, pairs, parts)
        made.append(int(rows[:, Pair.GAIN].sum()))
        return rows

    monkeypatch.setattr(HostFlows, "improve_pairs", counted)
    flows_on(backend, graph, 9, flow_sweeps=1)[0].improve(start.copy(), before)
    all_made = made.copy()
    made.clear()
    monkeypatch.setattr("jetpy.refinement.flows.TRIAL_ARCS", 0)
    monkeypatch.setattr("jetpy.refinement.flows.MIN_YIELD", 1)
    _, after = flows_on(backend, graph, 9, flow_sweeps=1)[0].improve(start.copy(), before)
    assert made == all_made[:1]
    assert before.cut - after.cut == sum(made) > 0
