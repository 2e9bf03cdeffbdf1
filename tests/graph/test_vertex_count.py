"""`n=`, the number of vertices, in all functions that accept a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import jetpy
from jetpy.errors import GraphError, OptionError
from jetpy.graph.csr import Graph
from tests.graphs import assert_same_graph, from_edges

EDGES = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
PATH = from_edges(3, [(0, 1), (1, 2)])
WITH_ISOLATED = from_edges(5, [(0, 1), (1, 2)])
ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


class Data:
    """Stands in for ``Data`` of PyTorch Geometric."""

    def __init__(self, edge_index: Any, num_nodes: Any, **others: Any) -> None:
        self.edge_index, self.num_nodes = edge_index, num_nodes
        vars(self).update(others)


def written(graph: Any, n: Any, folder: Path) -> Graph:
    jetpy.write_graph(folder / "out.npz", graph, n=n)
    return jetpy.read_graph(folder / "out.npz")


def parts_for(n: Any) -> Any:
    return [0, 0, 0, 1, 1][:n] if type(n) is int else []


FUNCTIONS: dict[str, Callable[[Any, Any, Path], Any]] = {
    "as_graph": lambda graph, n, _: jetpy.as_graph(graph, n=n).n,
    "partition": lambda graph, n, _: len(jetpy.partition(graph, 2, n=n, **ENGINE).parts),
    "coarsen": lambda graph, n, _: jetpy.coarsen(graph, 2, n=n, **ENGINE).graph.n,
    "partition_many": lambda graph, n, _: len(
        jetpy.partition_many([graph], 2, n=[n], **ENGINE)[0].parts
    ),
    "refine": lambda graph, n, _: len(jetpy.refine(graph, parts_for(n), 2, n=n, **ENGINE).parts),
    "map_processes": lambda graph, n, _: len(
        jetpy.map_processes(graph, "2", "1", n=n, **ENGINE).pe
    ),
    "evaluate": lambda graph, n, _: int(
        jetpy.evaluate(graph, parts_for(n), n=n).part_weights.sum()
    ),
    "IncrementalPartitioner": lambda graph, n, _: (
        jetpy.IncrementalPartitioner(graph, 2, n=n, **ENGINE).n
    ),
    "write_graph": lambda graph, n, folder: written(graph, n, folder).n,
    "symbolic": lambda graph, n, _: len(jetpy.symbolic(graph, n=n, symmetrize=True).parents),
    "order": lambda graph, n, _: jetpy.order(graph, n=n, symmetrize=True).n,
    "nested_dissection": lambda graph, n, _: jetpy.nested_dissection(graph, n=n, symmetrize=True).n,
    "vertex_separator": lambda graph, n, _: len(
        jetpy.vertex_separator(graph, n=n, symmetrize=True).labels
    ),
    "minimum_degree": lambda graph, n, _: jetpy.minimum_degree(graph, n=n, symmetrize=True).n,
}
OTHERS = {
    *("from_edges", "dual_graph", "dual_graph_of_faces", "read_parts", "write_parts"),
    *("preset", "read_hierarchy", "read_ordering"),
}
"""Functions without a graph argument; `from_edges` has `nodes`."""


def test_every_function_with_a_graph_has_n() -> None:
    functions = {
        name
        for name in jetpy.__all__
        if name == "IncrementalPartitioner" or inspect.isfunction(getattr(jetpy, name))
    }
    assert functions - OTHERS - {"read_graph", "node_graph"} == set(FUNCTIONS)
    for name in functions - OTHERS:
        assert "n" in inspect.signature(getattr(jetpy, name)).parameters


@pytest.mark.parametrize("name", FUNCTIONS)
def test_n_adds_isolated_last_vertices(name: str, tmp_path: Path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("0 1\n1 2\n")
    for graph in (EDGES, Data(EDGES, None), file):
        assert FUNCTIONS[name](graph, 5, tmp_path) == 5
    assert FUNCTIONS[name](Data(EDGES, 5), 5, tmp_path) == 5
    assert FUNCTIONS[name](WITH_ISOLATED, 5, tmp_path) == 5


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        ("5", OptionError, "n is '5'; it must be an integer"),
        (5.0, OptionError, "n is 5.0; it must be an integer"),
        (True, OptionError, "n is True; it must be an integer"),
        (-1, OptionError, "n is -1; it must be in 0..2147483646"),
        (2**31 - 1, OptionError, "n is 2147483647; it must be in 0..2147483646"),
        (2, GraphError, "edge 3: 2 is not a vertex; ids must be in 0..1"),
    ],
)
def test_bad_n_is_refused(name: str, n: Any, error: type, message: str, tmp_path: Path) -> None:
    with pytest.raises(error) as found:
        FUNCTIONS[name](EDGES, n, tmp_path)
    assert message in str(found.value)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "form", ["Graph", "CSR", "sparse", "dense", "networkx", "Data", ".graph", ".txt"]
)
def test_n_other_than_that_of_the_graph_is_refused(name: str, form: str, tmp_path: Path) -> None:
    jetpy.write_graph(tmp_path / "g.graph", PATH)
    jetpy.write_graph(tmp_path / "g.txt", PATH)
    matrix = sp.csr_array((np.ones(4, int), tuple(EDGES)), shape=(3, 3))
    graph: Any = {
        "Graph": PATH,
        "CSR": (PATH.indptr, PATH.indices),
        "sparse": matrix,
        "dense": matrix.toarray(),
        "Data": Data(EDGES, 3),
        ".graph": tmp_path / "g.graph",
        ".txt": tmp_path / "g.txt",
    }.get(form)
    if form == "networkx":
        graph = pytest.importorskip("networkx").path_graph(3)
    with pytest.raises(GraphError, match=r"n is 5, but \S*(the graph|g\.\w+) has 3 vertices"):
        FUNCTIONS[name](graph, 5, tmp_path)
    assert FUNCTIONS[name](graph, 3, tmp_path) == 3


def test_n_applies_to_edge_list_files(tmp_path: Path) -> None:
    file = tmp_path / "far.txt"
    file.write_text("0 1\n1 40000000\n")
    with pytest.raises(GraphError, match="is too large for a graph with 2 edges"):
        jetpy.read_graph(file)
    file.write_text("1 2\n2 3\n")  # vertex 0 is isolated
    assert jetpy.read_graph(file, n=6).degrees.tolist() == [0, 1, 2, 1, 0, 0]
    with pytest.raises(GraphError, match=r"line 2: 3 is not a vertex; ids must be in 0\.\.2"):
        jetpy.read_graph(file, n=3)
    with pytest.raises(OptionError, match="n is 'x'"):
        jetpy.read_graph(file, n="x")  # type: ignore[arg-type]
    assert_same_graph(
        jetpy.as_graph(file, n=6, vertex_weights=[1] * 6), jetpy.read_graph(file, n=6)
    )


# objects with edge_index and num_nodes


def test_data_objects_are_accepted() -> None:
    assert_same_graph(jetpy.as_graph(Data(EDGES, 5)), WITH_ISOLATED)
    assert_same_graph(jetpy.as_graph(Data(EDGES, None)), PATH)
    assert_same_graph(jetpy.as_graph(Data([[0, 1], [1, 0]], 2)), from_edges(2, [(0, 1)]))
    weighted = Data(EDGES, 3, edge_weight=np.array([2, 2, 7, 7]), edge_attr=np.zeros((4, 8)))
    assert jetpy.as_graph(weighted).edge_weights.tolist() == [2, 2, 7, 7]
    assert jetpy.as_graph(weighted, weight=None).edge_weights.tolist() == [1] * 4
    assert jetpy.as_graph(weighted, edge_weights=[3] * 4).edge_weights.tolist() == [3] * 4
    assert jetpy.partition(weighted, 2, vertex_weights=[2, 1, 1], **ENGINE).cut == 2
    halves = Data(EDGES, 3, edge_weight=np.array([0.5, 0.5, 1.5, 1.5]))
    assert jetpy.as_graph(halves, scale=True).edge_weights.tolist()[::2] != [1, 1]
    assert jetpy.as_graph(Data(np.array([[0, 1], [1, 2]]), 4), repair=True).n == 4
    assert jetpy.as_graph(Data(np.array([[0, 1], [1, 1]]), 2), pattern=True).m == 1


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (Data(None, 3), GraphError, "edge_index of 'Data' is None"),
        (Data(EDGES.T, 3), GraphError, r"edge_index of 'Data' is of shape \(4, 2\)"),
        (Data(EDGES * 1.0, 3), GraphError, "it must be an edge list"),
        (Data(EDGES, 2), GraphError, r"2 is not a vertex; ids must be in 0\.\.1"),
        (Data(EDGES, "3"), OptionError, "num_nodes is '3'; it must be an integer"),
        (Data(EDGES[:, ::2], 3), GraphError, "repair=True"),
        (Data(EDGES, 3, edge_weight=np.ones(3)), GraphError, "there must be 4 of them"),
        (Data(EDGES, 3, edge_weight=np.ones((4, 2))), GraphError, "there must be 4 of them"),
        (Data(EDGES, 3, edge_weight=np.full(4, 0.5)), GraphError, "scale=True"),
    ],
)
def test_bad_data_object_is_refused(data: Data, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        jetpy.as_graph(data)


def test_data_objects_may_contain_tensors() -> None:
    torch = pytest.importorskip("torch")
    data = Data(torch.tensor(EDGES), 5, edge_weight=torch.tensor([2.0, 2.0, 7.0, 7.0]))
    graph = jetpy.as_graph(data)
    assert (graph.n, graph.edge_weights.tolist()) == (5, [2, 2, 7, 7])


# names of all nodes


def test_nodes_sets_the_order_of_vertices() -> None:
    table = {"from": ["b", "a"], "to": ["a", "c"], "w": [5, 7]}
    graph = jetpy.from_edges(table, "from", "to", weight="w", nodes=["x", "c", "b", "a", "y"])
    assert graph.names == ("x", "c", "b", "a", "y")
    assert graph.degrees.tolist() == [0, 1, 1, 2, 0]
    assert graph.edge_weights[graph.indptr[1]] == 7
    result = jetpy.partition(graph, 5, **ENGINE)
    assert set(result.as_dict()) == set("xcbay")
    none: dict[str, list[str]] = {"from": [], "to": []}
    assert jetpy.from_edges(none, "from", "to", nodes=np.array([4, 2])).names == (4, 2)
    assert jetpy.from_edges(none, "from", "to", nodes=iter("pq")).n == 2


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (["a", "b"], "an edge ends at 'c', which is not in nodes"),
        (["a", "b", "c", "b"], "nodes contains 'b' more than once"),
        (["a", "b", "c", ["d"]], "names of vertices must be hashable"),
        ([], "an edge ends at 'a', which is not in nodes"),
    ],
)
def test_bad_nodes_are_refused(nodes: list[Any], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        jetpy.from_edges({"u": ["a", "b"], "v": ["b", "c"]}, "u", "v", nodes=nodes)
