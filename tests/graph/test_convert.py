"""Conversion of arrays, matrices, tables and graphs of other packages."""

from __future__ import annotations

import logging
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.errors import GraphError, JetpyError
from jetpy.graph.csr import Graph
from jetpy.graph.scaling import scaled, scaled_columns
from jetpy.graph.validate import Naming
from tests.graphs import assert_same_graph, from_edges, path

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def edges_of(graph: Graph) -> dict[tuple[int, int], int]:
    u = graph.sources(0, graph.n).tolist()
    return dict(zip(zip(u, graph.indices.tolist(), strict=True), graph.edge_weights, strict=True))


matrices = st.integers(1, 8).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.floats(-5, 5)), max_size=20
    ).map(lambda rows: (n, rows))
)


@settings(max_examples=200)
@given(matrices, st.sampled_from(["coo", "csr", "csc"]))
def test_pattern_ignores_values(rows: Any, form: str) -> None:
    n, entries = rows
    u, v, w = (np.array(column) for column in zip(*entries, strict=True)) if entries else ([],) * 3
    matrix = sp.coo_array((np.asarray(w, float), (u, v)), shape=(n, n)).asformat(form)
    graph = jetpy.as_graph(matrix, pattern=True)
    stored = sp.coo_array(matrix)
    expected = {(int(a), int(b)) for a, b in zip(stored.row, stored.col, strict=True) if a != b}
    expected |= {(b, a) for a, b in expected}
    assert edges_of(graph) == dict.fromkeys(expected, 1)


@settings(max_examples=200)
@given(st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=30))
def test_scaled_weights_keep_their_ratios(weights: list[float]) -> None:
    n = len(weights) + 1
    edges = np.array([np.arange(n - 1), np.arange(1, n)])
    both = np.concatenate((edges, edges[::-1]), axis=1)
    graph = jetpy.as_graph(both, edge_weights=weights * 2, scale=True)
    assert graph.edge_weights.min() >= 1
    assert graph.edge_weights.sum(dtype=np.int64) < 2**31
    given_ = np.array([weights[min(u, v)] for u, v in edges_of(graph)])
    found = np.array(list(edges_of(graph).values()), float)
    heavy = given_ > 1e-4 * given_.sum()
    ratios = (found / given_)[heavy]
    assert ratios.max() / ratios.min() < 1.01


@settings(max_examples=100)
@given(st.lists(st.sampled_from([5e-324, 1e-300, 1e-9, 0.1, 1, 3, 1e12, 9e288]), max_size=40))
def test_scaled_weights_of_any_range_fit(weights: list[float]) -> None:
    found = scaled(np.array(weights, float), "weights").astype(np.int64)
    assert (found >= 1).all()
    assert found.sum() < 2**31
    assert (np.diff(found[np.argsort(weights, kind="stable")]) >= 0).all()


def test_repair_precedes_scaling() -> None:
    """A large diagonal, which repair drops, does not reduce the precision of other weights."""
    matrix = np.array([[1e15, 0.5, 0], [0.75, 1e15, 0.25], [0, 0.25, 1e15]])
    graph = jetpy.as_graph(matrix, repair=True, scale=True)
    assert edges_of(graph) == {(0, 1): 3, (1, 0): 3, (1, 2): 1, (2, 1): 1}
    most = sp.csr_array(([2**31 - 1], ([0], [1])), shape=(2, 2))
    assert jetpy.as_graph(most, repair=True, scale=True).edge_weights.tolist() == [1, 1]


def test_integer_weights_are_not_scaled(caplog: pytest.LogCaptureFixture) -> None:
    graph = jetpy.as_graph(sp.csr_array([[0, 7.0], [7.0, 0]]), scale=True)
    assert graph.edge_weights.tolist() == [7, 7]
    assert not caplog.messages
    halves = jetpy.as_graph(sp.csr_array([[0, 0.5], [0.5, 0]]), scale=True)
    assert halves.edge_weights.tolist() == [1, 1]
    assert caplog.messages == [
        "jetpy multiplies the edge weights by 2; it reports no further scaling in this process"
    ]


