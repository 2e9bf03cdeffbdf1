"""Levels inside a bisection: pairs of neighbours, and their contracted graphs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from jetpy.device.backends import get_backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid, rmat
from jetpy.initial.bisection import Levels
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.initial import bisection as kernels
from jetpy.workloads.initial.bisection import COARSEST, HEAVIEST, OF_AVERAGE
from tests.graphs import isolated, random_graph, star
from tests.initial.trees import one_node

GRAPHS = {
    "grid": lambda: grid(20, 20),
    "delaunay": lambda: delaunay(900),
    "rmat": lambda: rmat(9, 8),
    "weighted": lambda: random_graph(300, 900, 4, weighted=True),
    "isolated": lambda: isolated(200),
    "star": lambda: star(200),
}


def level_edges(levels: Levels, begin: int, end: int) -> dict[tuple[int, int], int]:
    edges: dict[tuple[int, int], int] = {}
    for v in range(begin, end):
        for e in range(levels.rows[v], levels.rows[v + 1]):
            key = (v, int(levels.ends[e]))
            assert key not in edges
            edges[key] = int(levels.edge_weights[e])
    return edges


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", GRAPHS)
def test_each_level_is_the_contraction_of_the_finer_one(name: str) -> None:
    graph: Graph = GRAPHS[name]()
    backend = get_backend("cpu", 1)
    tree, levels = one_node(backend, graph, 2, graph.total_vertex_weight)
    backend.parallel_for(1, kernels.coarsen_nodes, tries=1, tree=tree, levels=levels, seed=7)
    count = int(levels.numbers[Field.LEVELS])
    assert count > 0 or name == "star"
    begins = levels.numbers[Field.LEVEL_BEGINS :][: count + 1].tolist()
    ends = [begin - 1 for begin in begins[1:]] + [int(levels.numbers[Field.END])]
    heaviest = HEAVIEST * graph.total_vertex_weight // (OF_AVERAGE * COARSEST)
    for (begin, end), (below, last) in zip(
        zip(begins, ends, strict=True), zip(begins[1:], ends[1:], strict=True), strict=False
    ):
        coarse_of = levels.coarse_of[begin:end]
        sizes = np.bincount(coarse_of - below, minlength=last - below)
        assert 1 <= sizes.min() <= sizes.max() <= 2
        weights = np.bincount(coarse_of - below, levels.weights[begin:end])
        assert weights.tolist() == levels.weights[below:last].tolist()
        assert levels.weights[below:last][sizes == 2].max() <= heaviest
        fine = level_edges(levels, begin, end)
        expected: Counter[tuple[int, int]] = Counter()
        for (u, v), w in fine.items():
            expected[int(levels.coarse_of[u]), int(levels.coarse_of[v])] += w
        assert level_edges(levels, below, last) == {
            (c, d): w for (c, d), w in expected.items() if c != d
        }
        for c in np.flatnonzero(sizes == 2) + below:
            u, v = (np.flatnonzero(coarse_of == c) + begin).tolist()
            assert (u, v) in fine or (levels.rows[u] == levels.rows[u + 1])
