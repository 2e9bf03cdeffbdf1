"""Overlay and difference of two partitions, compared with plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.multilevel.overlay import difference, overlay
from jetpy.problem.metrics import edge_cut
from tests.graphs import edge_dict, random_graph
from tests.strategies import weighted_graphs

Parts = list[int]


@st.composite
def two_partitions(draw: st.DrawFn) -> tuple[Graph, Parts, Parts]:
    graph = draw(weighted_graphs())
    parts = st.lists(st.integers(0, 3), min_size=graph.n, max_size=graph.n)
    return graph, draw(parts), draw(parts)


def blocks_of(backend: Backend, parts: Parts, others: Parts, k: int) -> Parts:
    first, second = (backend.from_host(np.array(p, np.int32)) for p in (parts, others))
    found = overlay(backend, first, second, k)
    assert backend.to_host(found.first(backend, found.blocks)).tolist() == parts
    blocks = backend.to_host(found.blocks)
    assert blocks.dtype == np.int32
    return list(blocks.tolist())


@pytest.mark.parametrize("k", [4, 46340, 46341, 2**24 - 1])
@given(case=two_partitions(), high=st.booleans())
def test_overlay_has_a_block_per_pair_of_parts(
    k: int, case: tuple[Graph, Parts, Parts], high: bool
) -> None:
    """This includes pairs beyond 32 bits."""
    _, parts, others = case
    if high:
        parts, others = [k - 1 - p for p in parts], [k - 1 - p for p in others]
    blocks = blocks_of(get_backend("cpu", 1), parts, others, k)
    pairs = list(zip(parts, others, strict=True))
    assert len(set(blocks)) == len(set(pairs)) == len(set(zip(pairs, blocks, strict=True)))
    assert min(blocks) >= 0


@given(case=two_partitions())
def test_difference_equals_the_oracle(case: tuple[Graph, Parts, Parts]) -> None:
    graph, parts, others = case
    backend = get_backend("cpu", 1)
    device = upload(backend, graph)
    first, second = (backend.from_host(np.array(p, np.int32)) for p in (parts, others))
    expected = sum(
        weight
        for (u, v), weight in edge_dict(graph).items()
        if u < v and (parts[u] == parts[v]) != (others[u] == others[v])
    )
    assert difference(backend, device, first, second) == expected
    assert difference(backend, device, second, first) == expected


def test_overlay_and_difference_on_every_back_end(backend: Backend) -> None:
    graph = random_graph(200, 900, 3, weighted=True)
    device = upload(backend, graph)
    parts = np.arange(graph.n, dtype=np.int32) % 7
    none = np.zeros(graph.n, np.int32)
    for k in (7, 100_000):
        found = overlay(backend, backend.from_host(parts), backend.from_host(none), k)
        assert (np.diff(backend.to_host(found.blocks)[:7]) > 0).all()
    apart = difference(backend, device, backend.from_host(parts), backend.from_host(none))
    assert apart == edge_cut(graph, parts)
