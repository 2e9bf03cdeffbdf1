"""The remedies in messages: each is applied to the input that provoked the message."""

from __future__ import annotations

import bz2
import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import jetpy
from jetpy.io.permutations import read_permutation
from jetpy.io.weights import read_vertex_weights
from jetpy.mapping import read_hosts
from tests.graphs import path

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
BANNER = "%%MatrixMarket matrix coordinate"
FAR = 10_000_001
FILES = {
    "ids.txt": "5000000000001 5000000000002\n5000000000002 5000000000003\n",
    "index.csv": ",source,target\n0,0,1\n1,1,2\n",
    "without.csv": "source,target\n0,1\n1,2\n",
    "names.txt": "Ann Bob\nBob Cy\n",
    "far.txt": f"0 1\n1 {FAR}\n",
    "declared.txt": f"# vertices {FAR + 1}\n0 1\n1 {FAR}\n",
    "rows.mtx": f"{BANNER} pattern symmetric\n{FAR} {FAR} 1\n2 1\n",
    "declared.mtx": f"{BANNER} pattern symmetric\n% vertices {FAR}\n{FAR} {FAR} 1\n2 1\n",
    "half.txt": "0 1 0.5\n1 2 1.5\n",
    "half.graph": "3 2 1\n2 .5\n1 .5 3 .5\n2 .5\n",
    "half.mtx": f"{BANNER} real symmetric\n3 3 2\n2 1 0.5\n3 2 1.5\n",
    "large.txt": "0 1 9999999999\n1 2 1\n",
    "stiffness.mtx": f"{BANNER} real symmetric\n3 3 5\n1 1 1\n2 1 -.5\n2 2 1\n3 2 -.5\n3 3 1\n",
    "stiffness.txt": "0 1 -0.5\n1 2 -0.5\n",
    "stiffness.graph": "3 2 1\n2 -.5\n1 -.5 3 -.5\n2 -.5\n",
    "nan.mtx": f"{BANNER} real symmetric\n3 3 2\n2 1 nan\n3 2 inf\n",
    "complex.mtx": f"{BANNER} complex hermitian\n3 3 2\n2 1 0 1\n3 2 1 1\n",
    "oneway.mtx": f"{BANNER} pattern general\n3 3 3\n1 2\n2 1\n2 3\n",
    "oneway.graph": "3 2\n2\n1 3\n\n",
    "loop.txt": "0 1\n1 2\n2 2\n",
    "twice.txt": "0 1\n1 2\n0 1\n",
    "unequal.txt": "0 1 2\n1 0 3\n1 2 1\n",
    "weights.txt": "0.5\n1\n1.5\n",
    "perm.txt": "3\n1\n2\n",
}
ONE_WAY = np.array([[0, 1], [1, 2]])
EDGES = np.array([[0, 1], [1, 0], [1, 2], [2, 1]])
WEIGHTED = np.array([[0, 1, 7], [1, 0, 7], [1, 2, 8], [2, 1, 8]])
STIFFNESS = sp.csr_array([[1, -0.5, 0], [-0.5, 1, -0.5], [0, -0.5, 1]])
ONE_SIDED = sp.csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
HEAVY = [[0, 2**31 - 1, 0], [2**31 - 1, 0, 1], [0, 1, 0]]


class LazyFrame:
    """A table of polars that is not in memory."""

    def collect(self) -> dict[str, list[int]]:
        return {"a": [0, 1], "b": [1, 2]}


LazyFrame.__module__ = "polars.lazyframe.frame"


def read(name: str, **options: Any) -> Callable[[], jetpy.Graph]:
    return lambda: jetpy.read_graph(name, **options)


def as_graph(data: Any, **options: Any) -> Callable[[], jetpy.Graph]:
    return lambda: jetpy.as_graph(data, **options)


def table_of(name: str) -> dict[str, list[str]]:
    rows = [line.split() for line in Path(name).read_text().splitlines()]
    return dict(zip("ab", map(list, zip(*rows, strict=True)), strict=True))


def named(name: str) -> Callable[[], jetpy.Graph]:
    return lambda: jetpy.from_edges(table_of(name), "a", "b")


class Case(NamedTuple):
    wrong: Callable[[], object]
    words: str
    """The remedy in the message, a regular expression."""
    right: Callable[[], object]
    """The same with the remedy."""


