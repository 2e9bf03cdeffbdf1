from __future__ import annotations

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.errors import GraphError
from jetpy.graph.build import graph_of
from jetpy.graph.csr import Graph
from jetpy.graph.raw import Raw, Rules
from jetpy.io import metis
from tests.graphs import SMALL_GRAPHS, assert_same_graph, from_edges, path

EDGE = from_edges(2, [(0, 1)])


def read(content: str | bytes, repair: bool = False) -> Graph:
    raw = content.encode() if isinstance(content, str) else content
    return metis.read(io.BytesIO(raw), rules=Rules(repair), name="graph")


def written(graph: Graph) -> str:
    stream = io.BytesIO()
    metis.write(stream, graph)
    return stream.getvalue().decode()


def plain_reader(content: str) -> Graph:
    """Read a valid METIS file in plain Python."""
    lines = [line for line in content.split("\n") if not line.startswith("%")]
    n, _, *rest = lines[0].split()
    with_sizes, with_weights, edges = (c == "1" for c in (rest[0] if rest else "0").zfill(3))
    kinds = int(rest[1]) if len(rest) > 1 else int(with_weights)
    sizes, weights, found = [], [], {}
    for u in range(int(n)):
        tokens = [int(token) for token in lines[1 + u].split()]
        sizes += tokens[:with_sizes]
        tokens = tokens[with_sizes:]
        weights.append(tokens[:kinds] or [1])
        tokens = tokens[kinds:]
        step = 2 if edges else 1
        for i in range(0, len(tokens), step):
            if u < tokens[i] - 1:
                found[u, tokens[i] - 1] = tokens[i + 1] if edges else 1
    graph = from_edges(int(n), list(found), list(found.values()))
    return weighted(graph, weights, sizes or None)


def weighted(graph: Graph, weights: list[list[int]], sizes: list[int] | None = None) -> Graph:
    """Return a graph with rows of weights, and sizes."""
    rows = graph.indices, graph.indptr, graph.edge_weights
    columns = np.array(weights, np.int64).reshape(graph.n, -1 if graph.n else 1)
    own = columns[:, 0] if columns.shape[1] == 1 else columns
    return graph_of(Raw(*rows, own, vertex_sizes=sizes))


def assert_same(actual: Graph, expected: Graph) -> None:
    """Compare also sizes, 1 by default, and several weights."""
    assert_same_graph(actual, expected)
    ones = np.ones(actual.n, int)
    for name, default in (("vertex_sizes", ones), ("constraint_weights", np.array([]))):
        found, wanted = (getattr(graph, name) for graph in (actual, expected))
        found, wanted = (default if array is None else array for array in (found, wanted))
        assert found.tolist() == wanted.tolist()


