"""What a refinement state must contain, computed from the graph and the parts alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import upload
from jetpy.graph import INT32_MAX, Graph
from jetpy.metrics import part_weights
from jetpy.presets import preset
from jetpy.problem import Metric, Problem, pose
from jetpy.refinement.orders import Order
from jetpy.refinement.state import COUNTERS, REBUILD, WATCHED, Measures, RefinementState
from jetpy.workloads.rebalance import watch_interior

LINE = np.abs(np.subtract.outer(np.arange(64), np.arange(64)))
"""Distances of places on a line: no hierarchy."""


def problem_of(
    graph: Graph, k: int, *, distances: np.ndarray | None = None, **other: Any
) -> Problem:
    """A problem with parts of any weight, unless `other` says something else of it.

    `distances` are those of the parts, shape (k, k); by default all are 1.
    """
    problem = pose(graph.total_vertex_weight, k, float(k), 1, preset("default"))
    if distances is not None:
        other["metric"] = Metric(1, distances[:k, :k].ravel().astype(np.int32))
    return replace(problem, **other)


def state_of(
    backend: Backend, graph: Graph, parts: object, k: int, problem: Problem | None = None
) -> RefinementState:
    problem = problem or problem_of(graph, k)
    state = RefinementState(backend, upload(backend, graph), problem)
    state.start(backend.from_host(np.array(parts, np.int32)))
    return state


def settle(state: RefinementState) -> int:
    """Take the changes of cut and part weights into the measures; return how many moved."""
    backend, account, k = state.backend, state.account, state.k
    backend.pull(account)
    backend.synchronize()
    changes, moved = account.host[k : k + 2 * COUNTERS].reshape(2, COUNTERS).sum(1).tolist()
    cut = changes // 2 + (0 if account.host[k + REBUILD] else state.measures.cut)
    state.measures = Measures(cut, account.host[:k].copy())
    account.host[k : k + REBUILD + 1] = 0
    backend.push(account)
    state.make_room()
    return moved


def give_orders(state: RefinementState, **orders: int) -> None:
    """Write some of a state's orders, by their names."""
    for name, value in orders.items():
        state.orders.host[Order[name.upper()]] = value
    state.backend.push(state.orders)


def on_host(state: RefinementState, array: Array) -> np.ndarray:
    """A copy of one of the state's arrays."""
    return state.backend.to_host(array).copy()


def parts_of(state: RefinementState) -> np.ndarray:
    return on_host(state, state.parts)


def connections(graph: Graph, parts: np.ndarray) -> list[dict[int, int]]:
    """For each vertex, the weight of its edges into each adjacent part."""
    table: list[dict[int, int]] = [defaultdict(int) for _ in range(graph.n)]
    sources = graph.sources(0, graph.n).tolist()
    targets = parts[graph.indices].tolist()
    for v, p, w in zip(sources, targets, graph.edge_weights.tolist(), strict=True):
        table[v][p] += w
    return [dict(row) for row in table]


def distance(problem: Problem, p: int, q: int) -> int:
    """Distance of two parts, which are given as a matrix, or not at all."""
    if problem.metric.kind == 0:
        return int(p != q)
    return int(problem.metric.distances[p * problem.k + q])


def cost_of(graph: Graph, parts: np.ndarray, problem: Problem) -> int:
    """Weight of the undirected edges, each times the distance of its ends."""
    rows = enumerate(connections(graph, parts))
    directed = (w * distance(problem, parts[v], p) for v, row in rows for p, w in row.items())
    return sum(directed) // 2


def rows_of(state: RefinementState) -> list[dict[int, int]]:
    """Parts and weights of each row of the state's table; a part must not have two slots."""
    starts = on_host(state, state.rows).tolist()
    stops = [*starts, len(state.slots)][1:]
    all_slots, all_weights = on_host(state, state.slots), on_host(state, state.weights)
    rows = []
    for start, stop in zip(starts, stops, strict=True):
        slots, weights = all_slots[start:stop].tolist(), all_weights[start:stop].tolist()
        if -1 in slots and len(slots) <= 16:  # the row ends there
            slots = slots[: slots.index(-1)]
        used = [(p, w) for p, w in zip(slots, weights, strict=False) if p >= 0 and w != 0]
        assert len(dict(used)) == len(used)
        rows.append(dict(used))
    return rows


def check_state(state: RefinementState, graph: Graph) -> None:
    """Compare everything that a state keeps up to date with values from scratch."""
    parts = parts_of(state)
    assert state.measures.cut == cost_of(graph, parts, state.problem)
    assert state.measures.part_weights.tolist() == part_weights(graph, parts, state.k).tolist()
    assert rows_of(state) == connections(graph, parts)
    moved = on_host(state, state.sources) != parts
    assert (on_host(state, state.destinations)[moved] == parts[moved]).all()
    check_watched(state, connections(graph, parts), parts.tolist())


def check_watched(state: RefinementState, rows: list[dict[int, int]], parts: list[int]) -> None:
    """Every vertex with adjacent parts is watched, none twice; others have nothing cached."""
    listed = on_host(state, state.watched.vertices)
    count = state.account.host[state.k + WATCHED]
    watched = set(listed[:count].tolist())
    assert len(watched) == count
    assert (listed[count:] == -1).all()
    best = on_host(state, state.best).tolist()
    assert watched == {v for v, destination in enumerate(best) if destination != -3}
    assert watched >= {v for v, row in enumerate(rows) if set(row) - {parts[v]}}
    assert state.watched.count >= count


def watch_all(state: RefinementState) -> None:
    """Let launches look at every vertex."""
    backend, k = state.backend, state.k
    backend.parallel_for(
        state.graph.n,
        watch_interior,
        parts=state.parts,
        vertex_weights=state.graph.vertex_weights,
        plan=backend.from_host(np.repeat(np.array([INT32_MAX, -1]), k)),
        best=state.best,
        watched=state.watched.vertices,
        account=state.account.device,
        k=k,
    )
    backend.pull(state.account)
    backend.synchronize()
    state.make_room()