def test_scaling_keeps_0_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        assert scaled(np.array([0, 0.5, 0, 1.5]), "weights").tolist() == [0, 1, 0, 3]
    assert len(caplog.messages) == 1
    assert scaled(np.zeros(3), "weights").tolist() == [0, 0, 0]
    tiny = scaled(np.array([0, 1e-300, 1.0]), "weights")
    assert tiny[0] == 0 < tiny[1] < tiny[2]


@pytest.mark.parametrize(
    ("smallest", "words"),
    [
        (1e-6, "makes the smallest weight 4 times as large"),
        (1e-9, "3,815 times"),
        (1e-99, "4e+93 times"),
    ],
)
def test_large_changes_by_scaling_are_reported_as_factors(
    smallest: float, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    scaled(np.array([smallest, 8000.0]), "weights")
    assert words in caplog.text


def test_byte_counts_beyond_32_bits_need_scale() -> None:
    bytes_sent = 2**40 * np.array([[0, 3, 0], [3, 0, 1], [0, 1, 0]])
    with pytest.raises(GraphError, match="scale=True"):
        jetpy.as_graph(bytes_sent)
    graph = jetpy.as_graph(bytes_sent, scale=True)
    assert graph.edge_weights.tolist() == [3, 3, 1, 1]


def test_edge_list_has_two_rows(caplog: pytest.LogCaptureFixture) -> None:
    both = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert_same_graph(jetpy.as_graph(both), path(3))
    assert jetpy.as_graph(both, n=5).n == 5
    with pytest.raises(GraphError, match="repair=True"):
        jetpy.as_graph(both[:, :3])
    untidy = np.array([[0, 0, 1, 2, 2], [1, 1, 2, 2, 1]])
    with caplog.at_level(logging.INFO, "jetpy.input"):
        graph = jetpy.as_graph(untidy, repair=True)
    assert edges_of(graph) == {(0, 1): 2, (1, 0): 2, (1, 2): 1, (2, 1): 1}
    assert caplog.messages == [
        "jetpy repairs the graph: 1 self-loop dropped, 1 duplicate edge merged, 1 missing "
        "direction added"
    ]
    weighted = jetpy.as_graph(both, edge_weights=[3, 3, 4, 4], vertex_weights=[1, 2, 3])
    assert weighted.edge_weights.tolist() == [3, 3, 4, 4]
    assert weighted.vertex_weights.tolist() == [1, 2, 3]


class OfDevice:
    """An array on another device, with the DLPack protocol only."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class OfGpu:
    """An array like CuPy's, which only `get` copies to the host."""

    def __init__(self, array: Any) -> None:
        self._array = np.asarray(array)
        self.ndim, self.shape = self._array.ndim, self._array.shape

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}

    def __array__(self) -> None:
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def get(self) -> np.ndarray:
        return self._array


class SparseOfGpu:
    def __init__(self, matrix: sp.csr_array) -> None:
        self._matrix = matrix

    def tocsr(self) -> SparseOfGpu:
        return self

    def get(self) -> sp.csr_array:
        return self._matrix


def test_arrays_on_a_gpu_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    edges = [[0, 1, 1, 2], [1, 0, 2, 1]]
    expected = from_edges(3, [(0, 1), (1, 2)], [2, 5], [1, 2, 3])
    weights = {"edge_weights": OfGpu([2, 2, 5, 5]), "vertex_weights": OfGpu([1, 2, 3])}
    assert_same_graph(jetpy.as_graph(OfGpu(edges), **weights), expected)
    arrays = (OfGpu(expected.indptr), OfGpu(expected.indices))
    assert_same_graph(jetpy.as_graph(arrays, **weights), expected)
    sparse = sp.csr_array(([1, 1, 1, 1], edges), shape=(3, 3))
    assert_same_graph(jetpy.as_graph(SparseOfGpu(sparse)), path(3))
    assert_same_graph(jetpy.as_graph(OfGpu(sparse.toarray())), path(3))
    assert jetpy.evaluate(path(3), OfGpu([0, 1, 1])).cut == 1
    twofold = OfGpu([[1, 1], [1, 1], [2, 2]])
    assert jetpy.partition(path(3), 2, vertex_weights=twofold, **ENGINE).cut == 1
    result = jetpy.partition(path(3), 2, fixed=OfGpu([1, -1, 0]), **ENGINE)
    assert result.parts[[0, 2]].tolist() == [1, 0]


