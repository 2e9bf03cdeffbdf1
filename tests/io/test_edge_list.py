from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.errors import GraphError
from jetpy.graph.csr import Graph
from jetpy.graph.raw import Rules
from jetpy.io import edge_list
from tests.graphs import assert_same_graph, edge_dict, from_edges, path


def read(content: str, repair: bool = False) -> Graph:
    return edge_list.read(io.BytesIO(content.encode()), rules=Rules(repair), name="graph")


@given(st.data())
def test_edges_may_be_listed_once_or_twice_in_any_order(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 7))
    pairs = [(u, v) for u in range(n) for v in range(u)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    weights = [data.draw(st.integers(1, 5)) for _ in edges]
    lines = []
    for (u, v), w in zip(edges, weights, strict=True):
        directions = data.draw(st.sampled_from([[(u, v)], [(v, u)], [(u, v), (v, u)]]))
        lines += [f"{a} {b} {w}" for a, b in directions]
    content = f"# vertices {n}\n" + "\n".join(data.draw(st.permutations(lines)))
    assert_same_graph(read(content), from_edges(n, edges, weights))


VALID = {
    "blanks": ("0 1\n1 2\n", path(3)),
    "commas": ("0,1\n1 , 2\n", path(3)),
    "tabs and CRLF": ("0\t1\r\n1\t2\r\n", path(3)),
    "comments and empty lines": ("% 7 8\n\n0 1\n#x\n\n1 2\n\n", path(3)),
    "column names": ("source,target\n0,1\n1,2\n", path(3)),
    "quoted column names": ('"node_1","node_2"\n0,1\n1,2\n', path(3)),
    "both directions": ("0 1\n1 0\n2 1\n1 2\n", path(3)),
    "some in both directions": ("0 1\n1 0\n2 1\n", path(3)),
    "weights": ("0 1 5\n2 1 6\n1 2 6\n", from_edges(3, [(0, 1), (1, 2)], [5, 6])),
    "weights of 0": ("0 1 0\n2 1 0\n1 2 0\n", from_edges(3, [(0, 1), (1, 2)], [0, 0])),
    "gaps in the ids": ("3 1\n", from_edges(4, [(1, 3)])),
    "declared vertices": ("# vertices 5\n0 1\n", from_edges(5, [(0, 1)])),
    "nothing": ("", from_edges(0, [])),
    "comments only": ("# 1 2\n", from_edges(0, [])),
    "no edges": ("# vertices 3\n", from_edges(3, [])),
}


@pytest.mark.parametrize("case", VALID)
def test_valid_file_is_read(case: str) -> None:
    content, graph = VALID[case]
    assert_same_graph(read(content), graph)


def test_first_chunk_may_contain_only_comments() -> None:
    content = "#" + "x" * 3_000_000 + "\n0 1 4\n"
    assert edge_dict(read(content)) == {(0, 1): 4, (1, 0): 4}


@pytest.mark.parametrize(
    ("content", "edges"),
    [
        ("0 1\n1 1\n", {(0, 1): 1}),
        ("0 1 2\n0 1 3\n", {(0, 1): 5}),
        ("0 1 2\n0 1 3\n1 0 9\n", {(0, 1): 9}),
        ("0 1 2\n1 0 3\n", {(0, 1): 3}),
    ],
)
def test_repair_merges_duplicates_and_drops_loops(
    content: str, edges: dict[tuple[int, int], int]
) -> None:
    expected = from_edges(2, list(edges), list(edges.values()))
    assert_same_graph(read(content, repair=True), expected)


def test_sums_of_duplicates_take_64_bits() -> None:
    content = b"0 1 2147483647\n0 1 2147483647\n1 2 2147483647\n"
    with pytest.raises(GraphError, match=r"weight 4294967294, which overflows.*scale=True"):
        edge_list.read(io.BytesIO(content), rules=Rules(repair=True), name="graph")
    rules = Rules(repair=True, scale=True)
    graph = edge_list.read(io.BytesIO(content), rules=rules, name="graph")
    assert_same_graph(graph, from_edges(3, [(0, 1), (1, 2)], [2, 1]))


def test_any_number_is_a_weight_if_weights_do_not_matter() -> None:
    content = b"  # vertices 3\n0 1 nan\n1 2 -0.1D+03\n  # an indented comment\n2 0 -Infinity\n"
    graph = edge_list.read(io.BytesIO(content), rules=Rules(pattern=True), name="graph")
    assert_same_graph(graph, from_edges(3, [(0, 1), (1, 2), (0, 2)]))


@pytest.mark.parametrize(
    ("rules", "weights"),
    [
        (Rules(scale=True), [2, 1]),
        (Rules(scale=True, repair=True), [2, 1]),
        (Rules(pattern=True), [1, 1]),
    ],
)
def test_fractional_weights_are_scaled_or_ignored(rules: Rules, weights: list[int]) -> None:
    content = b"0 1 1e12\n1 2 .5e12\n"
    graph = edge_list.read(io.BytesIO(content), rules=rules, name="graph")
    assert_same_graph(graph, from_edges(3, [(0, 1), (1, 2)], weights))


def test_fractional_id_is_refused() -> None:
    with pytest.raises(GraphError, match=r"line 1: 0\.5 is not a vertex"):
        edge_list.read(io.BytesIO(b"0.5 1 2\n"), rules=Rules(scale=True), name="graph")


def test_bad_id_is_named_as_an_integer() -> None:
    content = b"# vertices 3\n0 4 .5\n"
    with pytest.raises(GraphError, match=r"line 2: 4 is not a vertex; ids must be in 0\.\.2"):
        edge_list.read(io.BytesIO(content), rules=Rules(scale=True), name="graph")


@pytest.mark.parametrize(
    ("content", "is_warned"),
    [
        ("1 2\n2 3\n", True),
        ("1 2\n3 1\n", True),
        ("0 1\n1 2\n", False),
        ("1 3\n", False),
        ("# vertices 4\n1 2\n2 3\n", False),
        ("# vertices 1\n", False),
        ("", False),
    ],
)
def test_ids_that_seem_to_start_with_1_are_warned_about(
    content: str, is_warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    read(content)
    warning = (
        "jetpy numbers the vertices of edge lists from 0. In graph, vertex 0 has no edge and all"
    )
    assert [message.startswith(warning) for message in caplog.messages] == [True] * is_warned


@pytest.mark.parametrize(
    ("content", "is_warned"),
    [
        ("0,0,1\n1,1,2\n2,2,3\n", True),
        ("1 0 1\n2 2 3\n", True),
        ("0 0 1\n2 1 2\n", False),
        ("0 1 1\n1 2 2\n2 3 3\n", False),
        ("0 0\n1 2\n", False),
    ],
)
def test_first_column_that_counts_lines_is_warned_about(
    content: str, is_warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    read(content, repair=True)
    warned = [message for message in caplog.messages if "counts the lines" in message]
    assert len(warned) == is_warned
    assert all("index=False in pandas" in message for message in warned)


def test_duplicates_are_refused_with_scale() -> None:
    with pytest.raises(GraphError, match="listed more than once"):
        edge_list.read(io.BytesIO(b"0 1 .5\n0 1 .5\n"), rules=Rules(scale=True), name="graph")


def test_repair_logs_its_changes(caplog: pytest.LogCaptureFixture) -> None:
    """A missing direction in an edge list needs no repair."""
    with caplog.at_level("INFO", "jetpy.input"):
        read("0 1\n1 2\n0 1\n", repair=True)
        read("0 0 1\n1 1 1\n0 1 2\n1 0 5\n1 2 3\n2 1 1\n", repair=True)
    assert caplog.messages == [
        "jetpy repairs the graph: 1 duplicate edge merged",
        "jetpy repairs the graph: 2 self-loops dropped, 2 weights raised to that of the other "
        "direction",
    ]
