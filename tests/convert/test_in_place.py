"""Graphs whose arrays are on a GPU; NumPy stands in for CuPy."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.convert import in_place
from jetpy.convert.in_place import check, rows_of, rows_of_pairs
from jetpy.errors import GraphError, OptionError, OutOfMemoryError
from jetpy.graph import Graph
from jetpy.graph_on_gpu import GraphOnGpu, OnGpu
from tests.graphs import assert_same_graph
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"threads": 1, "backend": "numba"}


@pytest.fixture(params=[in_place.LEAST_ENTRIES, 2], ids=["at once", "in slices"], scope="module")
def slices(request: pytest.FixtureRequest) -> Iterator[None]:
    """Graphs are looked at at once, or some rows at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_place, "LEAST_ENTRIES", request.param)
        yield


class OfGpu(np.ndarray):
    """An array that says where it is, and that is fetched."""

    device = SimpleNamespace(id=0)

    def get(self) -> np.ndarray:
        return np.asarray(self)


def on_gpu(graph: Graph) -> GraphOnGpu:
    arrays = [
        array.view(OfGpu)
        for array in (graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights)
    ]
    sums = 2 * graph.total_edge_weight, graph.total_vertex_weight
    return GraphOnGpu.of(OnGpu(*arrays, *sums), graph.name)


def arrays_of(found: OnGpu) -> Graph:
    return Graph(found.indptr, found.indices, found.edge_weights, found.vertex_weights)


@settings(max_examples=100, deadline=None)
@given(weighted_graphs())
def test_graphs_are_taken_as_they_are(slices: None, graph: Graph) -> None:
    rows = (graph.indptr.astype(np.int64), graph.indices)
    found = check(np, rows_of, rows, graph.edge_weights.astype(float), graph.vertex_weights)
    if graph.m == 0:
        assert found is None
        return
    assert found is not None
    assert np.array_equal(found.indices, graph.indices)
    assert_same_graph(arrays_of(found), graph)
    assert found.edge_weight == 2 * graph.total_edge_weight
    assert found.vertex_weight == graph.total_vertex_weight


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 5), st.data())
def test_edge_lists_are_taken_where_the_host_takes_them(
    slices: None, n: int, data: st.DataObject
) -> None:
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    some = data.draw(st.lists(ends, min_size=1, max_size=6))
    both = some + [(v, u) for u, v in some] if data.draw(st.booleans()) else some
    pairs = np.array(both).T
    weights = data.draw(st.none() | st.just(1 + np.arange(len(both)) % max(len(some), 1)))
    found = check(np, rows_of_pairs, (pairs, n), weights, None)
    try:
        expected = jetpy.as_graph(pairs, n=n, edge_weights=weights)
    except GraphError:
        assert found is None
        return
    assert found is not None
    for name in ("indptr", "indices", "edge_weights", "vertex_weights"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == np.int32


P = (np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))
LEFT_TO_THE_HOST: dict[str, tuple[Any, ...]] = {
    "indptr starts late": ((np.array([1, 1, 3, 4]), P[1]), None, None),
    "indptr decreases": ((np.array([0, 3, 1, 4]), P[1]), None, None),
    "indptr ends early": ((np.array([0, 1, 2, 3]), P[1]), None, None),
    "indptr of floats": ((P[0] + 0.5, P[1]), None, None),
    "id too large": ((P[0], P[1] + 1), None, None),
    "id negative": ((P[0], P[1] - 1), None, None),
    "loop": ((P[0], np.array([0, 0, 2, 1])), None, None),
    "duplicate": ((np.array([0, 2, 4]), np.array([1, 1, 0, 0])), None, None),
    "one direction": ((np.array([0, 2, 3, 3]), np.array([1, 2, 0])), None, None),
    "unequal weights": (P, np.array([1, 2, 3, 3]), None),
    "fractions": (P, np.array([0.5, 0.5, 1, 1]), None),
    "zero": (P, np.array([0, 0, 1, 1]), None),
    "too few weights": (P, np.array([1, 1, 1]), None),
    "vertex weight zero": (P, None, np.array([1, 0, 1])),
    "too few vertex weights": (P, None, np.array([1, 1])),
    "too heavy together": (P, None, np.array([2**30, 2**30, 1])),
}