def test_sparse_tensors_need_no_cuda_array_interface() -> None:
    class SparseTensor:
        layout = "torch.sparse_csr"

        def tocsr(self) -> sp.csr_array:
            return sp.csr_array(([1, 1, 1, 1], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))

        @property
        def __cuda_array_interface__(self) -> None:
            raise RuntimeError("Unimplemented backend SparseCsrCPU")

    assert_same_graph(jetpy.as_graph(SparseTensor()), path(3))


def test_arrays_on_a_gpu_need_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {}

    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(GraphError, match="pip install cupy"):
        jetpy.as_graph(Bare())


def test_torch_tensors_are_accepted() -> None:
    torch = pytest.importorskip("torch")
    ids = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert_same_graph(jetpy.as_graph(ids), path(3))
    ones = torch.ones(4, requires_grad=True)
    assert_same_graph(jetpy.as_graph(ids, edge_weights=ones), path(3))
    matrix = torch.sparse_coo_tensor(ids, ones, (3, 3))
    for given_ in (matrix, matrix.to_sparse_csr(), matrix.to_dense().to(torch.bfloat16)):
        assert_same_graph(jetpy.as_graph(given_), path(3))


def test_dlpack_arrays_are_accepted() -> None:
    assert_same_graph(jetpy.as_graph(OfDevice(np.array([[0, 1], [1, 0]])), n=2), path(2))


def test_dense_matrices_are_accepted_and_written(tmp_path: Path) -> None:
    matrix = np.array([[0, 2, 0], [2, 0, 5], [0, 5, 0]])
    expected = from_edges(3, [(0, 1), (1, 2)], [2, 5])
    assert_same_graph(jetpy.as_graph(matrix), expected)
    np.save(tmp_path / "talk.npy", matrix)
    assert_same_graph(jetpy.read_graph(tmp_path / "talk.npy"), expected)
    jetpy.write_graph(tmp_path / "again.npy", expected)
    assert np.load(tmp_path / "again.npy").tolist() == matrix.tolist()
    hidden = np.ma.masked_greater(np.array([[0, 2, 9], [2, 0, 5], [9, 5, 0]]), 8)
    assert_same_graph(jetpy.as_graph(hidden), expected)
    one_way = np.array([[0, 2, 0], [0, 0, 5], [1, 0, 0]])
    assert jetpy.as_graph(one_way, repair=True).m == 3


def test_matrix_market_with_other_values_needs_pattern(tmp_path: Path) -> None:
    file = tmp_path / "a.mtx"
    for banner, row in (
        ("real general", "1 2 0.2555\n1 1 4\n2 3 -1e9"),
        ("complex general", "1 2 0.5 1\n1 1 4 0\n2 3 1 1"),
        ("real skew-symmetric", "2 1 0.2555\n3 2 1\n3 2 1"),
    ):
        file.write_text(f"%%MatrixMarket matrix coordinate {banner}\n3 3 3\n{row}\n")
        with pytest.raises(JetpyError, match="--pattern"):
            jetpy.read_graph(file)
        with pytest.raises(JetpyError, match="--pattern"):
            jetpy.read_graph(file, repair=True)
        assert_same_graph(jetpy.read_graph(file, pattern=True), path(3))


def test_table_of_names_gives_named_vertices() -> None:
    table = {"from": ["b", "a", "c"], "to": ["a", "c", "d"], "w": [1, 2, 3]}
    graph = jetpy.from_edges(table, "from", "to", weight="w")
    assert graph.names == ("b", "a", "c", "d")
    assert edges_of(graph)[1, 2] == 2
    result = jetpy.partition(graph, 2, **ENGINE)
    assert result.as_dict() == dict(zip("bacd", result.parts.tolist(), strict=True))
    assert result.parts_of(table["to"]).tolist() == [result.as_dict()[x] for x in "acd"]
    assert result.parts_of(np.array(["b", "d"])).tolist() == result.parts[[0, 3]].tolist()
    with pytest.raises(GraphError, match="there is no vertex 'z'"):
        result.parts_of(["z"])


