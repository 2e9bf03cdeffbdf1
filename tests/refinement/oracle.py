"""The expected contents of a refinement state, computed from the graph and the parts."""

from __future__ import annotations

import hashlib
import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

import numpy as np

from jetpy.device.device_graph import upload
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.problem.metrics import part_weights
from jetpy.problem.presets import preset
from jetpy.problem.problem import Metric, Problem, make_problem
from jetpy.refinement.measures import Measures
from jetpy.refinement.state import RefinementState
from jetpy.workloads.common.control_block import COUNTER_GAP, COUNTER_STRIPES, Control, Counter
from jetpy.workloads.common.groups import INACTIVE, NO_VERTEX
from jetpy.workloads.refinement.connectivity import FEW, LONGEST_LIST, UNUSED, mark_narrow
from jetpy.workloads.refinement.plan import NO_LIMIT, Row
from jetpy.workloads.refinement.rebalance import activate_interior

LINE = np.abs(np.subtract.outer(np.arange(64), np.arange(64)))
"""Distances of PEs on a line, which has no hierarchy."""

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
MAX_ANSWERS = 2000
"""Number of results cached per oracle."""


def problem_of(
    graph: Graph, k: int, *, distances: np.ndarray | None = None, **other: Any
) -> Problem:
    """Return a problem without an effective limit; `other` replaces its fields.

    `distances` between parts have shape (k, k); by default all are 1.
    """
    problem = make_problem(graph.total_vertex_weight, k, float(k), 1, preset("default"))
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


def finish_iteration(state: RefinementState) -> int:
    """Add the changes of cut and part weights to the measures; return the number of moves."""
    backend, counters = state.backend, state.dual.counters.host
    backend.sync_host(state.dual.counters)
    backend.sync_host(state.dual.part_weights)
    backend.synchronize()
    both = counters[: Counter.REBUILD].reshape(2, COUNTER_STRIPES * COUNTER_GAP)
    changes, moved = both.sum(1).tolist()
    cut = changes // 2 + (0 if counters[Counter.REBUILD] else state.measures.cut)
    state.measures = Measures(cut, state.dual.part_weights.host.copy())
    counters[: Counter.REBUILD + 1] = 0
    backend.sync_device(state.dual.counters)
    state.make_room()
    return moved


def set_control(state: RefinementState, **values: int) -> None:
    """Set fields of a state's control block by name."""
    control = state.dual.control.host
    for name, value in {"locked_for": 1, **values}.items():
        control[Control[name.upper()]] = value
    control[Control.LAST_TASK] = control[Control.TASK]
    state.resume()
    state.backend.sync_device(state.dual.control)


def on_host(state: RefinementState, array: Array) -> np.ndarray:
    """Return a host copy of an array of the state."""
    return state.backend.to_host(array).copy()


def parts_of(state: RefinementState) -> np.ndarray:
    return on_host(state, state.partition.parts)


def cached_by_content(oracle: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Cache an oracle by the content of its arguments, which repeat in each mode of a back end."""
    answers: dict[bytes, Answer] = {}

    @wraps(oracle)
    def ask(*given: Given.args, **named: Given.kwargs) -> Answer:
        question = hashlib.sha256(pickle.dumps((given, named))).digest()
        if question not in answers:
            if len(answers) == MAX_ANSWERS:
                answers.clear()
            answers[question] = oracle(*given, **named)
        return answers[question]

    return ask


@cached_by_content
def connections(graph: Graph, parts: np.ndarray) -> list[dict[int, int]]:
    """Return for each vertex the weight of its edges into each adjacent part, where above 0."""
    table: list[dict[int, int]] = [defaultdict(int) for _ in range(graph.n)]
    sources = graph.sources(0, graph.n).tolist()
    targets = parts[graph.indices].tolist()
    for v, p, w in zip(sources, targets, graph.edge_weights.tolist(), strict=True):
        if w > 0:
            table[v][p] += w
    return [dict(row) for row in table]


def distance(problem: Problem, p: int, q: int) -> int:
    """Return the distance of two parts: 1, or an entry of the matrix."""
    if problem.metric.kind == 0:
        return int(p != q)
    return int(problem.metric.distances[p * problem.k + q])


def cost_of(graph: Graph, parts: np.ndarray, problem: Problem) -> int:
    """Return the sum over undirected edges of weight times distance."""
    p, q = parts[graph.sources(0, graph.n)].astype(np.int64), parts[graph.indices]
    metric = problem.metric
    far = p != q if metric.kind == 0 else metric.distances[p * problem.k + q]
    return int((graph.edge_weights.astype(np.int64) * far).sum()) // 2


def rows_of(state: RefinementState) -> list[dict[int, int]]:
    """Return parts and weights of each row of the table; check that no part has two slots."""
    table = state.table
    marked = on_host(state, table.rows)
    starts = np.where(marked < 0, mark_narrow(marked), marked).tolist()
    stops = [*starts, len(table.parts)][1:]
    all_parts, all_weights = on_host(state, table.parts), on_host(state, table.weights)
    rows = []
    for start, stop, narrow in zip(starts, stops, (marked < 0).tolist(), strict=True):
        parts, weights = all_parts[start:stop].tolist(), all_weights[start:stop].tolist()
        width = 0 if len(parts) <= LONGEST_LIST else FEW if narrow else len(parts)
        if UNUSED in parts[width:]:  # the row ends there
            parts = parts[: parts.index(UNUSED, width)]
        used = [(p, w) for p, w in zip(parts, weights, strict=False) if p >= 0 and w != 0]
        assert len(dict(used)) == len(used)
        rows.append(dict(used))
    return rows


def check_state(state: RefinementState, graph: Graph) -> None:
    """Compare all incremental values of a state with values from scratch."""
    parts = parts_of(state)
    assert state.measures.cut == cost_of(graph, parts, state.problem)
    assert (
        state.measures.part_weights.tolist()
        == part_weights(graph, parts, state.partition.k).tolist()
    )
    assert rows_of(state) == connections(graph, parts)
    check_active(state, connections(graph, parts), parts.tolist())


def check_active(state: RefinementState, rows: list[dict[int, int]], parts: list[int]) -> None:
    """Check that each vertex with adjacent parts is active once, and others have no target."""
    listed = on_host(state, state.vertices.active)
    count = state.dual.counters.host[Counter.ACTIVE]
    active = set(listed[:count].tolist())
    assert len(active) == count
    assert (listed[count:] == NO_VERTEX).all()
    targets = on_host(state, state.vertices.targets).tolist()
    assert active == {v for v, target in enumerate(targets) if target != INACTIVE}
    assert active >= {v for v, row in enumerate(rows) if set(row) - {parts[v]}}
    if state.backend.is_asynchronous:
        assert state.launches.over(Control.PROPAGATING) >= count


def activate_all(state: RefinementState) -> None:
    """Make every vertex active."""
    backend = state.backend
    numbers = np.zeros((len(Row), state.partition.k), np.int64)
    numbers[Row.HEAVIEST], numbers[Row.TIE_LIMIT] = INT32_MAX, NO_LIMIT
    plan = SimpleNamespace(numbers=backend.from_host(numbers.ravel()), group_size=state.partition.k)
    backend.parallel_for(
        state.graph.n, activate_interior, graph=state.graph, plan=plan, state=state
    )
    backend.sync_host(state.dual.counters)
    backend.synchronize()
    state.make_room()