GRAPHS: dict[str, Case] = {
    "64-bit ids": Case(read("ids.txt"), r"pass it to jetpy\.from_edges", named("ids.txt")),
    "64-bit ids, scaled": Case(
        read("ids.txt", scale=True), r"pass it to jetpy\.from_edges", named("ids.txt")
    ),
    "64-bit ids, pattern": Case(
        read("ids.txt", pattern=True), r"pass it to jetpy\.from_edges", named("ids.txt")
    ),
    "64-bit ids in an array": Case(
        as_graph(EDGES.T + 2**33), r"jetpy\.from_edges", named("ids.txt")
    ),
    "index of a data frame": Case(read("index.csv"), "index=False in pandas", read("without.csv")),
    "names": Case(read("names.txt"), r"pass it to jetpy\.from_edges", named("names.txt")),
    "fractions": Case(
        read("half.txt"), r"^[^;]*; scale=True \(--scale\)", read("half.txt", scale=True)
    ),
    "fractions, pattern": Case(read("half.txt"), "pattern=True ", read("half.txt", pattern=True)),
    "fractions, METIS": Case(read("half.graph"), "scale=True", read("half.graph", scale=True)),
    "fractions, matrix": Case(read("half.mtx"), "scale=True", read("half.mtx", scale=True)),
    "large weights": Case(read("large.txt"), "scale=True", read("large.txt", scale=True)),
    "large weights, matrix": Case(
        as_graph(np.array(HEAVY) * 9), "scale=True", as_graph(np.array(HEAVY) * 9, scale=True)
    ),
    **{
        f"stiffness{suffix}": Case(
            read(f"stiffness{suffix}"),
            r"^[^;]*; pattern=True \(--pattern\) ignores edge weights$",
            read(f"stiffness{suffix}", pattern=True),
        )
        for suffix in (".mtx", ".txt", ".graph")
    },
    "stiffness": Case(
        as_graph(STIFFNESS), r"^[^;]*; pattern=True", as_graph(STIFFNESS, pattern=True)
    ),
    "not a number": Case(read("nan.mtx"), "^[^;]*; pattern=True", read("nan.mtx", pattern=True)),
    "complex": Case(read("complex.mtx"), "pattern=True", read("complex.mtx", pattern=True)),
    "one way, matrix": Case(
        read("oneway.mtx"), r"edge \(3, 2\); repair=True", read("oneway.mtx", repair=True)
    ),
    "one way, METIS": Case(
        read("oneway.graph"), r"which line 4 lacks; repair=True", read("oneway.graph", repair=True)
    ),
    "one way, order": Case(
        read("oneway.mtx", pattern="symmetric"), "pattern=True", read("oneway.mtx", pattern=True)
    ),
    "self-loop": Case(read("loop.txt"), "repair=True", read("loop.txt", repair=True)),
    "duplicate": Case(read("twice.txt"), "repair=True", read("twice.txt", repair=True)),
    "contradiction": Case(read("unequal.txt"), "repair=True", read("unequal.txt", repair=True)),
    "two arrays": Case(
        as_graph((np.array([0, 0, 1]), np.array([1, 2, 2]))),
        r"np\.stack\(\(sources, targets\)\)",
        as_graph(np.stack((np.array([0, 0, 1]), np.array([1, 2, 2]))), repair=True),
    ),
    "rows of edges": Case(as_graph(EDGES), r"give the transpose, array\.T$", as_graph(EDGES.T)),
    "floats": Case(
        as_graph(EDGES * 1.0), r"array\.T\.astype\(int\)$", as_graph((EDGES * 1.0).T.astype(int))
    ),
    "columns of floats": Case(
        as_graph(EDGES.T * 1.0), r"array\.astype\(int\)$", as_graph((EDGES.T * 1.0).astype(int))
    ),
    "rows of weighted edges": Case(
        as_graph(WEIGHTED),
        r"give array\[:, :2\]\.T, and edge_weights=array\[:, 2\]$",
        as_graph(WEIGHTED[:, :2].T, edge_weights=WEIGHTED[:, 2]),
    ),
    "weighted edges": Case(
        as_graph(WEIGHTED.T * 1.0),
        r"give array\[:2\]\.astype\(int\), and edge_weights=array\[2\]$",
        as_graph((WEIGHTED.T * 1.0)[:2].astype(int), edge_weights=(WEIGHTED.T * 1.0)[2]),
    ),
    "list of two arrays": Case(
        as_graph([[0, 0, 1], [1, 2, 2]]),
        r"np\.stack\(\(sources, targets\)\)",
        as_graph(np.stack(([0, 0, 1], [1, 2, 2])), repair=True),
    ),
    "edges with weights": Case(
        as_graph((EDGES.T, [7, 7, 8, 8])),
        "and edge_weights=$",
        as_graph(EDGES.T, edge_weights=[7, 7, 8, 8]),
    ),
    "weights with edges": Case(
        as_graph(([7, 7, 8, 8], tuple(EDGES.T))),
        "give the edge list, of shape",
        as_graph(np.stack(tuple(EDGES.T)), edge_weights=[7, 7, 8, 8]),
    ),
    "set of edges": Case(
        as_graph(set(map(tuple, EDGES.tolist()))),
        r"give numpy\.array\(list\(edges\)\)\.T$",
        as_graph(np.array(list(set(map(tuple, EDGES.tolist())))).T),
    ),
    "array as a table": Case(
        lambda: jetpy.from_edges(ONE_WAY, "a", "b"),
        "it must be a dict of columns",
        lambda: jetpy.from_edges({"a": ONE_WAY[:, 0], "b": ONE_WAY[:, 1]}, "a", "b"),
    ),
    "large weights in a table": Case(
        lambda: jetpy.from_edges({"a": [0, 1], "b": [1, 2], "w": [2**40, 1]}, "a", "b", weight="w"),
        "; scale=True scales",
        lambda: jetpy.from_edges(
            {"a": [0, 1], "b": [1, 2], "w": [2**40, 1]}, "a", "b", weight="w", scale=True
        ),
    ),
    "list of edges": Case(
        as_graph(EDGES.tolist()), r"numpy\.array\(edges\)\.T", as_graph(np.array(EDGES.tolist()).T)
    ),
    "array of names": Case(
        as_graph(np.array([["Ann", "Bob"], ["Bob", "Cy"], ["Cy", "Di"]])),
        r"use jetpy\.from_edges$",
        named("names.txt"),
    ),
    "ambiguous": Case(
        as_graph(ONE_WAY.T, repair=True), "also give n=", as_graph(ONE_WAY.T, n=3, repair=True)
    ),
    "wrong n": Case(
        as_graph(ONE_SIDED, n=4, repair=True), "leave n out", as_graph(ONE_SIDED, repair=True)
    ),
    "weights of vertices": Case(
        as_graph(path(3), vertex_weights=[0.5, 1, 1]),
        "scale=True",
        as_graph(path(3), vertex_weights=[0.5, 1, 1], scale=True),
    ),
    "lazy table": Case(
        lambda: jetpy.from_edges(LazyFrame(), "a", "b"),
        r"give table\.collect\(\)$",
        lambda: jetpy.from_edges(LazyFrame().collect(), "a", "b"),
    ),
    "lazy table as a graph": Case(
        as_graph(LazyFrame()),
        r"jetpy\.from_edges\(table\.collect\(\), source, target\)",
        lambda: jetpy.from_edges(LazyFrame().collect(), "a", "b"),
    ),
    "rows of a table": Case(
        lambda: jetpy.from_edges({"a": [0, 1, 2], "b": [1, 2, 2]}, "a", "b"),
        "; repair=True drops",
        lambda: jetpy.from_edges({"a": [0, 1, 2], "b": [1, 2, 2]}, "a", "b", repair=True),
    ),
}
"""Cases whose remedy gives a graph of three vertices and two edges."""