@pytest.mark.parametrize(
    ("package", "kind"), [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")]
)
def test_data_frames_are_accepted(package: str, kind: str) -> None:
    pytest.importorskip("narwhals")
    columns = {"u": ["x", "y"], "v": ["y", "z"], "w": [0.5, 1.5]}
    module = pytest.importorskip(package)
    table = getattr(module, kind)(columns)
    graph = jetpy.from_edges(table, "u", "v", weight="w", scale=True)
    assert graph.names == ("x", "y", "z")
    assert edges_of(graph)[1, 2] == 3 * edges_of(graph)[0, 1]
    result = jetpy.partition(graph, 3, **ENGINE)
    assert result.parts_of(table["v"]).tolist() == result.parts[[1, 2]].tolist()
    lacking = getattr(module, kind)({**columns, "w": [0.5, None]})
    with pytest.raises(GraphError, match="row 1 has no value in column 'w'"):
        jetpy.from_edges(lacking, "u", "v", weight="w")
    with pytest.raises(GraphError, match=r"jetpy\.from_edges"):
        jetpy.as_graph(table)


def test_networkx_attributes_are_selected_by_name() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edge("a", "b", length=0.5, weight=0.1)
    graph.add_edge("b", "c", length=1.5)
    graph.add_node("c", load=4)
    with pytest.raises(GraphError, match=r"'a', 'b'.* has weight 0.1.*scale=True"):
        jetpy.as_graph(graph)
    plain = jetpy.as_graph(graph, weight=None)
    assert plain.edge_weights.tolist() == [1] * 4
    scaled = jetpy.as_graph(graph, weight="length", node_weight="load", scale=True)
    assert edges_of(scaled)[1, 2] == 3 * edges_of(scaled)[0, 1]
    assert scaled.vertex_weights.tolist() == [1, 1, 4]
    with pytest.raises(GraphError, match="no edge has the attribute 'lenght'"):
        jetpy.as_graph(graph, weight="lenght")
    with pytest.raises(GraphError, match="no node has the attribute 'mass'"):
        jetpy.as_graph(graph, weight="length", scale=True, node_weight="mass")
    result = jetpy.partition(graph, 3, weight=None, **ENGINE)
    assert result.as_dict() == {"a": 0, "b": 1, "c": 2}


def test_networkx_weights_beyond_64_bits_are_scaled() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edge("a", "b", weight=2**70)
    graph.add_edge("b", "c", weight=Fraction(2**69))
    with pytest.raises(GraphError, match=r"'a', 'b'.* which overflows.*scale=True"):
        jetpy.as_graph(graph)
    found = edges_of(jetpy.as_graph(graph, scale=True))
    assert (found[0, 1], found[1, 2]) == (2, 1)
    graph.add_edge("c", "d", weight=10**400)
    with pytest.raises(GraphError, match="too large even for floating-point numbers"):
        jetpy.as_graph(graph, scale=True)


def test_networkit_graph_is_accepted() -> None:
    networkit = pytest.importorskip("networkit")
    graph = networkit.Graph(3, weighted=True)
    graph.addEdge(0, 1, 2)
    graph.addEdge(1, 2, 5)
    assert_same_graph(jetpy.as_graph(graph), from_edges(3, [(0, 1), (1, 2)], [2, 5]))
    assert_same_graph(jetpy.as_graph(graph, weight=None), path(3))


def test_igraph_graph_is_accepted() -> None:
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph([(0, 1), (1, 2)])
    graph.vs["name"] = ["x", "y", "z"]
    assert jetpy.as_graph(graph).names == ("x", "y", "z")
    assert_same_graph(jetpy.as_graph(graph), path(3))
    graph.es["length"] = [2, 5]
    graph.vs["load"] = [1, 2, 3]
    expected = from_edges(3, [(0, 1), (1, 2)], [2, 5], [1, 2, 3])
    assert_same_graph(jetpy.as_graph(graph, weight="length", node_weight="load"), expected)
    with pytest.raises(GraphError, match="no edge has the attribute 'lenght'"):
        jetpy.as_graph(graph, weight="lenght")
    graph.vs["name"] = ["x", "x", "z"]
    assert jetpy.as_graph(graph).names is None


def test_rustworkx_graphs_are_accepted() -> None:
    rustworkx = pytest.importorskip("rustworkx")
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(["gone", {"load": 3}, None, 7])
    graph.add_edges_from([(0, 1, 9), (1, 2, 4.0), (2, 3, None)])
    graph.remove_node(0)
    found = jetpy.as_graph(graph, node_weight="load")
    assert found.names == (1, 2, 3)
    assert_same_graph(found, from_edges(3, [(0, 1), (1, 2)], [4, 1], [3, 1, 1]))
    assert_same_graph(jetpy.as_graph(graph, weight=None), path(3))
    with pytest.raises(GraphError, match="no edge has the attribute 'length'"):
        jetpy.as_graph(graph, weight="length")
    graph.update_edge(1, 2, {"length": 5})
    found = jetpy.as_graph(graph, weight="length")
    assert_same_graph(found, from_edges(3, [(0, 1), (1, 2)], [5, 1]))
    graph.update_edge(1, 2, -1)
    with pytest.raises(GraphError, match=r"edge \(1, 2\) has weight -1"):
        jetpy.as_graph(graph)
    assert jetpy.as_graph(rustworkx.PyGraph()).n == 0
    both = rustworkx.PyDiGraph()
    both.extend_from_weighted_edge_list([(0, 1, 2), (1, 0, 2), (1, 2, 5)])
    with pytest.raises(GraphError, match=r"edge \(1, 2\) is listed, but not its reverse.*repair"):
        jetpy.as_graph(both)
    expected = from_edges(3, [(0, 1), (1, 2)], [2, 5])
    assert_same_graph(jetpy.as_graph(both, repair=True), expected)


def test_gerrychain_graphs_are_accepted() -> None:
    gerrychain = pytest.importorskip("gerrychain")
    networkx = pytest.importorskip("networkx")
    plain = networkx.grid_2d_graph(2, 3)
    networkx.set_node_attributes(plain, 4, "people")
    graph = gerrychain.Graph.from_networkx(plain)
    expected = jetpy.as_graph(plain, node_weight="people")
    found = jetpy.as_graph(graph, node_weight="people")
    assert_same_graph(found, expected)
    assert found.names == tuple(plain)
    chain = gerrychain.Partition(graph, dict.fromkeys(plain, 0))
    frozen = jetpy.as_graph(chain.graph, node_weight="people")
    assert frozen.vertex_weights.tolist() == [4] * 6
    assert edges_of(frozen).keys() == edges_of(expected).keys()
    halves = jetpy.partition(graph, 2, node_weight="people", **ENGINE).as_dict()
    assert sorted(halves.values()) == [0, 0, 0, 1, 1, 1]


class Wrapped:
    """A graph of GerryChain, or the frozen graph of its partitions."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def is_nx_graph(self) -> bool:
        return False

    def get_rx_graph(self) -> Any:
        return self.graph


def test_wrapped_graphs_need_not_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frozen graphs of GerryChain are unwrapped twice."""
    frozen = type("FrozenGraph", (Wrapped,), {})
    monkeypatch.setitem(sys.modules, "gerrychain", SimpleNamespace(Graph=Wrapped))
    monkeypatch.setitem(sys.modules, "gerrychain.graph", SimpleNamespace(FrozenGraph=frozen))
    inner = sp.csr_array(([1, 1], ([0, 1], [1, 0])), shape=(2, 2))
    assert_same_graph(jetpy.as_graph(Wrapped(inner)), path(2))
    assert_same_graph(jetpy.as_graph(frozen(Wrapped(inner))), path(2))
    assert_same_graph(jetpy.as_graph(frozen(inner)), path(2))


class Weights:
    """Spatial weights such as libpysal's, with an isolated observation on the diagonal."""

    sparse = sp.csr_array(([2.0, 2.0, 0.0], ([0, 1, 2], [1, 0, 2])), shape=(3, 3))
    unique_ids = np.array(["x", "y", "z"])


def test_spatial_weights_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libpysal.graph", SimpleNamespace(Graph=Weights))
    found = jetpy.as_graph(Weights())
    assert found.names == ("x", "y", "z")
    assert_same_graph(found, from_edges(3, [(0, 1)], [2]))
    assert_same_graph(jetpy.as_graph(Weights(), weight=None), from_edges(3, [(0, 1)]))


def test_libpysal_weights_are_accepted() -> None:
    weights = pytest.importorskip("libpysal.weights")
    graphs = pytest.importorskip("libpysal.graph")
    rook = weights.W({"a": ["b"], "b": ["a", "c"], "c": ["b"], "d": []}, silence_warnings=True)
    expected = from_edges(4, [(0, 1), (1, 2)])
    for given_ in (rook, rook.to_WSP(), graphs.Graph.from_W(rook)):
        found = jetpy.as_graph(given_)
        assert found.names == ("a", "b", "c", "d")
        assert_same_graph(found, expected)
    rook.transform = "r"
    with pytest.raises(GraphError, match=r"edge \('b', 'a'\) has weight 0.5.*pattern=True"):
        jetpy.as_graph(rook)
    for options in ({"pattern": True}, {"weight": None}):
        assert_same_graph(jetpy.as_graph(rook, **options), expected)


def test_every_function_selects_attributes_by_name() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(6)
    networkx.set_edge_attributes(graph, 3, "length")
    networkx.set_node_attributes(graph, 2, "load")
    taken = {"weight": "length", "node_weight": "load"}
    halves = [0, 0, 0, 1, 1, 1]
    assert jetpy.evaluate(graph, halves, **taken).cut == 3
    refined = jetpy.refine(graph, halves, **taken, **ENGINE)
    assert (refined.cut, refined.part_weights.tolist()) == (3, [6, 6])
    mapping = jetpy.map_processes(graph, "2:2", "1:10", **taken, **ENGINE)
    plain = jetpy.map_processes(graph, "2:2", "1:10", **ENGINE)
    assert mapping.cost == 3 * plain.cost


@pytest.mark.parametrize("make", [sp.csr_array, sp.coo_array, np.asarray], ids=str)
@pytest.mark.parametrize("loop", [-4, 0.5, np.nan])
def test_dropped_loops_may_have_any_weight(make: Any, loop: float) -> None:
    matrix = make(np.array([[loop, 1, 2], [1, loop, 0], [2, 0, 0]]))
    assert jetpy.as_graph(matrix, repair=True).edge_weights.tolist() == [1, 2, 1, 2]
    with pytest.raises(GraphError, match=r"edge \(0, 0\)"):
        jetpy.as_graph(matrix)


@pytest.mark.parametrize("kind", [str, Path])
def test_path_of_a_file_is_accepted(
    kind: type, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "line.txt"
    file.write_text("0 1 .5\n1 2 1\n")
    name = kind(file)
    expected = from_edges(3, [(0, 1), (1, 2)], [1, 2])
    assert_same_graph(jetpy.as_graph(name, scale=True), expected)
    assert jetpy.as_graph(name, pattern=True).name == "line"
    assert jetpy.as_graph(name, scale=True, vertex_weights=[3, 1, 1]).vertex_weights[0] == 3
    assert jetpy.partition(name, 3, pattern=True, **ENGINE).cut == 2
    assert jetpy.evaluate(name, [0, 0, 1], pattern=True).cut == 1
    with pytest.raises(GraphError, match=r"line\.txt: line 1: '\.5' is not an integer"):
        jetpy.partition(name, 3)
    with pytest.raises(jetpy.JetpyError, match=r"none\.graph: cannot be read"):
        jetpy.as_graph(kind(tmp_path / "none.graph"))


def test_weights_override_those_of_the_graph() -> None:
    matrix = sp.csr_array(([1, 1], ([0, 1], [1, 0])), shape=(2, 2))
    assert jetpy.as_graph(matrix, vertex_weights=[3, 4]).vertex_weights.tolist() == [3, 4]
    grid = jetpy.generators.grid(6, 6)
    weights = np.arange(1, 37)
    result = jetpy.refine(grid, np.arange(36) % 2, 2, vertex_weights=weights, **ENGINE)
    assert result.part_weights.sum() == weights.sum()
    mapping = jetpy.map_processes(grid, "2:2", "1:10", vertex_weights=weights, **ENGINE)
    assert mapping.partition.part_weights.sum() == weights.sum()
    assert jetpy.evaluate(grid, result.parts, vertex_weights=weights).part_weights.sum() == 666


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (np.zeros((3, 4)), {}, "it must be an edge list, integers of shape (2, E), or a square"),
        (np.zeros((2, 3)), {}, "the array has shape (2, 3) and type float64"),
        (np.zeros((3, 2), int), {}, "or a square matrix; give the transpose, array.T"),
        (np.zeros(3), {}, "the array has shape (3,)"),
        (np.array([[0, 9], [9, 0]]), {"n": 4}, "edge 1: 9 is not a vertex; ids must be in 0..3"),
        (np.array([[0, -1], [-1, 0]]), {"n": 2}, "-1 is not a vertex"),
        (np.array([[0, 9], [9, 0]]), {}, "is ambiguous: for two edges, also give n="),
        (np.array([[0, 0.3], [0.3, 0]]), {}, "edge (0, 1) has weight 0.3, which is not a whole"),
        (
            np.array([[0, -2], [-2, 0.5]]),
            {"scale": True},
            "weights must be numbers from 0 on to be scaled",
        ),
        (
            np.array([[0, 1e300], [1e300, 0]]),
            {"scale": True},
            "weights must be below 1e+289",
        ),
        (np.array([[0, 1j], [1j, 0]]), {}, "integers, not complex128; pattern=True"),
        (
            np.array([[0, 1j], [1j, 0]]),
            {"scale": True},
            "not complex128, to be scaled; pattern=True",
        ),
        (sp.csr_array((2, 3)), {}, "an adjacency matrix must be square, not of shape (2, 3)"),
        (path(3), {"vertex_weights": [1, 2]}, "there must be 3 of them"),
        (path(3), {"edge_weights": [1, 2]}, "there must be 4 of them"),
        (path(3), {"vertex_weights": [1, [2, 3], 4]}, "[1, [2, 3], 4] is not an array; its rows"),
        (path(3), {"edge_weights": [1, [2, 3]]}, "[1, [2, 3]] is not an array; its rows must"),
        (path(3), {"vertex_sizes": [1, [2, 3], 4]}, "[1, [2, 3], 4] is not an array; its rows"),
        ({"a": 1}, {}, "cannot make a graph from 'dict'"),
        ({"a": 1}, {}, "edge_index and num_nodes; for a table, use jetpy.from_edges"),
        ([[1], [0]], {}, "cannot make a graph from 'list'"),
        ([[1], [0]], {}, "give (indptr, indices) or use jetpy.pymetis; for a list of edges, give"),
    ],
)
def test_bad_input_is_refused(data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError) as error:
        jetpy.as_graph(data, **options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ({"a": ["x"]}, ("a", "b"), "the table has no column 'b'"),
        ({"a": ["x", None], "b": ["y", "z"]}, ("a", "b"), "row 1 has no value in column 'a'"),
        ({"a": ["x"], "b": [float("nan")]}, ("a", "b"), "row 0 has no value in column 'b'"),
        ({"a": ["x"], "b": ["y", "z"]}, ("a", "b"), "'a' has 1 rows, but 'b' has 2"),
        ({"a": [["x"]], "b": ["y"]}, ("a", "b"), "names of vertices must be hashable"),
        ({"a": ["x"], "b": ["x"]}, ("a", "b"), "edge ('x', 'x') is a self-loop"),
        (
            {"a": ["x", "y"], "b": ["y", "x"]},
            ("a", "b"),
            "is listed more than once, in either direction; repair=True merges duplicates",
        ),
        ("edges.csv", ("a", "b"), "the path 'edges.csv'; it must be a table in memory: read the"),
        (Path("edges.csv"), ("a", "b"), "the path 'edges.csv'; it must be a table in memory"),
    ],
)
def test_bad_table_is_refused(table: Any, columns: tuple[str, str], message: str) -> None:
    with pytest.raises(GraphError) as error:
        jetpy.from_edges(table, *columns)
    assert message in str(error.value)
    assert "--" not in str(error.value)  # command-line options do not apply to tables


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("6", "has weight '6', which is text; convert it to a number"),
        (0.5, "which is not a whole number; scale=True scales weights to integers"),
        (-1, "has weight -1, but weights must be integers from 0 on"),
    ],
)
def test_bad_weight_of_a_table_is_refused(weight: Any, message: str) -> None:
    """Messages name only options of `from_edges`."""
    with pytest.raises(GraphError) as error:
        jetpy.from_edges({"a": ["x"], "b": ["y"], "w": [weight]}, "a", "b", weight="w")
    assert str(error.value).startswith("edge ('x', 'y') ")
    assert str(error.value).endswith(message)


