"""Tables for notebooks: well-formed, escaped, and correct."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import jetpy
from jetpy.graph.csr import Graph
from tests.graphs import path

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def tables(result: Any) -> list[list[list[str]]]:
    """Return the cells of each row of each table."""
    html = result._repr_html_()
    for word in ("<script", "color", "http"):
        assert word not in html
    found = ElementTree.fromstring(f"<div>{html}</div>").iter("table")
    return [
        [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")] for table in found
    ]


def facts(result: Any) -> dict[str, str]:
    return dict(tables(result)[0])


@pytest.fixture(scope="module")
def graph() -> Graph:
    ring = path(40)
    return Graph(ring.indptr, ring.indices, ring.edge_weights, ring.vertex_weights, "<b>&")


def test_table_of_a_partition(graph: Graph) -> None:
    result = jetpy.partition(graph, 2, **ENGINE)
    shown = facts(result)
    assert shown["graph"] == "<b>&: 40 vertices, 39 edges"
    assert shown["run"] == "k = 2, seed 0, preset default, cpu, 1 thread"
    assert shown["cut"] == "1 (2.56 % of the edge weight)"
    assert shown["limit"] == "20; the heaviest part weighs 20"
    assert shown["feasible"] == "yes"
    assert repr(result) == "Partition(k=2, cut=1, imbalance=0.0000, feasible)"


def test_table_with_home_and_several_weights(graph: Graph) -> None:
    home = np.arange(graph.n) // 20
    moved = jetpy.partition(graph, 2, home=home, **ENGINE)
    assert facts(moved)["moved vertices"] == "0; weight 0 (0.0 % of the total)"
    two = jetpy.partition(graph, 2, vertex_weights=np.ones((graph.n, 2)), **ENGINE)
    assert facts(two)["limit, weight 1"] == "20; the heaviest part weighs 20"


def test_table_of_a_mapping(graph: Graph) -> None:
    result = jetpy.map_processes(graph, "2:2", "1:10", **ENGINE)
    shown = facts(result)
    assert shown["machine"] == "2:2, distances 1:10, 4 PEs"
    assert shown["cost"] == f"{result.cost:,}"
    assert "seconds" in shown


def test_tables_of_an_evaluation(graph: Graph) -> None:
    result = jetpy.evaluate(graph, np.arange(40) // 10, 5)
    shown, parts = tables(result)
    assert ["communication volume", "6; part 1 sends most, 2"] in shown
    assert ["neighbouring parts", "0 to 2"] in shown
    assert parts[0][:4] == ["part", "weight", "components", "volume"]
    assert parts[1:] == [
        ["0", "10", "1", "1", "1", "1", "0"],
        ["1", "10", "1", "2", "2", "2", "0"],
        ["2", "10", "1", "2", "2", "2", "0"],
        ["3", "10", "1", "1", "1", "1", "0"],
        ["4", "0", "0", "0", "0", "0", "0"],
    ]


def test_many_parts_are_not_listed(graph: Graph) -> None:
    assert len(tables(jetpy.evaluate(graph, np.arange(40) % 33))) == 1
    assert len(tables(jetpy.evaluate(graph, np.arange(40) % 32))) == 2
