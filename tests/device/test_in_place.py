"""Graphs whose arrays are on a GPU, with a fake GPU that has separate memory."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.device import checked_rows, in_place
from jetpy.device.checked_rows import check, rows_of, rows_of_pairs
from jetpy.errors import BackendError, GraphError, OptionError, OutOfMemoryError
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.graph.on_gpu import GraphOnGpu, OnGpu
from tests.device_backend import DeviceBackend
from tests.graphs import assert_same_graph
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"threads": 1, "backend": "cpu"}
INTEGERS = ("int32", "int64", "int8", "uint32", "uint64")
NUMBERS = (*INTEGERS, "float32", "float64")


@pytest.fixture(params=["at once", "in slices"], scope="module")
def device(request: pytest.FixtureRequest) -> Iterator[DeviceBackend]:
    """Check arrays at once and rows by one index each, or arrays in slices and rows by lanes."""
    backend = DeviceBackend(2)
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "in slices":
            backend.longest_row = 2
            patch.setattr(checked_rows, "MIN_ENTRIES", 2)
            patch.setattr("jetpy.device.row_checks.SLICE", 3)
        yield backend


class OfGpu(np.ndarray):
    """An array with a device and a method that fetches it."""

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


def check_rows(device: DeviceBackend, rows: tuple[Any, ...], edges: Any, vertices: Any) -> Any:
    """Copy offsets and neighbours to the device and check them."""
    return check(device, rows_of, tuple(map(device.from_host, rows)), edges, vertices)


def check_pairs(device: DeviceBackend, pairs: Any, n: int | None, edges: Any) -> Any:
    return check(device, rows_of_pairs, (device.from_host(pairs), n), edges, None)


def arrays_of(device: DeviceBackend, found: OnGpu) -> Graph:
    arrays = found.indptr, found.indices, found.edge_weights, found.vertex_weights
    assert {array.dtype for array in arrays} == {np.dtype(np.int32)}
    return Graph(*map(device.to_host, arrays))


# Rows


@st.composite
def adjacencies(draw: st.DrawFn) -> list[npt.NDArray[Any]]:
    """Draw the arrays of a graph with rows in any order, often with a defect."""
    graph = draw(weighted_graphs(1, 7))
    rows = [
        draw(st.permutations([(int(graph.indices[e]), int(graph.edge_weights[e])) for e in row]))
        for row in (range(*ends) for ends in pairwise(graph.indptr.tolist()))
    ]
    v = draw(st.integers(0, graph.n - 1))
    match draw(st.sampled_from(["whole", "whole", "loop", "repeated", "dropped", "unequal"])):
        case "loop":
            rows[v].append((v, 1))
        case "repeated" if rows[v]:
            u, weight = rows[v][0]
            rows[v].append((u, weight))
            rows[u].append((v, weight))
        case "dropped" if rows[v]:
            rows[v].pop()
        case "unequal" if rows[v]:
            rows[v][0] = rows[v][0][0], rows[v][0][1] + 1
    entries = [entry for row in rows for entry in row]
    arrays = [
        np.cumsum([0, *map(len, rows)]).astype(draw(st.sampled_from(INTEGERS))),
        np.array([u for u, _ in entries], draw(st.sampled_from(INTEGERS))),
        np.array([weight for _, weight in entries], draw(st.sampled_from(NUMBERS))),
        graph.vertex_weights.astype(draw(st.sampled_from(NUMBERS))),
    ]
    changed = draw(st.sampled_from(arrays))
    if draw(st.integers(0, 2)) == 0 and len(changed):
        odd = [-1.0, 0.5, np.nan] if changed.dtype.kind == "f" else [-1, 2**32 + 1]
        value = draw(st.sampled_from([*odd, 0, 1, 2, 3, 2**31 - 1, 2**31]))
        with np.errstate(invalid="ignore"):
            changed[draw(st.integers(0, len(changed) - 1))] = np.array(value).astype(changed.dtype)
    return arrays


def is_graph(indptr: Any, indices: Any, edge_weights: Any, vertex_weights: Any) -> bool:
    """Return whether lists form a graph that the device accepts, by definition."""
    if indptr[0] != 0 or indptr[-1] != len(indices) or sorted(indptr) != indptr:
        return False
    edges: dict[tuple[int, int], float] = {}
    for v, ends in enumerate(pairwise(indptr)):
        for e in range(*ends):
            if indices[e] not in range(len(indptr) - 1) or (v, indices[e]) in edges:
                return False
            edges[v, indices[e]] = edge_weights[e]
    for weights in (edge_weights, vertex_weights):
        if any(w != w or w < 0 or w != int(w) for w in weights) or sum(weights) > INT32_MAX:
            return False
    return bool(edges) and all(u != v and edges.get((u, v)) == w for (v, u), w in edges.items())


@settings(max_examples=300)
@given(adjacencies())
def test_device_accepts_exactly_the_valid_graphs(
    device: DeviceBackend, arrays: list[npt.NDArray[Any]]
) -> None:
    lists = [array.tolist() for array in arrays]
    found = check_rows(device, tuple(arrays[:2]), *map(device.from_host, arrays[2:]))
    assert (found is not None) == is_graph(*lists)
    if found is not None:
        taken = arrays_of(device, found)
        names = ("indptr", "indices", "edge_weights", "vertex_weights")
        assert [getattr(taken, name).tolist() for name in names] == lists
        assert (found.edge_weight, found.vertex_weight) == (sum(lists[2]), sum(lists[3]))


def test_int32_is_used_in_place(device: DeviceBackend) -> None:
    graph = jetpy.generators.grid(5, 4)
    rows = device.from_host(graph.indptr), device.from_host(graph.indices)
    weights = device.from_host(graph.edge_weights)
    found = check(device, rows_of, rows, weights, graph.vertex_weights.tolist())
    assert found is not None
    assert found.indptr is rows[0]
    assert found.indices is rows[1]
    assert found.edge_weights is weights
    assert_same_graph(arrays_of(device, found), graph)


P = (np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))
LEFT_TO_THE_HOST: dict[str, tuple[Any, ...]] = {
    "indptr starts late": ((np.array([1, 1, 3, 4]), P[1]), None, None),
    "indptr decreases": ((np.array([0, 3, 1, 4]), P[1]), None, None),
    "rows that share entries": (
        (np.array([0, 2, 0, 2, 4, 6]), np.array([3, 4, 0, 2, 0, 2])),
        None,
        None,
    ),
    "indptr ends early": ((np.array([0, 1, 2, 3]), P[1]), None, None),
    "indptr of floats": ((P[0] + 0.5, P[1]), None, None),
    "no vertex": ((np.array([0]), P[1]), None, None),
    "no edge": ((np.array([0, 0]), P[1][:0]), None, None),
    "a table of ids": ((P[0], P[1].reshape(2, 2)), None, None),
    "id too large": ((P[0], P[1] + 1), None, None),
    "id negative": ((P[0], P[1] - 1), None, None),
    "id of 33 bits": ((P[0], P[1] + 2**32), None, None),
    "ids of floats": ((P[0], P[1].astype(float)), None, None),
    "loop": ((P[0], np.array([0, 0, 2, 1])), None, None),
    "duplicate": ((np.array([0, 2, 4]), np.array([1, 1, 0, 0])), None, None),
    "one direction": ((np.array([0, 2, 3, 3]), np.array([1, 2, 0])), None, None),
    "unequal weights": (P, np.array([1, 2, 3, 3]), None),
    "fractions": (P, np.array([0.5, 0.5, 1, 1]), None),
    "fractions above 1": (P, np.array([1.5, 1.5, 1, 1]), None),
    "minus one": (P, np.array([-1.0, -1.0, 1, 1]), None),
    "not a number": (P, np.array([np.nan, np.nan, 1, 1]), None),
    "words": (P, ["a", "b", "c", "d"], None),
    "complex": (P, np.ones(4, complex), None),
    "too few weights": (P, np.array([1, 1, 1]), None),
    "a table of weights": (P, np.ones((2, 2)), None),
    "vertex weight minus one": (P, None, np.array([1, -1, 1])),
    "too few vertex weights": (P, None, np.array([1, 1])),
    "too heavy together": (P, None, np.array([2**30, 2**30, 1])),
}


@pytest.mark.parametrize("case", LEFT_TO_THE_HOST)
def test_invalid_arrays_are_left_to_the_host(device: DeviceBackend, case: str) -> None:
    rows, edges, vertices = LEFT_TO_THE_HOST[case]
    assert check_rows(device, rows, edges, vertices) is None
    assert check_rows(device, P, None, None) is not None


@pytest.mark.parametrize("heads", [[0], [1, 0, 1]], ids=["sorted", "unsorted"])
def test_loops_are_found_before_symmetry_is_checked(
    device: DeviceBackend, heads: list[int]
) -> None:
    tails = [0] if len(heads) == 1 else [0, 1, 1]
    starts = np.array([0, *np.cumsum(np.bincount(tails, minlength=2))])
    rows = device.from_host(starts), device.from_host(np.array(heads))
    assert rows_of(device, *rows, None) is None
    assert rows_of_pairs(device, device.from_host(np.array([tails, heads])), 2, None) is None


# Edge lists


@settings(max_examples=300)
@given(st.integers(1, 5), st.data())
def test_device_accepts_the_edge_lists_that_the_host_accepts(
    device: DeviceBackend, n: int, data: st.DataObject
) -> None:
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    some = data.draw(st.lists(ends, min_size=1, max_size=6, unique=data.draw(st.booleans())))
    both = some + [(v, u) for u, v in some] if data.draw(st.booleans()) else some
    kind = data.draw(st.sampled_from(INTEGERS))
    pairs = np.array(both, kind).T
    weights = data.draw(st.none() | st.just(1 + np.arange(len(both)) % max(len(some), 1)))
    given_n = n if pairs.shape[1] <= 2 else data.draw(st.sampled_from([n, None]))
    if weights is not None:
        weights = weights.astype(data.draw(st.sampled_from(NUMBERS)))
    found = check_pairs(device, pairs, given_n, weights)
    try:
        expected = jetpy.as_graph(pairs, n=given_n, edge_weights=weights)
    except GraphError:
        assert found is None
        return
    assert found is not None
    taken = arrays_of(device, found)
    for name in ("indptr", "indices", "edge_weights", "vertex_weights"):
        assert np.array_equal(getattr(taken, name), getattr(expected, name))


@pytest.mark.parametrize("wrong", [3, -1, 2**32], ids=["too large", "negative", "of 33 bits"])
def test_edge_lists_with_invalid_ids_are_left_to_the_host(
    device: DeviceBackend, wrong: int
) -> None:
    pairs = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert check_pairs(device, pairs, 3, None) is not None
    assert check_pairs(device, np.where(pairs == 2, wrong, pairs), 3, None) is None
    assert check_pairs(device, pairs.astype(float), 3, None) is None


# Memory


@pytest.mark.parametrize(
    ("form", "most"),
    [
        ("rows", 5),
        ("weighted rows", 1),
        ("unsorted rows", 7),
        ("wide rows", 9),
        ("rows with floats", 5),
        ("pairs", 21),
        ("wide pairs", 25),
        ("weighted pairs", 25),
    ],
)
def test_checks_allocate_few_bytes_per_edge(
    form: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`most` is in bytes per directed edge; a copy with 32 bits, or unit weights, take four."""
    monkeypatch.setattr(checked_rows, "MIN_ENTRIES", 1 << 12)
    monkeypatch.setattr("jetpy.device.row_checks.SLICE", 1 << 12)
    graph = jetpy.generators.cube(40, 40, 40)
    kind = np.int64 if "wide" in form else np.int32
    indices = graph.indices.astype(kind)
    if "unsorted" in form:
        for start, end in pairwise(graph.indptr):
            indices[start:end] = indices[start:end][::-1]
    device, weights = DeviceBackend(1), graph.edge_weights if "weighted" in form else None
    if "floats" in form:
        weights = graph.edge_weights.astype(np.float32)
    make: Any = rows_of
    taken: tuple[Any, ...] = device.from_host(graph.indptr), device.from_host(indices)
    if "pairs" in form:
        pairs = np.stack([graph.sources(0, graph.n), indices]).astype(kind)
        taken, make = (device.from_host(pairs), graph.n), rows_of_pairs
    edges = None if weights is None else device.from_host(weights)
    vertices = device.from_host(graph.vertex_weights)
    check(device, make, taken, edges, vertices)
    tracemalloc.start()
    found = check(device, make, taken, edges, vertices)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is not None
    assert peak < most * len(graph.indices)