OTHERS: dict[str, Case] = {
    "far id": Case(read("far.txt"), f"must be '# vertices {FAR + 1}'", read("declared.txt")),
    "many rows": Case(read("rows.mtx"), f"put a line '% vertices {FAR}'", read("declared.mtx")),
    "sums of 64 bits": Case(
        lambda: jetpy.IncrementalPartitioner(jetpy.as_graph(np.array(HEAVY)), 2, **ENGINE),
        r"jetpy\.as_graph\(graph, scale=True\)",
        lambda: jetpy.IncrementalPartitioner(
            jetpy.as_graph(jetpy.as_graph(np.array(HEAVY)), scale=True), 2, imbalance=0.5, **ENGINE
        ),
    ),
    "hierarchy of fractions": Case(
        lambda: jetpy.Hierarchy(STIFFNESS, [[0, 0, 1]]),
        r"pattern=True .* Give jetpy\.as_graph\(graph, \.\.\.\) with this option$",
        lambda: jetpy.Hierarchy(jetpy.as_graph(STIFFNESS, pattern=True), [[0, 0, 1]]),
    ),
    "session of fractions": Case(
        lambda: jetpy.IncrementalPartitioner("half.txt", 2, **ENGINE),
        r"scale=True .* Give jetpy\.as_graph\(graph, \.\.\.\) with this option$",
        lambda: jetpy.IncrementalPartitioner(
            jetpy.as_graph("half.txt", scale=True), 2, imbalance=0.5, **ENGINE
        ),
    ),
    "order": Case(
        lambda: jetpy.minimum_degree(ONE_SIDED),
        "symmetrize=True",
        lambda: jetpy.minimum_degree(ONE_SIDED, symmetrize=True),
    ),
    "weights in a file": Case(
        lambda: read_vertex_weights("weights.txt", 3),
        "scale=True",
        lambda: read_vertex_weights("weights.txt", 3, scale=True),
    ),
    "base": Case(
        lambda: read_permutation("perm.txt", 3),
        "pass base=1",
        lambda: read_permutation("perm.txt", 3, base=1),
    ),
    "one host": Case(
        lambda: read_hosts("a"), "a comma after a single name", lambda: read_hosts("a,")
    ),
    "format without vertex weights": Case(
        lambda: jetpy.write_graph("a.mtx", jetpy.as_graph(path(3), vertex_weights=[1, 2, 3])),
        r"write \.graph or \.npz",
        lambda: jetpy.write_graph("a.graph", jetpy.as_graph(path(3), vertex_weights=[1, 2, 3])),
    ),
    "imbalance in percent": Case(
        lambda: jetpy.partition(path(3), 2, imbalance=3, **ENGINE),
        r"pass 0\.03$",
        lambda: jetpy.partition(path(3), 2, imbalance=0.03, **ENGINE),
    ),
    "misspelt option": Case(
        lambda: jetpy.partition(path(3), 2, options={"patience": 20}, **ENGINE),
        r"did you mean refine\.patience\?$",
        lambda: jetpy.partition(path(3), 2, options={"refine.patience": 20}, **ENGINE),
    ),
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content)


