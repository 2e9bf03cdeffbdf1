"""Relabelling of parts for the smallest cut with fixed vertices, compared with brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jetpy.graph.csr import Graph
from jetpy.initial.relabel import relabel_to_fixed
from tests.graphs import edge_dict
from tests.strategies import weighted_graphs


@given(weighted_graphs(most=12), st.integers(1, 4), st.integers(0, 10**6))
def test_no_other_relabelling_has_a_smaller_cut(graph: Graph, k: int, seed: int) -> None:
    rng, edges = np.random.default_rng(seed), edge_dict(graph)
    parts = rng.integers(0, k, graph.n).astype(np.int32)
    pinned = np.where(rng.random(graph.n) < 0.4, rng.integers(0, k, graph.n), -1).astype(np.int32)

    def renumbered(numbers: tuple[int, ...]) -> list[int]:
        return np.where(pinned < 0, np.array(numbers)[parts], pinned).tolist()

    def cut(own: list[int]) -> int:
        return sum(weight for (u, v), weight in edges.items() if own[u] < own[v])

    every = [renumbered(numbers) for numbers in permutations(range(k))]
    found = relabel_to_fixed(graph, parts, pinned, k).tolist()
    assert found in every
    assert cut(found) == min(map(cut, every))