def test_scikit_fem_mesh_means_its_dual_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    squares = SimpleNamespace(  # three in a row
        f2t=np.array([[0, 0, 0, 1, 1, 2, 2, 2], [-1, 1, -1, 2, -1, -1, -1, -1]]),
        t=np.array([[0, 1, 2], [1, 2, 3], [5, 6, 7], [4, 5, 6]]),
        p=np.array([[0, 1, 2, 3] * 2, [0] * 4 + [1] * 4]),
    )
    monkeypatch.setitem(sys.modules, "skfem", SimpleNamespace(Mesh=SimpleNamespace))
    for graph in (jetpy.as_graph(squares), jetpy.dual_graph(squares)):
        assert graph.degrees.tolist() == [1, 2, 1]
        assert graph.coordinates is not None
        assert graph.coordinates.tolist() == [[0.5, 0.5], [1.5, 0.5], [2.5, 0.5]]


def test_trimesh_means_its_dual_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    strip = SimpleNamespace(  # two of the edges are listed twice
        face_adjacency=[[0, 1], [1, 0], [2, 1], [1, 2]],
        faces=np.array([[0, 1, 2], [1, 3, 2], [2, 3, 4]]),
        triangles_center=np.arange(9).reshape(3, 3),
    )
    monkeypatch.setitem(sys.modules, "trimesh", SimpleNamespace(Trimesh=SimpleNamespace))
    graph = jetpy.as_graph(strip)
    assert graph.degrees.tolist() == [1, 2, 1]
    assert graph.coordinates is not None
    assert graph.coordinates.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_meshes_of_other_packages_are_accepted() -> None:
    skfem = pytest.importorskip("skfem")
    for kind, name in ((skfem.MeshTri, "triangle"), (skfem.MeshTet, "tetra")):
        mesh = kind().refined(2)
        assert_same_graph(jetpy.as_graph(mesh), jetpy.dual_graph(np.asarray(mesh.t.T), name))
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(2)
    assert_same_graph(jetpy.as_graph(ball), jetpy.dual_graph(np.asarray(ball.faces), "triangle"))


