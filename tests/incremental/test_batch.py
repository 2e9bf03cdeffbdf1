"""Wrong modifiers raise one error and change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.graph.generators import grid

BIG = 2**31 - 1
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown vertex": ({"delete_vertices": [30]}, "there is no vertex 30"),
    "negative vertex": ({"delete_vertices": [-1]}, "there is no vertex -1"),
    "deleted vertex": ({"delete_vertices": [7]}, "vertex 7 is deleted"),
    "vertex twice": ({"delete_vertices": [3, 4, 3]}, "vertex 3 is deleted twice"),
    "vertices as fractions": ({"delete_vertices": [0.5]}, "must contain integers"),
    "vertices in pairs": ({"delete_vertices": [[1, 2]]}, "one-dimensional"),
    "edge not there": ({"delete_edges": [(0, 1), (0, 2)]}, r"edge \(0, 2\) cannot be deleted"),
    "edge of a deleted vertex": ({"delete_edges": [(7, 8)]}, "vertex 7 is deleted"),
    "edge deleted twice": ({"delete_edges": [(0, 1), (1, 0)]}, r"edge \(0, 1\) is deleted twice"),
    "edge there": (
        {"insert_edges": [(5, 0)]},
        r"edge \(0, 5\) cannot be inserted: it already exists",
    ),
    "edge inserted twice": (
        {"insert_edges": [(0, 2), (2, 0)]},
        r"edge \(0, 2\) is inserted twice",
    ),
    "edge to an unknown vertex": ({"insert_edges": [(0, 40)]}, "row 0: there is no vertex 40"),
    "edge to a vertex that the batch deletes": (
        {"delete_vertices": [2], "insert_edges": [(0, 12), (0, 2)]},
        "row 1: vertex 2 is deleted",
    ),
    "loop": ({"insert_edges": [(3, 3)]}, "vertex 3 has an edge to itself; self-loops"),
    "edges not in pairs": (
        {"insert_edges": [1, 2]},
        r"have shape \(2,\); the shape must be \(b, 2\)",
    ),
    "edges in threes": ({"delete_edges": [(1, 2, 3)]}, r"have shape \(1, 3\); the shape must be"),
    "edges as text": ({"insert_edges": [("0", "2")]}, "must contain integers"),
    "too few weights": ({"insert_edges": [(0, 2)], "edge_weights": []}, "there must be 1 of them"),
    "edge of weight -1": (
        {"insert_edges": [(0, 2)], "edge_weights": [-1]},
        r"edge \(0, 2\) has weight -1, but weights must be integers from 0 on$",
    ),
    "edge weight overflows": (
        {"insert_edges": [(0, 2)], "edge_weights": [BIG]},
        "edge weights, in both directions, overflow",
    ),
    "vertex of weight -1": ({"insert_vertices": [-1]}, "inserted vertex 0 has weight -1"),
    "vertex weight overflows": ({"insert_vertices": [BIG]}, "vertex weights overflow"),
    "minus one vertex": (
        {"insert_vertices": -1},
        "the number of vertices to insert is -1; it must be at least 0",
    ),
    "half a vertex": ({"insert_vertices": [0.5]}, "not a whole number"),
    "too many vertices": ({"insert_vertices": 2**31}, "too many"),
    "one vertex too many": ({"insert_vertices": 2**31 - 1 - 25}, "too many"),
}


@pytest.fixture(scope="module")
def live() -> jetpy.IncrementalPartitioner:
    live = jetpy.IncrementalPartitioner(grid(5, 5), 2, backend="cpu", threads=1)
    live.delete_vertices([7])
    return live


@pytest.mark.parametrize("case", WRONG)
def test_bad_modifier_changes_nothing(live: jetpy.IncrementalPartitioner, case: str) -> None:
    fields, message = WRONG[case]
    before, graph, cut = live.partition, live.graph, live.cut
    good = {"insert_vertices": 1, "delete_edges": [(20, 21)], "delete_vertices": [24]}
    for batch in (jetpy.Batch(**fields), jetpy.Batch(**{**good, **fields})):
        with pytest.raises(jetpy.GraphError, match=message):
            live.update(batch)
    assert (live.partition == before).all()
    assert (live.n, live.m, live.cut) == (24, graph.m, cut)
    after = live.graph
    for name in ("indptr", "indices", "edge_weights", "vertex_weights"):
        assert (getattr(after, name) == getattr(graph, name)).all()


def test_ids_of_deleted_vertices_are_not_reused() -> None:
    live = jetpy.IncrementalPartitioner(grid(3, 3), 2, backend="cpu", threads=1)
    live.delete_vertices([8])
    assert live.insert_vertices([2, 5]).vertices.tolist() == [9, 10]
    assert live.partition[8] == -1
    assert live.vertices.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10]


def test_batch_accepts_arrays_of_any_integer_type() -> None:
    live = jetpy.IncrementalPartitioner(grid(3, 3), 2, backend="cpu", threads=1)
    live.delete_edges(np.array([[0, 1]], np.uint8))
    live.insert_edges(np.array([[8, 0]], np.int64), np.array([2.0]))
    live.delete_vertices(np.array([4], np.int16))
    assert (live.n, live.m) == (8, 12 - 1 + 1 - 4)


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"imbalance": -1}, {"seed": -1}, {"preset": "best"}, {"parts": [0, 9]}]
)
def test_bad_option_is_refused(options: dict[str, Any]) -> None:
    given = {"k": 2, "backend": "cpu", **options}
    with pytest.raises(jetpy.JetpyError):
        jetpy.IncrementalPartitioner(grid(1, 2), **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extra_buckets": -1}, "extra_buckets"),
        ({"refine_after": -1}, "refine_after"),
        ({"max_drift": -1}, "max_drift"),
        ({"tries": 0}, "tries"),
        ({"max_drift": float("nan")}, "max_drift is nan"),
        ({"refine_after": float("inf")}, "refine_after is inf"),
        ({"repartition_after": "much"}, "repartition_after is 'much'"),
        ({"tries": 2.0}, "tries is 2.0; it must be an integer"),
        ({"extra_buckets": True}, "extra_buckets is True"),
        ({"max_degree": 2**31}, "max_degree is 2147483648"),
        ({"on_host": "no"}, "on_host is 'no'; it must be True or False"),
    ],
    ids=str,
)
def test_option_of_wrong_type_or_range_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(jetpy.OptionError, match=message):
        jetpy.IncrementalOptions(**options)


def test_numpy_options_become_python_numbers() -> None:
    options = jetpy.IncrementalOptions(tries=np.int64(2), max_drift=np.float32(0.5))
    assert (type(options.tries), type(options.max_drift)) == (int, float)
