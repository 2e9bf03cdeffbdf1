"""Parts of one or two vertices, compared with a plain search."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.initial.pairing import pair
from tests.graphs import edge_dict
from tests.strategies import weighted_graphs


def pairs_of(graph: Graph, k: int) -> set[tuple[int, int]]:
    """Return the pairs that the heaviest edges join."""
    weights = graph.vertex_weights.tolist()
    most = -(-sum(weights) // k)
    edges = sorted((-w, u, v) for (u, v), w in edge_dict(graph).items() if u < v)
    taken: set[int] = set()
    pairs: set[tuple[int, int]] = set()
    for _, u, v in edges:
        fits = weights[u] + weights[v] <= most and not {u, v} & taken
        if fits and len(pairs) < graph.n - k:
            pairs.add((u, v))
            taken |= {u, v}
    return pairs


@given(weighted_graphs(least=2), st.data())
def test_heaviest_edges_join_pairs(graph: Graph, data: st.DataObject) -> None:
    k = data.draw(st.integers(graph.n // 2 + 1, graph.n))
    parts, pairs = pair(graph, k), pairs_of(graph, k)
    assert parts.dtype == np.int32
    assert set(parts.tolist()) == set(range(k))
    assert all(parts[u] == parts[v] for u, v in pairs)
    if len(pairs) == graph.n - k:
        assert np.bincount(parts).max() <= 2


def test_pairs_of_a_mesh_are_adjacent() -> None:
    parts = pair(grid(10, 10), 60)
    members = [np.flatnonzero(parts == p).tolist() for p in range(60)]
    pairs = [m for m in members if len(m) == 2]
    assert len(pairs) == 40
    assert all(v - u in (1, 10) for u, v in pairs)