# From a GPU to a graph


class Full(MemoryError):
    """Stands in for the error of CuPy."""


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Install a fake CuPy with NumPy arrays and a fake `cuda`; return the list of leases."""
    leases = []

    @contextmanager
    def lease(name: str, device: int) -> Iterator[DeviceBackend]:
        leases.append((name, device))
        yield DeviceBackend(1)

    memory = SimpleNamespace(OutOfMemoryError=Full)
    runtime = SimpleNamespace(memGetInfo=lambda: (3 << 29, 8 << 30))
    cuda = SimpleNamespace(memory=memory, runtime=runtime, Device=lambda _: nullcontext())
    cupy = SimpleNamespace(cuda=cuda, asarray=lambda array: array)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(in_place, "is_on_gpu", lambda data: isinstance(data, OfGpu))
    monkeypatch.setattr("jetpy.device.backends.lease", lease)
    return leases


FORMS: dict[str, Any] = {
    "rows": tuple(array.view(OfGpu) for array in P),
    "edge list": np.array([[0, 1, 1, 2], [1, 0, 2, 1]]).view(OfGpu),
}


@pytest.mark.parametrize("form", FORMS)
def test_graph_is_checked_on_its_gpu(fake_gpu: list[tuple[str, int]], form: str) -> None:
    graph = jetpy.as_graph(FORMS[form], vertex_weights=[1, 2, 3])
    assert isinstance(graph, GraphOnGpu)
    assert (graph.n, graph.m, graph.total_vertex_weight) == (3, 2, 6)
    assert fake_gpu == [("cuda", 0)]


@pytest.mark.parametrize("form", FORMS)
def test_gpu_without_kernels_leaves_the_check_to_the_host(
    fake_gpu: list[tuple[str, int]], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BackendError("NVRTC is not found")

    monkeypatch.setattr("jetpy.device.backends.lease", refuse)
    graph = jetpy.as_graph(FORMS[form])
    assert not isinstance(graph, GraphOnGpu)
    assert_same_graph(graph, jetpy.as_graph(P))


@pytest.mark.parametrize("form", FORMS)
def test_out_of_memory_reports_free_bytes(
    fake_gpu: list[tuple[str, int]], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise Full

    monkeypatch.setattr(checked_rows, "check", fail)
    with pytest.raises(OutOfMemoryError, match=r"1\.5 GiB are free, .* 4 directed edges"):
        jetpy.as_graph(FORMS[form])


# Graphs on a GPU


def test_arrays_are_fetched_on_first_use() -> None:
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


def test_boolean_device_is_refused() -> None:
    for run in (jetpy.partition, jetpy.IncrementalPartitioner):
        with pytest.raises(OptionError, match="device is False; device must be the index"):
            run(jetpy.generators.grid(3, 3), 2, device=False)
    with pytest.raises(OptionError, match="cpu runs on CPUs"):
        jetpy.partition(jetpy.generators.grid(3, 3), 2, device=True, backend="cpu")
