"""Graphs without the edges between blocks, compared with NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.device.device_graph import download, upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import rmat
from jetpy.multilevel.subgraphs import within_blocks
from tests.graphs import SMALL_GRAPHS, clique, star
from tests.strategies import weighted_graphs


def check(backend: Backend, graph: Graph, blocks: np.ndarray) -> Graph:
    """Compare everything with the oracle and return the remaining graph."""
    device = within_blocks(
        backend, upload(backend, graph), backend.from_host(blocks.astype(np.int32))
    )
    found = download(backend, device)
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    inside = blocks[sources] == blocks[graph.indices]
    degrees = np.bincount(sources[inside], minlength=graph.n)
    assert found.indptr.tolist() == [0, *np.cumsum(degrees).tolist()]
    assert found.indices.tolist() == graph.indices[inside].tolist()
    assert found.edge_weights.tolist() == graph.edge_weights[inside].tolist()
    assert found.vertex_weights.tolist() == graph.vertex_weights.tolist()
    assert device.edge_weight == graph.edge_weights[inside].sum()
    for array in (found.indptr, found.indices, found.edge_weights):
        assert array.dtype == np.int32
    if backend.longest_row < 100:
        long_rows = device.long_rows
        listed = backend.to_host(long_rows.whole.vertices)[: long_rows.count]
        assert listed.tolist() == np.flatnonzero(degrees > backend.longest_row).tolist()
    return found


@settings(max_examples=60)
@given(graph=weighted_graphs(), count=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_edges_within_blocks_of_random_graphs(
    backend: Backend, graph: Graph, count: int, seed: int
) -> None:
    check(backend, graph, np.random.default_rng(seed).integers(0, count, graph.n))


@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_edges_within_blocks_of_small_graphs(backend: Backend, name: str) -> None:
    graph = SMALL_GRAPHS[name]()
    for count in (1, 2, max(graph.n, 1)):
        check(backend, graph, np.arange(graph.n) % count)


@pytest.mark.parametrize("graph", [star(3000), rmat(11, 8), clique(80)], ids=str)
def test_edges_within_blocks_of_large_rows(backend: Backend, graph: Graph) -> None:
    """Rows have several chunks; no entry, some or all entries remain."""
    rng = np.random.default_rng(1)
    weighted = replace(graph, vertex_weights=rng.integers(1, 9, graph.n).astype(np.int32))
    check(backend, weighted, rng.integers(0, 3, graph.n))
    alone = check(backend, weighted, np.arange(graph.n))
    assert len(alone.indices) == 0
    whole = check(backend, weighted, np.zeros(graph.n, int))
    assert len(whole.indices) == len(graph.indices)


def test_block_ids_may_have_gaps(backend: Backend) -> None:
    graph = SMALL_GRAPHS["weighted_random"]()
    check(backend, graph, np.arange(graph.n) % 3 * 1000)
