"""Components of nodes, in the order of breadth-first searches."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy import generators
from jetpy.device.backends import lease
from jetpy.device.device_graph import upload
from jetpy.graph.csr import Graph
from jetpy.ordering import component_search
from jetpy.ordering.component_search import Found, find_components
from jetpy.ordering.depth import Nodes
from jetpy.workloads.ordering.separators import SEPARATOR
from tests.graphs import random_graph

Array = np.ndarray


def joined(graphs: list[Graph]) -> Graph:
    """Return graphs as one graph, with weights that depend on the vertex."""
    firsts = np.cumsum([0, *(graph.n for graph in graphs)])
    entries = np.cumsum([0, *(len(graph.indices) for graph in graphs)])
    pairs = list(zip(graphs, firsts, entries, strict=False))
    indptr = np.concatenate([[0], *(graph.indptr[1:] + entry for graph, _, entry in pairs)])
    indices = np.concatenate([graph.indices + first for graph, first, _ in pairs])
    weights = 1 + np.arange(firsts[-1], dtype=np.int32) % 7
    arrays = (array.astype(np.int32) for array in (indptr, indices))
    return Graph(*arrays, np.ones(len(indices), np.int32), weights)


def search(graphs: list[Graph], sides: Array, threads: int, wide: int) -> Found:
    graph = joined(graphs)
    count = len(graphs)
    starts = np.cumsum([0, *(one.n for one in graphs)])
    with (
        pytest.MonkeyPatch.context() as patch,
        lease("cpu", threads) as host,
        host.using(),
    ):
        patch.setattr(component_search, "WIDE", wide)
        numbers = np.zeros(count, np.int64)
        nodes = Nodes(upload(host, graph), starts, numbers, numbers, None)
        return find_components(host, nodes, host.from_host(sides))


def expected(graph: Graph, starts: list[int], sides: Array) -> tuple[list[int], list[Array]]:
    """Return the order of all vertices, and the first place, size, weight and node of each part."""
    order: list[int] = []
    rows = []

    def close(first: int, node: int) -> None:
        weight = graph.vertex_weights[order[first:]].sum()
        if len(order) > first:
            rows.append([first, len(order) - first, weight, node])

    found = sides == SEPARATOR
    for node, (begin, end) in enumerate(itertools.pairwise(starts)):
        for root in range(begin, end):
            if found[root]:
                continue
            first, queue = len(order), deque([root])
            found[root] = True
            while queue:
                v = queue.popleft()
                order.append(v)
                for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]:
                    if not found[u] and sides[u] == sides[root]:
                        found[u] = True
                        queue.append(int(u))
            close(first, node)
        first = len(order)
        order += [v for v in range(begin, end) if sides[v] == SEPARATOR]
        close(first, -1 - node)
    return order, list(np.array(rows).T)


def check(graphs: list[Graph], sides: Array, found: Found) -> None:
    starts = np.cumsum([0, *(one.n for one in graphs)]).tolist()
    order, columns = expected(joined(graphs), starts, sides)
    assert found.components.order.tolist() == order
    for name, column in zip(("firsts", "sizes", "weights", "nodes"), columns, strict=True):
        assert np.array_equal(getattr(found, name), column), name
    firsts = np.repeat(found.firsts, found.sizes)
    assert np.array_equal(found.components.firsts, firsts)


@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(1, 25), st.integers(0, 60)), min_size=1, max_size=3),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.sampled_from([1, 2, 4, 1000]),
)
def test_components_are_those_of_breadth_first_searches(
    seed: int, shapes: list[tuple[int, int]], separated: float, wide: int
) -> None:
    graphs = [
        random_graph(n, min(m, n * (n - 1) // 2), seed + i) for i, (n, m) in enumerate(shapes)
    ]
    rng = np.random.default_rng(seed)
    sides = rng.integers(0, 2, sum(graph.n for graph in graphs), dtype=np.int32)
    sides[rng.random(len(sides)) < separated] = SEPARATOR
    check(graphs, sides, search(graphs, sides, 2, wide))


@pytest.mark.parametrize("wide", [1, 30, 100_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_all_threads_visit_wide_levels(wide: int, threads: int) -> None:
    graph = generators.delaunay(3000)
    sides = np.zeros(graph.n, np.int32)
    sides[graph.coordinates[:, 0] > 0.3] = 1
    sides[abs(graph.coordinates[:, 0] - 0.3) < 0.02] = SEPARATOR
    check([graph], sides, search([graph], sides, threads, wide))


def test_the_claim_from_the_lowest_place_holds() -> None:
    """Levels of several thousand vertices are shared by three threads."""
    graph = random_graph(20_000, 60_000, seed=1)
    sides = np.zeros(graph.n, np.int32)
    sides[::50] = SEPARATOR
    for _ in range(10):
        check([graph], sides, search([graph], sides, 3, 600))