def test_gmsh_model_means_its_dual_graph() -> None:
    gmsh = pytest.importorskip("gmsh")
    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        with pytest.raises(GraphError, match=r"has no mesh; call gmsh\.model\.mesh\.generate"):
            jetpy.as_graph(gmsh.model)
        gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1)
        gmsh.model.occ.synchronize()
        gmsh.option.setNumber("Mesh.PartitionCreateGhostCells", 1)
        for dimension, name in ((1, "line"), (2, "triangle"), (3, "tetra")):
            gmsh.model.mesh.generate(dimension)
            (tags,), (nodes,) = gmsh.model.mesh.getElements(dimension)[1:]
            graph = jetpy.as_graph(gmsh.model)
            cells = nodes.reshape(len(tags), -1).astype(np.int64)
            assert_same_graph(graph, jetpy.dual_graph(cells, name))
            assert graph.names == tuple(tags.tolist())
            assert graph.coordinates is not None
            assert len(graph.coordinates) == graph.n
        gmsh.model.mesh.partition(3)
        assert jetpy.dual_graph(gmsh.model).m == graph.m
    finally:
        gmsh.finalize()


def test_columns_of_weights_are_scaled_one_by_one() -> None:
    columns = np.array([[0.5, 3], [0, 7], [1.5, 0]])
    assert scaled_columns(columns, Naming()).tolist() == [[1, 3], [0, 7], [3, 0]]
    with pytest.raises(GraphError, match=r"weight 1 of vertex 0 is -1\.0; it must be from 0 on"):
        scaled_columns(np.array([[1, -1.0]]), Naming())
    with pytest.raises(GraphError, match="weight 0 of vertex 1 is nan"):
        scaled_columns(np.array([[1.0], [np.nan]]), Naming())