@st.composite
def weighted_graphs(draw: st.DrawFn) -> Graph:
    n = draw(st.integers(0, 8))
    pairs = [(u, v) for u in range(n) for v in range(u)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    weight = st.sampled_from([1, 2, 10, 99999]) if draw(st.booleans()) else st.just(1)
    mass = st.sampled_from([1, 7, 123456789]) if draw(st.booleans()) else st.just(1)
    graph = from_edges(n, edges, [draw(weight) for _ in edges])
    kinds = draw(st.sampled_from([1, 1, 2, 3])) if n else 1
    size = draw(st.sampled_from([None, st.just(1), st.integers(0, 9)]))
    sizes = None if size is None else [draw(size) for _ in range(n)]
    return weighted(graph, [[draw(mass) for _ in range(kinds)] for _ in range(n)], sizes)


@given(weighted_graphs())
def test_written_file_is_read_back(graph: Graph) -> None:
    assert_same(read(written(graph)), graph)
    assert_same(plain_reader(written(graph)), graph)


@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_row_order_is_kept(name: str) -> None:
    graph = SMALL_GRAPHS[name]()
    assert read(written(graph)).indices.tolist() == graph.indices.tolist()


def test_text_of_written_files() -> None:
    assert written(path(3)) == "3 2\n2\n1 3\n2\n"
    assert written(from_edges(3, [(0, 2)], [5])) == "3 1 1\n3 5\n\n1 5\n"
    assert written(from_edges(2, [(0, 1)], None, [4, 1])) == "2 1 10\n4 2\n1 1\n"
    assert written(from_edges(2, [(0, 1)], [6], [4, 1])) == "2 1 11\n4 2 6\n1 1 6\n"
    assert written(weighted(EDGE, [[4, 0], [1, 3]])) == "2 1 10 2\n4 0 2\n1 3 1\n"
    assert written(weighted(EDGE, [[1], [1]], [7, 0])) == "2 1 100\n7 2\n0 1\n"
    both = weighted(from_edges(2, [(0, 1)], [6]), [[4, 0], [1, 3]], [7, 8])
    assert written(both) == "2 1 111 2\n7 4 0 2 6\n8 1 3 1 6\n"


VALID = {
    "no format code": ("2 1\n2\n1\n", EDGE),
    "format 0": ("2 1 0\n2\n1\n", EDGE),
    "format 000": ("2 1 000\n2\n1\n", EDGE),
    "edge weights": ("2 1 1\n2 7\n1 7\n", from_edges(2, [(0, 1)], [7])),
    "edge weights, three digits": ("2 1 001\n2 7\n1 7\n", from_edges(2, [(0, 1)], [7])),
    "vertex weights": ("2 1 010\n8 2\n9 1\n", from_edges(2, [(0, 1)], None, [8, 9])),
    "both weights": ("2 1 011\n8 2 7\n9 1 7\n", from_edges(2, [(0, 1)], [7], [8, 9])),
    "weights of 0": ("2 1 011\n0 2 0\n9 1 0\n", from_edges(2, [(0, 1)], [0], [0, 9])),
    "ncon 1": ("2 1 11 1\n8 2 7\n9 1 7\n", from_edges(2, [(0, 1)], [7], [8, 9])),
    "sizes": ("2 1 100\n5 2\n0 1\n", weighted(EDGE, [[1], [1]], [5, 0])),
    "sizes and weights": (
        "2 1 111\n5 8 2 7\n6 9 1 7\n",
        weighted(from_edges(2, [(0, 1)], [7]), [[8], [9]], [5, 6]),
    ),
    "ncon 2": ("2 1 10 2\n1 0 2\n0 3 1\n", weighted(EDGE, [[1, 0], [0, 3]])),
    "ncon 3, sizes and edge weights": (
        "2 1 111 3\n5 1 2 3 2 7\n6 4 5 6 1 7\n",
        weighted(from_edges(2, [(0, 1)], [7]), [[1, 2, 3], [4, 5, 6]], [5, 6]),
    ),
    "comments everywhere": ("% a\n%b\n2 1\n%c\n2\n% 5 5\n1\n%d\n", EDGE),
    "blanks and CRLF": ("  2\t1 \r\n 2  \r\n\t1\r\n", EDGE),
    "no newline at the end": ("2 1\n2\n1", EDGE),
    "empty lines are vertices": ("4 1\n\n3\n2\n\n", from_edges(4, [(1, 2)])),
    "empty lines at the end": ("2 1\n2\n1\n\n\n  \n", EDGE),
    "no vertices": ("0 0\n", from_edges(0, [])),
}


@pytest.mark.parametrize("case", VALID)
def test_valid_file_is_read(case: str) -> None:
    content, graph = VALID[case]
    assert_same(read(content), graph)


@pytest.mark.parametrize(
    ("content", "graph"),
    [
        ("3 2\n1 2\n1 3\n2\n", path(3)),
        ("3 2\n2\n3\n\n", path(3)),
        ("3 2\n2 2\n1 1 3\n2\n", from_edges(3, [(0, 1), (1, 2)], [2, 1])),
        ("2 1 1\n2 3\n1 4\n", from_edges(2, [(0, 1)], [4])),
    ],
)
def test_repair_gives_a_valid_graph(content: str, graph: Graph) -> None:
    assert_same_graph(read(content, repair=True), graph)


FRACTIONS = "3 2 11\n1.5 2 .5e12\n3 1 .5e12 3 1e12\n.15e1 2 1e12\n"


def test_fractions_and_large_weights_are_scaled() -> None:
    graph = metis.read(io.BytesIO(FRACTIONS.encode()), rules=Rules(scale=True), name="graph")
    assert_same_graph(graph, from_edges(3, [(0, 1), (1, 2)], [1, 2], [1, 2, 1]))


def test_pattern_ignores_edge_weights() -> None:
    content = "3 2 1\n2 -.5\n1 -.5 3 0\n2 0\n"
    graph = metis.read(io.BytesIO(content.encode()), rules=Rules(pattern=True), name="graph")
    assert_same_graph(graph, path(3))


@pytest.mark.parametrize(("id", "printed"), [("1.5", "1.5"), ("4.0", "4"), ("4", "4")])
def test_fractional_or_unknown_neighbour_is_refused(id: str, printed: str) -> None:
    content = f"2 1 1\n2 .5\n{id} .5\n".encode()
    with pytest.raises(GraphError, match=f"line 3: {re.escape(printed)} is not a vertex"):
        metis.read(io.BytesIO(content), rules=Rules(scale=True), name="graph")


@pytest.mark.parametrize("content", ["3 5\n2\n1 3\n2\n", "3 2\n2\n1 3\n", "2 1\n2\n5\n"])
def test_repair_does_not_hide_a_damaged_file(content: str) -> None:
    with pytest.raises(GraphError):
        read(content, repair=True)
