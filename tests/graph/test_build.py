from __future__ import annotations

from collections import Counter, defaultdict

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from jetpy.errors import GraphError
from jetpy.graph.csr import Graph
from jetpy.io.graphs import as_graph
from tests.graphs import SMALL_GRAPHS, assert_same_graph, edge_dict, from_edges, unsorted_rows

Listed = tuple[int, list[tuple[int, int, int]]]


@st.composite
def directed_lists(draw: st.DrawFn) -> Listed:
    """Draw n and directed edges with loops, duplicates and missing reverses."""
    n = draw(st.integers(1, 6))
    vertex = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(vertex, vertex, st.integers(1, 3)), max_size=20))


@st.composite
def valid_lists(draw: st.DrawFn) -> Listed:
    """Draw the edges of a valid undirected graph, in any order."""
    n = draw(st.integers(1, 7))
    pairs = [(u, v) for u in range(n) for v in range(u)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    once = [(u, v, draw(st.integers(1, 3))) for u, v in chosen]
    return n, draw(st.permutations(once + [(v, u, w) for u, v, w in once]))


def repair_oracle(listed: Listed) -> dict[tuple[int, int], int]:
    merged: dict[tuple[int, int], int] = defaultdict(int)
    for u, v, w in listed[1]:
        if u != v:
            merged[u, v] += w
    return {
        edge: max(merged.get((u, v), 0), merged.get((v, u), 0))
        for u, v in list(merged)
        for edge in ((u, v), (v, u))
    }


def is_valid(listed: Listed) -> bool:
    counts = Counter((u, v) for u, v, _ in listed[1])
    edges = {(u, v, w) for u, v, w in listed[1]}
    return max(counts.values(), default=1) == 1 and all(
        u != v and (v, u, w) in edges for u, v, w in edges
    )


def as_coo(listed: Listed) -> sp.coo_array:
    n, edges = listed
    u, v, w = np.array(edges, np.int64).reshape(-1, 3).T
    return sp.coo_array((w, (u, v)), shape=(n, n))


def as_csr_tuple(listed: Listed) -> tuple[list[int], list[int], list[int]]:
    n, edges = listed
    rows = [[(v, w) for u, v, w in edges if u == row] for row in range(n)]
    flat = [entry for row in rows for entry in row]
    indptr = np.cumsum([0, *map(len, rows)]).tolist()
    return indptr, [v for v, _ in flat], [w for _, w in flat]


@given(directed_lists())
def test_repair_equals_the_oracle(listed: Listed) -> None:
    for data in (as_coo(listed), as_csr_tuple(listed)):
        graph = as_graph(data, repair=True)
        assert edge_dict(graph) == repair_oracle(listed)
        as_graph((graph.indptr, graph.indices, graph.edge_weights))


@given(directed_lists() | valid_lists())
def test_exactly_the_valid_graphs_are_accepted(listed: Listed) -> None:
    for data in (as_coo(listed), as_csr_tuple(listed)):
        if is_valid(listed):
            assert edge_dict(as_graph(data)) == {(u, v): w for u, v, w in listed[1]}
        else:
            with pytest.raises(GraphError, match=r"repair=True \(--repair on the command line\)"):
                as_graph(data)


@given(valid_lists(), st.sampled_from([np.uint8, np.int16, np.uint64, np.float32, np.float64]))
def test_weights_may_have_any_numeric_type(listed: Listed, dtype: type[np.number]) -> None:
    indptr, indices, weights = as_csr_tuple(listed)
    graph = as_graph((indptr, indices, np.array(weights, dtype)))
    assert edge_dict(graph) == {(u, v): w for u, v, w in listed[1]}


@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_valid_arrays_are_used_without_copy(name: str) -> None:
    graph = SMALL_GRAPHS[name]()
    arrays = (graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights)
    same = as_graph(arrays, repair=True, name=graph.name)
    assert repr(same) == repr(graph)
    for ours, given_ in zip(
        (same.indptr, same.indices, same.edge_weights, same.vertex_weights), arrays, strict=True
    ):
        assert ours is given_ or np.shares_memory(ours, given_) or not given_.size
    assert as_graph(graph) is graph


@pytest.mark.parametrize("name", SMALL_GRAPHS)
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_every_scipy_format_gives_the_graph(name: str, kind: str) -> None:
    graph = SMALL_GRAPHS[name]()
    shape = (graph.n, graph.n)
    matrix = sp.csr_matrix((graph.edge_weights, graph.indices, graph.indptr), shape=shape)
    built = as_graph(matrix.asformat(kind))
    assert edge_dict(built) == edge_dict(graph)


def test_scipy_boolean_entries_are_unit_weights() -> None:
    matrix = sp.csr_array(np.array([[0, 1], [1, 0]], bool))
    assert as_graph(matrix).edge_weights.tolist() == [1, 1]


def test_networkx_keeps_weights_and_node_order() -> None:
    graph = nx.Graph()
    graph.add_node("c", weight=5)
    graph.add_edge("a", "c", weight=7)
    graph.add_edge("b", "a")
    built = as_graph(graph, name="letters")
    expected = from_edges(3, [(1, 0), (2, 1)], [7, 1], [5, 1, 1])
    assert_same_graph(built, expected)
    assert built.name == "letters"


def test_networkx_directed_and_parallel_edges_need_repair() -> None:
    directed = nx.DiGraph([(0, 1), (1, 2), (2, 1)])
    with pytest.raises(GraphError, match=r"edge \(0, 1\) is listed, but not its reverse"):
        as_graph(directed)
    assert as_graph(directed, repair=True).m == 2
    parallel = nx.MultiGraph([(0, 1), (0, 1)])
    with pytest.raises(GraphError, match="more than once"):
        as_graph(parallel)
    assert as_graph(parallel, repair=True).edge_weights.tolist() == [2, 2]


def test_rows_keep_their_order_unless_repaired() -> None:
    graph = unsorted_rows()
    built = as_graph((graph.indptr, graph.indices, graph.edge_weights))
    assert built.indices.tolist() == graph.indices.tolist()


P = ([0, 1, 3, 4], [1, 0, 2, 1])  # a path of three vertices
HUGE = np.broadcast_to(np.int32(0), (2**31,))
HUGER = np.broadcast_to(np.int32(0), (2**32,))


def coo(*entries: tuple[int, int, float], n: int = 3) -> sp.coo_array:
    u, v, w = zip(*entries, strict=True)
    return sp.coo_array((w, (u, v)), shape=(n, n))


def loop_at_b() -> nx.Graph:
    return nx.Graph([("a", "b"), ("b", "b")])


def weight_of_b(weight: object) -> nx.Graph:
    graph = nx.Graph([("a", "b")])
    graph.nodes["b"]["weight"] = weight
    return graph


def weighted_edge(weight: object) -> nx.Graph:
    return nx.Graph([("a", "b", {"weight": weight})])


BAD = {
    "wrong type": ({"a": 1}, "cannot make a graph from 'dict'"),
    "tuple too short": (([0],), "cannot make a graph from 'tuple'"),
    "indptr empty": (([], []), "indptr must start with 0"),
    "indptr starts late": (([1, 1], []), "indptr must start with 0"),
    "indptr decreases": (([0, 2, 1, 4], P[1]), "indptr decreases at vertex 1: 2, then 1"),
    "indptr too short": (([0, 1, 3], P[1]), "indptr ends with 3, but there are 4 indices"),
    "indptr 2-D": (([[0, 1]], [0]), "indptr must be one-dimensional"),
    "indptr of floats": (([0.0, 1.0], [0]), "indptr must contain integers, not float64"),
    "indices of texts": (([0, 1], ["x"]), "indices must contain integers"),
    "index too large": ((P[0], [1, 0, 3, 1]), "neighbour of vertex 1: 3 is not a vertex"),
    "index negative": ((P[0], [1, 0, 2, -1]), "neighbour of vertex 2: -1 is not a vertex"),
    "too many vertices": ((HUGE, []), "2147483647 vertices are too many"),
    "too many edges": (([0], HUGER), "indices has 4294967296 entries"),
    "too few weights": ((*P, [1, 1]), "there must be 4 of them"),
    "too many vertex weights": ((*P, None, [1] * 4), "there must be 3 of them"),
    "edge weight negative": (
        (*P, [1, 1, 5, -5]),
        r"edge \(2, 1\) has weight -5, but weights must be integers from 0 on; pattern=True",
    ),
    "edge weight -0.5": ((*P, [1, 1, -0.5, 5]), r"has weight -0.5, but .* integers from 0 on; pat"),
    "edge weight fraction": ((*P, [1, 1, 5, 0.5]), r"edge \(2, 1\) has weight 0.5, .* whole"),
    "edge weight NaN": ((*P, [1, np.nan, 5, 1]), r"edge \(1, 0\) has weight nan, .* whole"),
    "edge weight infinite": ((*P, [np.inf, 1, 1, 1]), r"edge \(0, 1\) has weight inf, .* overflow"),
    "edge weight overflows": ((*P, [2**31, 1, 1, 1]), r"edge \(0, 1\) has .*8, which overflows"),
    "edge weights overflow": (
        (*P, [1, 2**33, 1, 1]),
        r"edge \(1, 0\) has .*592, which overf",
    ),
    "complex weights": ((*P, [1j, 1, 1, 1]), "edge weights must be integers, not complex"),
    "vertex weight negative": (
        (*P, None, [1, 0, -1]),
        "vertex 2 has weight -1, but weights must be integers from 0 on$",
    ),
    "vertex weights overflow": (
        (np.zeros(2**15 + 3, int), [], None, np.full(2**15 + 2, 2**31 - 1)),
        r"vertex weights overflow: their sum is .* at most 2\*\*46; scale=True",
    ),
    "vertex weight overflows": ((*P, None, [2**30, 2**31, 1]), "vertex 1 has .*8, which overflows"),
    "self-loop": (([0, 1, 3, 4], [1, 0, 1, 2]), r"edge \(1, 1\) is a self-loop"),
    "duplicate": (([0, 2, 3, 4], [2, 2, 0, 0]), r"edge \(0, 2\) is listed more than once"),
    "no reverse at end": ((P[0], [1, 0, 2, 0]), r"edge \(2, 0\) is listed, but not its reverse"),
    "no reverse in the row": (([0, 1, 2, 3], [1, 2, 1]), r"edge \(0, 1\) is listed, but not"),
    "no reverse later": (([0, 1, 3, 3], [1, 0, 2]), r"edge \(1, 2\) .*, edge \(2, 1\)"),
    "unequal weights": ((*P, [1, 1, 2, 3]), r"edge \(1, 2\) has weight 2, but .* has weight 3"),
    "matrix not square": (sp.csr_array((2, 3)), "square"),
    "matrix too large": (coo((0, 1, 1), n=2**40), "1099511627776 vertices are too many"),
    "matrix with fractions": (coo((0, 1, 0.5), (1, 0, 0.5)), "weight 0.5, which is not a whole"),
    "matrix with duplicates": (coo((0, 1, 1), (0, 1, 1), (1, 0, 2)), "more than once"),
    "matrix with a loop": (coo((2, 2, 1)), r"edge \(2, 2\) is a self-loop"),
    "loop of weight 0": (coo((2, 2, 0)), r"edge \(2, 2\) is a self-loop"),
    "duplicate of weight 0": (coo((0, 1, 0), (0, 1, 0), (1, 0, 0)), "more than once"),
    "no reverse of weight 0": (
        coo((0, 1, 0), (1, 2, 1), (2, 1, 1)),
        r"not its reverse, edge \(1, 0",
    ),
    "reverse of weight 0": (coo((0, 1, 1), (1, 0, 0)), "weight 1, but its reverse, .* weight 0"),
    "networkx loop": (loop_at_b(), r"edge \('b', 'b'\) is a self-loop"),
    "networkx weight negative": (weight_of_b(-1), "node 'b' has weight -1"),
    "networkx weight missing": (weight_of_b(None), "node 'b' has weight None"),
    "networkx weight text": (weighted_edge("2"), r"edge \('a', 'b'\) has weight '2', .* text;"),
}

NEVER_REPAIRED = [
    name for name in BAD if "weight" in name and name[-2:] != " 0" and name != "unequal weights"
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: str) -> None:
    data, words = BAD[case]
    with pytest.raises(GraphError, match=words):
        as_graph(data)


@pytest.mark.parametrize("case", NEVER_REPAIRED)
def test_repair_does_not_accept_bad_weights(case: str) -> None:
    data, words = BAD[case]
    with pytest.raises(GraphError, match=words):
        as_graph(data, repair=True)


def test_weights_of_0_are_kept() -> None:
    graph = as_graph((*P, [0, 0, 5, 5], [0, 3, 0]))
    assert edge_dict(graph) == {(0, 1): 0, (1, 0): 0, (1, 2): 5, (2, 1): 5}
    assert graph.vertex_weights.tolist() == [0, 3, 0]
    assert edge_dict(as_graph(coo((0, 1, 0), (1, 0, 0)))) == {(0, 1): 0, (1, 0): 0}


def test_repair_keeps_edges_of_weight_0() -> None:
    entries = (2, 2, 0), (0, 1, 0), (0, 1, 0), (1, 2, 3), (2, 1, 0), (3, 0, 0), (3, 1, 2)
    graph = as_graph(coo(*entries, n=4), repair=True)
    half = {(0, 1): 0, (1, 2): 3, (0, 3): 0, (1, 3): 2}
    assert edge_dict(graph) == half | {(v, u): w for (u, v), w in half.items()}


def test_repairs_of_edges_of_weight_0_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    entries = (2, 2, 0), (0, 1, 0), (0, 1, 0), (1, 2, 3), (2, 1, 0), (3, 0, 0), (3, 1, 2)
    with caplog.at_level("INFO", "jetpy.input"):
        as_graph(coo(*entries, n=4), repair=True)
    assert caplog.messages == [
        "jetpy repairs the graph: 1 self-loop dropped, 1 duplicate edge merged, 3 missing "
        "directions added, 1 weight raised to that of the other direction"
    ]


def test_repair_that_overflows_is_refused() -> None:
    twice = ([0, 2, 2], [1, 1], [2**30, 2**30])
    with pytest.raises(GraphError, match=r"edge \(0, 1\) has weight 2147483648, which overflows"):
        as_graph(twice, repair=True)
    assert as_graph(twice, repair=True, scale=True).edge_weights.tolist() == [1, 1]


def test_matrix_with_indices_out_of_range_is_refused() -> None:
    matrix = sp.csc_array((np.ones(1, int), np.zeros(1, int), np.array([0, 1, 1])), shape=(2, 2))
    matrix.indices[0] = 1000
    with pytest.raises(GraphError, match="not valid"):
        as_graph(matrix)


def test_missing_reverse_edge_is_named() -> None:
    """After removing any edge of a symmetric graph, the error names its reverse."""
    graph = SMALL_GRAPHS["weighted_random"]()
    edges = edge_dict(graph)
    for u, v in edges:
        left = (graph.n, [(a, b, w) for (a, b), w in edges.items() if (a, b) != (u, v)])
        with pytest.raises(GraphError, match=rf"edge \({v}, {u}\) is listed, but not its reverse"):
            as_graph(as_coo(left))


def test_row_blocks_cover_all_edges() -> None:
    for make in SMALL_GRAPHS.values():
        graph: Graph = make()
        for size in (1, 7, 1 << 20):
            blocks = list(graph.row_blocks(size))
            assert [v for start, stop in blocks for v in range(start, stop)] == list(range(graph.n))
            sources = [u for block in blocks for u in graph.sources(*block).tolist()]
            assert sources == [u for u, _ in edge_dict(graph)]