@pytest.mark.parametrize("case", GRAPHS)
def test_remedy_gives_the_graph(case: str) -> None:
    wrong, words, right = GRAPHS[case]
    with pytest.raises(jetpy.JetpyError, match=words):
        wrong()
    graph = right()
    assert isinstance(graph, jetpy.Graph)
    assert (graph.n, graph.m) == (3, 3 if "two arrays" in case else 2)


@pytest.mark.parametrize("case", OTHERS)
def test_remedy_works(case: str) -> None:
    wrong, words, right = OTHERS[case]
    with pytest.raises(jetpy.JetpyError, match=words):
        wrong()
    right()


def test_study_names_another_way() -> None:
    from jetpy.study.runner import _read

    with pytest.raises(jetpy.JetpyError, match=r"study has none .*jetpy\.write_graph\(new, jet"):
        _read(Path("half.txt"))
    jetpy.write_graph("new.graph", jetpy.read_graph("half.txt", scale=True))
    assert jetpy.read_graph("new.graph").m == 2


def test_compressed_file_can_be_renamed() -> None:
    Path("packed.graph").write_bytes(bz2.compress(b"3 2\n2\n1 3\n2\n"))
    with pytest.raises(jetpy.JetpyError, match=r"does not end in \.bz2; rename it"):
        jetpy.read_graph("packed.graph")
    assert jetpy.read_graph(Path("packed.graph").rename("packed.graph.bz2")).n == 3


def test_remedy_of_a_batch_is_not_an_option_of_graphs() -> None:
    live = jetpy.IncrementalPartitioner(path(3), 2, imbalance=0.5, **ENGINE)
    with pytest.raises(jetpy.GraphError, match=r"overflows: weights must be below 2\*\*31$"):
        live.insert_edges([(0, 2)], [2**40])


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_session_is_saved_instead_of_pickled(copied: Callable[[Any], Any]) -> None:
    live = jetpy.IncrementalPartitioner(path(4), 2, **ENGINE)
    with pytest.raises(TypeError, match=r"save\(path\) .* IncrementalPartitioner\.load\(path\)"):
        copied(live)
    live.save("session.npz")
    again = jetpy.IncrementalPartitioner.load("session.npz", **ENGINE)
    assert again.partition.tolist() == live.partition.tolist()


@pytest.mark.parametrize("package", ["polars", "narwhals", "duckdb", "dask", "ibis"])
def test_table_that_is_not_in_memory_is_read_as_the_message_says(package: str) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    module = pytest.importorskip(package)
    frame = pandas.DataFrame({"a": [0, 1], "b": [1, 2]})
    make = {
        "polars": lambda: module.from_pandas(frame).lazy(),
        "narwhals": lambda: module.from_native(
            pytest.importorskip("polars").from_pandas(frame).lazy()
        ),
        "duckdb": lambda: module.from_df(frame),
        "dask": lambda: pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=1),
        "ibis": lambda: module.memtable(frame),
    }
    table = make[package]()
    with pytest.raises(jetpy.GraphError, match="which is not in memory") as refused:
        jetpy.from_edges(table, "a", "b")
    method = re.findall(r"give table\.(\w+)\(\)$", str(refused.value))[0]
    assert jetpy.from_edges(getattr(table, method)(), "a", "b").m == 2
    with pytest.raises(jetpy.GraphError, match=rf"jetpy\.from_edges\(table\.{method}\(\), "):
        jetpy.as_graph(table)
