"""What a refinement state must contain, computed from the graph and the parts alone."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import upload
from jetpy.graph import Graph
from jetpy.metrics import edge_cut, part_weights
from jetpy.refinement.state import RefinementState


def state_of(backend: Backend, graph: Graph, parts: object, k: int) -> RefinementState:
    given = backend.from_host(np.array(parts, np.int32))
    return RefinementState(backend, upload(backend, graph), given, k)


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
    assert state.measures.cut == edge_cut(graph, parts)
    assert state.measures.part_weights.tolist() == part_weights(graph, parts, state.k).tolist()
    assert rows_of(state) == connections(graph, parts)
    assert (on_host(state, state.sources) == parts).all()
