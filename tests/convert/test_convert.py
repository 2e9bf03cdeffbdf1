"""Graphs as people have them: arrays, matrices, tables, other packages' graphs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.errors import GraphError, JetpyError
from jetpy.graph import Graph
from tests.graphs import assert_same_graph, from_edges, path

ENGINE: dict[str, Any] = {"backend": "numba", "threads": 1}


def edges_of(graph: Graph) -> dict[tuple[int, int], int]:
    u = graph.sources(0, graph.n).tolist()
    return dict(zip(zip(u, graph.indices.tolist(), strict=True), graph.edge_weights, strict=True))


matrices = st.integers(1, 8).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.floats(-5, 5)), max_size=20
    ).map(lambda rows: (n, rows))
)


@settings(max_examples=200, deadline=None)
@given(matrices, st.sampled_from(["coo", "csr", "csc"]))
def test_pattern_is_where_entries_are(rows: Any, form: str) -> None:
    n, entries = rows
    u, v, w = (np.array(column) for column in zip(*entries, strict=True)) if entries else ([],) * 3
    matrix = sp.coo_array((np.asarray(w, float), (u, v)), shape=(n, n)).asformat(form)
    graph = jetpy.as_graph(matrix, pattern=True)
    stored = sp.coo_array(matrix)
    expected = {(int(a), int(b)) for a, b in zip(stored.row, stored.col, strict=True) if a != b}
    expected |= {(b, a) for a, b in expected}
    assert edges_of(graph) == dict.fromkeys(expected, 1)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=30))
def test_scaled_weights_keep_their_proportions(weights: list[float]) -> None:
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


def test_whole_weights_are_not_scaled(caplog: pytest.LogCaptureFixture) -> None:
    graph = jetpy.as_graph(sp.csr_array([[0, 7.0], [7.0, 0]]), scale=True)
    assert graph.edge_weights.tolist() == [7, 7]
    assert not caplog.messages
    halves = jetpy.as_graph(sp.csr_array([[0, 0.5], [0.5, 0]]), scale=True)
    assert halves.edge_weights.tolist() == [1, 1]
    assert caplog.messages == [
        "jetpy multiplies the edge weights by 2 and rounds them, which changes one by 0 % at most"
    ]


def test_byte_counts_beyond_32_bits() -> None:
    bytes_sent = 2**40 * np.array([[0, 3, 0], [3, 0, 1], [0, 1, 0]])
    with pytest.raises(GraphError, match="scale=True"):
        jetpy.as_graph(bytes_sent)
    graph = jetpy.as_graph(bytes_sent, scale=True)
    assert graph.edge_weights.tolist() == [3, 3, 1, 1]


def test_edge_lists_of_two_rows(caplog: pytest.LogCaptureFixture) -> None:
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
        "repair: 1 self-loops dropped, 1 duplicate edges merged, 1 missing directions added"
    ]
    weighted = jetpy.as_graph(both, edge_weights=[3, 3, 4, 4], vertex_weights=[1, 2, 3])
    assert weighted.edge_weights.tolist() == [3, 3, 4, 4]
    assert weighted.vertex_weights.tolist() == [1, 2, 3]


class OfDevice:
    """What an array on another device shows of itself."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def test_arrays_of_others() -> None:
    torch = pytest.importorskip("torch")
    assert_same_graph(jetpy.as_graph(torch.tensor([[0, 1], [1, 0]])), path(2))


def test_arrays_that_dlpack_hands_over() -> None:
    assert_same_graph(jetpy.as_graph(OfDevice(np.array([[0, 1], [1, 0]]))), path(2))


def test_dense_matrices(tmp_path: Path) -> None:
    matrix = np.array([[0, 2, 0], [2, 0, 5], [0, 5, 0]])
    expected = from_edges(3, [(0, 1), (1, 2)], [2, 5])
    assert_same_graph(jetpy.as_graph(matrix), expected)
    np.save(tmp_path / "talk.npy", matrix)
    assert_same_graph(jetpy.read_graph(tmp_path / "talk.npy"), expected)
    jetpy.write_graph(tmp_path / "again.npy", expected)
    assert np.load(tmp_path / "again.npy").tolist() == matrix.tolist()
    one_way = np.array([[0, 2, 0], [0, 0, 5], [1, 0, 0]])
    assert jetpy.as_graph(one_way, repair=True).m == 3