@pytest.mark.parametrize("case", LEFT_TO_THE_HOST)
def test_what_is_wrong_is_left_to_the_host(slices: None, case: str) -> None:
    rows, edges, vertices = LEFT_TO_THE_HOST[case]
    assert check(np, rows_of, rows, edges, vertices) is None
    assert check(np, rows_of, P, None, None) is not None


def test_unsigned_ids() -> None:
    pairs = np.array([[0, 1, 1, 2], [1, 0, 2, 1]], np.uint64)
    found = check(np, rows_of_pairs, (pairs, 3), None, None)
    assert found is not None
    assert found.indices.tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize(("form", "most"), [("rows", 10), ("weighted rows", 10), ("pairs", 28)])
def test_memory_beside_the_arrays(form: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes for each directed edge: four are a copy with 32 bits, or weights that are all 1."""
    monkeypatch.setattr(in_place, "LEAST_ENTRIES", 1 << 12)
    graph = jetpy.generators.cube(40, 40, 40)
    rows: tuple[Any, ...] = (graph.indptr, graph.indices)
    make, weights = rows_of, graph.edge_weights if form == "weighted rows" else None
    if form == "pairs":
        rows, make = (np.stack([graph.sources(0, graph.n), graph.indices]), graph.n), rows_of_pairs
    tracemalloc.start()
    found = check(np, make, rows, weights, graph.vertex_weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is not None
    assert peak < most * len(graph.indices)


def test_full_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(MemoryError):
        """Like CuPy's own."""

    def fail(*_: Any) -> None:
        raise Full

    memory = SimpleNamespace(OutOfMemoryError=Full)
    runtime = SimpleNamespace(memGetInfo=lambda: (3 << 29, 8 << 30))
    cuda = SimpleNamespace(memory=memory, runtime=runtime, Device=lambda _: nullcontext())
    pretended = SimpleNamespace(cuda=cuda, asarray=lambda array: array)
    monkeypatch.setitem(sys.modules, "cupy", pretended)
    monkeypatch.setattr(in_place, "is_on_gpu", lambda _: True)
    monkeypatch.setattr(in_place, "check", fail)
    for data in (
        tuple(array.view(OfGpu) for array in P),
        np.array([[0, 1, 1, 2], [1, 0, 2, 1]]).view(OfGpu),
    ):
        with pytest.raises(OutOfMemoryError, match=r"1\.5 GiB are free, .* 4 directed edges"):
            jetpy.as_graph(data)


def test_arrays_are_fetched_when_they_are_asked_for() -> None:
    plain = jetpy.generators.grid(9, 7)
    graph = on_gpu(plain)
    assert (graph.n, graph.m, graph.total_edge_weight) == (
        plain.n,
        plain.m,
        plain.total_edge_weight,
    )
    assert not graph.is_large
    assert "indices" not in vars(graph)
    assert type(graph.indices) is np.ndarray
    assert "indices" in vars(graph)
    with pytest.raises(AttributeError, match="nothing"):
        _ = graph.nothing  # type: ignore[attr-defined]
    result = jetpy.partition(graph, 3, **ENGINE)
    assert np.array_equal(result.parts, jetpy.partition(plain, 3, **ENGINE).parts)
    assert result.device_parts is None
    heavy = jetpy.as_graph(graph, vertex_weights=np.full(plain.n, 2))
    assert heavy.total_vertex_weight == 2 * plain.n
    assert jetpy.evaluate(graph, result.parts).cut == result.cut


def test_no_device_is_no_answer() -> None:
    with pytest.raises(OptionError, match="device is False"):
        jetpy.partition(jetpy.generators.grid(3, 3), 2, device=False)
    with pytest.raises(OptionError, match="numba runs on CPUs"):
        jetpy.partition(jetpy.generators.grid(3, 3), 2, device=True, backend="numba")
