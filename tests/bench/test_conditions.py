from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import comparisons, conditions
from bench.alterations import CONDITIONS, K
from bench.comparisons import Record, results
from jetpy import Graph, as_graph, generators, read_graph
from jetpy.study.arrays import save_arrays
from jetpy.study.tools import Job, Solve, Tool

OWN, PEER, OTHER = "jetpy/cpu/default/2", "pymetis/k-way/1", "kaminpar/default/2"


def record(
    tool: str,
    cuts: list[int],
    balanced: list[bool] | None = None,
    cls: str = "mesh",
    **about: object,
) -> Record:
    return {
        "graph": "a",
        "class": cls,
        "condition": "plain",
        "k": 2,
        "seeds": list(range(len(cuts))),
        "tool": tool,
        "cuts": cuts,
        "balanced": balanced or [True] * len(cuts),
        "seconds": [0.5 if tool == OWN else 1.0] * len(cuts),
        **about,
    }


RECORDS = [
    record(OWN, [99, 99, 99]),
    record(OWN, [10, 11, 12]),
    record(PEER, [10, 10, 3], [True, True, False]),
    record(OTHER, [22, 22, 22]),
    record(OWN, [30, 30, 30], condition="edge"),
    record(PEER, [40, 40, 40], condition="edge"),
    record(OTHER, [1, 1, 1], [False] * 3, condition="edge"),
    record(OWN, [0, 0, 0], graph="b", cls="road"),
    record(PEER, [5, 5, 5], graph="b", cls="road"),
]


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_are_valid_and_reproducible(name: str) -> None:
    graph = generators.grid(30, 20)
    condition = CONDITIONS[name]
    altered, again = condition.apply(graph, "grid"), condition.apply(graph, "grid")
    as_graph((altered.indptr, altered.indices, altered.edge_weights, altered.vertex_weights))
    for array in ("indptr", "indices", "edge_weights", "vertex_weights"):
        assert np.array_equal(getattr(altered, array), getattr(again, array))


def altered(name: str) -> Graph:
    return CONDITIONS[name].apply(generators.grid(100, 100), "grid")


def test_conditions_assign_the_documented_weights() -> None:
    assert set(altered("vertex").vertex_weights.tolist()) == set(range(1, 101))
    assert altered("vertex").edge_weights.max() == 1
    assert set(altered("edge").edge_weights.tolist()) == set(range(1, 98))
    assert altered("both").vertex_weights.max() == 100
    assert altered("both").edge_weights.max() == 97
    assert np.array_equal(altered("degree").vertex_weights, altered("degree").degrees)
    few = altered("few-heavy").vertex_weights
    assert set(few.tolist()) == {1, 50}
    assert 0.02 < (few == 50).mean() < 0.08
    heavy = altered("heavy")
    assert 100 < heavy.vertex_weights.max() <= heavy.total_vertex_weight / K
    assert np.median(heavy.vertex_weights) <= 2


def test_cut_rows_compare_with_the_best_peer() -> None:
    rows = comparisons.cut_rows(OWN, [PEER, OTHER], results(RECORDS))
    assert rows == [
        ["plain", "2", "1.100", "0.500", "1.100", "1.100 a k=2"],
        ["edge", "1", "0.750", "-", "0.750", "0.750 a k=2"],
        ["all", "3", "0.908", "0.500", "0.908", "1.100 a k=2"],
    ]


def test_rows_of_times_and_feasible_runs() -> None:
    found = results(RECORDS)
    assert comparisons.time_rows(OWN, [PEER], found)[-1] == ["all", "0.500"]
    assert comparisons.feasible_rows(found) == [
        ["plain", "6/6", "5/6", "3/3"],
        ["edge", "3/3", "3/3", "0/3"],
        ["all", "9/9", "8/9", "3/6"],
    ]


def test_tools_get_a_file_of_the_graph_under_each_condition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes of all conditions share the folder of the graph."""
    totals: list[int] = []

    def prepare(job: Job) -> Solve:
        totals.append(read_graph(job.metis_file()).total_vertex_weight)
        return lambda k, seed: (np.arange(job.graph.n) % k, {"total": 1.0})

    graph = generators.grid(6, 6)
    save_arrays(tmp_path, graph)
    monkeypatch.setitem(conditions.TOOLS, "kaminpar", Tool(prepare, threaded=True))
    case = {"graph": "grid", "tool": "kaminpar/default/2", "imbalance": 0.03, "k": 2, "seeds": [0]}
    for name in ("plain", "vertex"):
        [found] = conditions.measure(str(tmp_path), [{**case, "condition": name}], {})
        assert found["n"] == 36
    assert totals[0] == 36
    assert totals[1] == CONDITIONS["vertex"].apply(graph, "grid").total_vertex_weight
    assert totals[1] > 36