def test_matrix_market_by_pattern(tmp_path: Path) -> None:
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


def test_tables_of_names() -> None:
    table = {"from": ["b", "a", "c"], "to": ["a", "c", "d"], "w": [1, 2, 3]}
    graph = jetpy.from_edges(table, "from", "to", weight="w")
    assert graph.names == ("b", "a", "c", "d")
    assert edges_of(graph)[1, 2] == 2
    result = jetpy.partition(graph, 2, **ENGINE)
    assert result.as_dict() == dict(zip("bacd", result.parts.tolist(), strict=True))
    assert result.parts_of(table["to"]).tolist() == [result.as_dict()[x] for x in "acd"]
    with pytest.raises(GraphError, match="there is no vertex 'z'"):
        result.parts_of(["z"])


def test_tables_of_other_packages() -> None:
    pytest.importorskip("narwhals")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"u": ["x", "y"], "v": ["y", "z"], "w": [0.5, 1.5]})
    graph = jetpy.from_edges(frame, "u", "v", weight="w", scale=True)
    assert graph.names == ("x", "y", "z")
    assert edges_of(graph)[1, 2] == 3 * edges_of(graph)[0, 1]


def test_networkx_attributes() -> None:
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
    result = jetpy.partition(graph, 3, weight=None, **ENGINE)
    assert result.as_dict() == {"a": 0, "b": 1, "c": 2}


def test_igraph_and_networkit() -> None:
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph([(0, 1), (1, 2)])
    graph.vs["name"] = ["x", "y", "z"]
    assert jetpy.as_graph(graph).names == ("x", "y", "z")
    assert_same_graph(jetpy.as_graph(graph), path(3))


def test_weights_beside_a_graph() -> None:
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
        (np.zeros((3, 4)), {}, "must be an edge list of integers, of shape (2, E), or a square"),
        (np.zeros((2, 3)), {}, "not of shape (2, 3) and float64"),
        (np.zeros(3), {}, "not of shape (3,)"),
        (np.array([[0, 9], [9, 0]]), {"n": 4}, "edge number 1: 9 is not a vertex; ids are 0..3"),
        (np.array([[0, -1], [-1, 0]]), {}, "-1 is not a vertex"),
        (np.array([[0, 0.3], [0.3, 0]]), {}, "edge (0, 1) has weight 0.3, which is not a whole"),
        (np.array([[0, -2], [-2, 0.5]]), {"scale": True}, "only positive ones can be scaled"),
        (np.array([[0, 1j], [1j, 0]]), {}, "edge weights must be integers, not complex128"),
        (np.array([[0, 1j], [1j, 0]]), {"scale": True}, "edge weights must be real numbers"),
        (sp.csr_array((2, 3)), {}, "an adjacency matrix must be square, not of shape (2, 3)"),
        (path(3), {"vertex_weights": [1, 2]}, "3 vertex weights are needed"),
        (path(3), {"edge_weights": [1, 2]}, "4 edge weights are needed"),
        ({"a": 1}, {}, "cannot make a graph from 'dict'"),
        ([[0, 1], [1, 0]], {}, "cannot make a graph from 'list'"),
    ],
)
def test_bad_graphs(data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError) as error:
        jetpy.as_graph(data, **options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ({"a": ["x"]}, ("a", "b"), "the table has no column 'b'"),
        ({"a": ["x", None], "b": ["y", "z"]}, ("a", "b"), "a name in 'a' or 'b' is missing"),
        ({"a": ["x"], "b": ["x"]}, ("a", "b"), "edge ('x', 'x') is a self-loop"),
        ({"a": ["x", "y"], "b": ["y", "x"]}, ("a", "b"), "is listed more than once"),
    ],
)
def test_bad_tables(table: Any, columns: tuple[str, str], message: str) -> None:
    with pytest.raises(GraphError) as error:
        jetpy.from_edges(table, *columns)
    assert message in str(error.value)
