"""Several weights and sizes of vertices, from every input to every function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.errors import GraphError, JetpyError
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import communication_volume
from tests.graphs import path

WEIGHTS = np.stack([np.ones(9, int), np.arange(9) % 3], axis=1)
SIZES = np.arange(9)[::-1] % 4
ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def arrays_of(graph: Graph, weights: Any = WEIGHTS) -> tuple[Any, ...]:
    return graph.indptr, graph.indices, graph.edge_weights, weights


@pytest.fixture
def graph() -> Graph:
    return jetpy.as_graph(arrays_of(path(9)), vertex_sizes=SIZES)


def test_weights_and_sizes_stay_with_the_graph(graph: Graph, tmp_path: Path) -> None:
    made = [
        graph,
        jetpy.as_graph(graph),
        jetpy.as_graph(graph, edge_weights=np.full(16, 3)),
        jetpy.as_graph(graph, pattern=True),
        jetpy.as_graph(path(9), vertex_weights=WEIGHTS.tolist(), vertex_sizes=SIZES.tolist()),
        jetpy.as_graph(path(9), vertex_weights=WEIGHTS.astype(float), vertex_sizes=SIZES),
    ]
    for name in ("a.graph", "a.metis.gz", "a.npz"):
        jetpy.write_graph(tmp_path / name, graph)
        made.append(jetpy.read_graph(tmp_path / name))
    for found in made:
        assert found.constraint_weights is not None
        assert found.vertex_sizes is not None
        assert found.constraint_weights.tolist() == WEIGHTS.tolist()
        assert found.vertex_sizes.tolist() == SIZES.tolist()
        assert found.constraint_weights.dtype == found.vertex_sizes.dtype == np.int32
        assert found.vertex_weights.tolist() == [1] * 9


def test_arguments_replace_weights_and_sizes(graph: Graph) -> None:
    other = jetpy.as_graph(graph, vertex_weights=range(1, 10), vertex_sizes=[2] * 9)
    assert other.constraint_weights is None
    assert other.vertex_weights.tolist() == [*range(1, 10)]
    assert communication_volume(other, np.arange(9) // 5) == 4


def test_one_column_is_the_weight(tmp_path: Path) -> None:
    own = np.arange(1, 10)
    graph = jetpy.as_graph(path(9), vertex_weights=own[:, None])
    assert graph.vertex_weights.tolist() == own.tolist()
    jetpy.write_graph(tmp_path / "a.graph", graph)
    assert jetpy.read_graph(tmp_path / "a.graph").vertex_weights.tolist() == own.tolist()
    assert jetpy.evaluate(graph, np.arange(9) // 5).part_weights.tolist() == [[15], [30]]
    jetpy.write_graph(tmp_path / "a.parhip", graph)
    found = jetpy.map_processes(graph, "2", "1", **ENGINE)
    assert found.partition.part_weights.sum() == own.sum()


def test_weights_of_the_graph_are_balanced(graph: Graph) -> None:
    found = jetpy.partition(graph, 3, **ENGINE)
    given = jetpy.partition(path(9), 3, vertex_weights=WEIGHTS, **ENGINE)
    assert found.parts.tolist() == given.parts.tolist()
    assert found.part_weights.tolist() == [[3, 3]] * 3
    assert found.communication_volume == communication_volume(graph, found.parts)
    assert jetpy.partition(found.graph, 3, **ENGINE).parts.tolist() == given.parts.tolist()
    assert jetpy.partition_many([graph], 3)[0].parts.tolist() == given.parts.tolist()
    assert jetpy.refine(graph, np.arange(9) % 3, **ENGINE).part_weights.shape == (3, 2)
    single = jetpy.partition(graph, 3, vertex_weights=[1] * 9, **ENGINE)
    assert single.part_weights.tolist() == [3, 3, 3]


def test_subgraphs_keep_weights_and_sizes(graph: Graph) -> None:
    sub = jetpy.refine(graph, np.arange(9) // 3, **ENGINE).subgraph(1, halo=1)
    assert sub.graph.constraint_weights is not None
    assert sub.graph.vertex_sizes is not None
    assert sub.graph.constraint_weights.tolist() == WEIGHTS[sub.global_ids].tolist()
    assert sub.graph.vertex_sizes.tolist() == SIZES[sub.global_ids].tolist()


def test_evaluation_has_all_weights_and_sizes(graph: Graph) -> None:
    parts = np.arange(9) // 5
    found = jetpy.evaluate(graph, parts)
    assert found.part_weights.tolist() == [[5, 4], [4, 5]]
    assert found.imbalance == 0
    uneven = jetpy.evaluate(graph, np.arange(9) // 7)
    assert uneven.imbalance == pytest.approx(7 / 5 - 1)
    assert found.part_volumes.tolist() == [SIZES[4], SIZES[5]]
    assert found.communication_volume == communication_volume(graph, parts)
    assert "3; 3" not in found._repr_html_()
    assert "5; 4" in found._repr_html_()


NEED_ONE_WEIGHT: dict[str, Callable[[Graph], Any]] = {
    "map_processes": lambda graph: jetpy.map_processes(graph, "2", "1"),
    "coarsen": lambda graph: jetpy.coarsen(graph, 2),
    "Hierarchy": lambda graph: jetpy.Hierarchy(graph, [[0] * 9]),
    "IncrementalPartitioner": lambda graph: jetpy.IncrementalPartitioner(graph, 2),
    "vertex_separator": lambda graph: jetpy.vertex_separator(graph),
}


@pytest.mark.parametrize("name", NEED_ONE_WEIGHT)
def test_functions_of_one_weight_refuse_several(graph: Graph, name: str) -> None:
    message = f"each vertex has 2 weights; {name} needs one weight of each vertex"
    with pytest.raises(GraphError, match=message):
        NEED_ONE_WEIGHT[name](graph)
    NEED_ONE_WEIGHT[name](jetpy.as_graph(graph, vertex_weights=[1] * 9))


@pytest.mark.parametrize("suffix", [".txt", ".mtx", ".parhip"])
def test_formats_refuse_what_they_would_lose(graph: Graph, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"a{suffix}"
    with pytest.raises(GraphError, match="cannot store several weights per vertex"):
        jetpy.write_graph(file, graph)
    with pytest.raises(GraphError, match="cannot store vertex sizes"):
        jetpy.write_graph(file, jetpy.as_graph(path(9), vertex_sizes=SIZES))
    assert not file.exists()


def test_orderings_do_not_use_weights(graph: Graph) -> None:
    assert jetpy.nested_dissection(graph).perm.tolist() == (
        jetpy.nested_dissection(path(9)).perm.tolist()
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((8, 1)), r"vertex weights have shape \(8,\); there must be 9"),
        (-np.ones((9, 1)), "vertex 0 has weight -1.0, but weights must"),
        (np.ones((9, 2, 1)), r"vertex_weights has shape \(9, 2, 1\)"),
        ([[1, 2]] * 8 + [[1, -2]], "weight 1 of vertex 8 is -2"),
    ],
)
def test_bad_columns_are_refused(weights: Any, message: str) -> None:
    for call in (
        lambda: jetpy.as_graph(path(9), vertex_weights=weights),
        lambda: jetpy.as_graph(arrays_of(path(9), weights)),
    ):
        with pytest.raises(JetpyError, match=message):
            call()
