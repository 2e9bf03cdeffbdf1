"""Changing graphs in studies: runs, lists of runs, tables, and the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import jetpy
from jetpy.cli.study import MIN_MODIFIERS
from jetpy.errors import JetpyError
from jetpy.graph.generators import delaunay
from jetpy.study.arrays import checksum_of_parts, save_arrays
from jetpy.study.cases import Case, Options, cases_of
from jetpy.study.changes import changes_in
from jetpy.study.child import Task, found_by
from jetpy.study.files import BATCHES, PERFORMANCE
from jetpy.study.merge import merge
from jetpy.study.modifiers import KINDS, steps
from jetpy.study.page import study_page
from jetpy.study.results import read_results
from jetpy.study.study import Study
from jetpy.study.tables import batch_table, cuts_by_batch, gain_table
from tests.cli.test_report import page
from tests.incremental.oracle import apply, as_networkx
from tests.study.made import batch, machine, row, study

K, IMBALANCE, CHANGES = 4, 0.05, "50x4"
SCRATCH = "default from scratch"


def case(
    tool: str, preset: str, backend: str = "", threads: int = 1, changes: str = CHANGES
) -> Case:
    return Case("mesh", K, IMBALANCE, tool, preset, backend, threads, 0, changes=changes)


@pytest.fixture
def graph() -> jetpy.Graph:
    return delaunay(300)


def models(graph: jetpy.Graph, changes: str) -> Iterator[nx.Graph]:
    """Yield the graph after each batch, with vertices 0, 1, ... in the order of their ids."""
    model, first = as_networkx(graph), graph.n
    for step in steps(graph, *changes_in(changes)):
        number = int(np.asarray(step.batch.insert_vertices))
        ones = jetpy.Batch(
            step.batch.delete_edges, step.batch.delete_vertices, [1] * number,
            step.batch.insert_edges,
        )  # fmt: skip
        apply(model, ones, first)
        first += number
        yield nx.convert_node_labels_to_integers(model, ordering="sorted")


def recounted(model: nx.Graph, parts: list[int]) -> tuple[int, float, bool]:
    """Return cut, imbalance and feasibility, counted edge by edge and vertex by vertex."""
    cut = sum(w for u, v, w in model.edges(data="weight") if parts[u] != parts[v])
    sizes = [0] * K
    for v, weight in model.nodes(data="weight"):
        sizes[parts[v]] += weight
    share = -(-sum(sizes) // K)
    return cut, round(max(sizes) / share - 1, 5), max(sizes) <= int((1 + IMBALANCE) * share)


def test_reported_cuts_of_updates_are_those_of_a_plain_recount(
    graph: jetpy.Graph, tmp_path: Path
) -> None:
    save_arrays(tmp_path, graph)
    found = found_by(Task(case("jetpy", "default", "cpu"), str(tmp_path), 60, profile=False))
    live = jetpy.IncrementalPartitioner(graph, K, imbalance=IMBALANCE, backend="cpu", threads=1)
    parts, counted = [], []
    for step, model in zip(steps(graph, 50, 4), models(graph, CHANGES), strict=True):
        live.update(step.batch)
        parts.append(live.partition[live.vertices])
        counted.append(recounted(model, parts[-1].tolist()))
    reported = [(own["cut"], own["imbalance"], own["feasible"]) for own in found["batches"]]
    assert reported == counted
    assert found["sha"] == checksum_of_parts(np.concatenate(parts))
    _check_means(found)
    for own in found["batches"]:
        assert own["action"] in ("placed", "refined", "repartitioned")
        assert 0 <= own["moved"] <= graph.n


def _check_means(found: dict[str, Any]) -> None:
    """Check that a run's values are those of its batches."""
    batches = found["batches"]
    assert [own["batch"] for own in batches] == [1, 2, 3, 4]
    assert found["cut"] == round(sum(own["cut"] for own in batches) / 4, 1)
    assert found["imbalance"] == max(own["imbalance"] for own in batches)
    assert found["feasible"] == all(own["feasible"] for own in batches)
    assert found["seconds"] == pytest.approx(sum(own["seconds"] for own in batches) / 4)
    modifying = sum(own["modification_seconds"] for own in batches) / 4
    assert float(found["modification_seconds"]) == pytest.approx(modifying, abs=1e-6)
    assert all(0 < own["modification_seconds"] < own["seconds"] for own in batches)


@pytest.mark.parametrize(
    ("tool", "preset", "backend", "module"),
    [
        ("jetpy", SCRATCH, "cpu", "jetpy"),
        ("metis", "k-way", "", "pymetis"),
        ("kaminpar", "default", "", "kaminpar"),
        ("mtkahypar", "default", "", "mtkahypar"),
        ("kahip", "fast", "", "kahip"),
    ],
)
def test_tools_partition_the_changed_graph_from_scratch(
    tool: str, preset: str, backend: str, module: str, graph: jetpy.Graph, tmp_path: Path
) -> None:
    pytest.importorskip(module)
    save_arrays(tmp_path, graph)
    found = found_by(Task(case(tool, preset, backend), str(tmp_path), 60, profile=False))
    _check_means(found)
    assert {(own["action"], own["moved"]) for own in found["batches"]} == {("from scratch", None)}
    if tool == "jetpy":
        parts = [
            jetpy.partition(step.graph, K, imbalance=IMBALANCE, backend="cpu", threads=1).parts
            for step in steps(graph, 50, 4)
        ]
        counted = [
            recounted(model, own.tolist())
            for own, model in zip(parts, models(graph, CHANGES), strict=True)
        ]
        assert found["sha"] == checksum_of_parts(np.concatenate(parts))
        assert [own["cut"] for own in found["batches"]] == [cut for cut, _, _ in counted]


def test_changes_follow_partitions() -> None:
    """Updates only by jetpy; partitions from scratch by all but Scotch and programs."""
    options = Options(
        (2, 8), ("cpu",), ("fast",), ("metis", "mtkahypar", "scotch"),
        (1, 2), (0,), (0.03,), 60,
        programs={"jet": Path("jet")}, changes=("50x4", "500x4"),
    )  # fmt: skip
    found = cases_of("mesh", options)
    changing = [own for own in found if own.changes]
    assert changing == found[-len(changing) :]
    names = list(dict.fromkeys(own.application for own in changing))
    assert names == ["jetpy/fast", "jetpy/fast from scratch", "metis", "mtkahypar"]
    assert {(own.k, own.changes) for own in changing} == {
        (k, changes) for k in (2, 8) for changes in ("50x4", "500x4")
    }
    assert {own.tool for own in changing if own.uses_threads} == {"jetpy", "mtkahypar"}
    assert changing[0].problem == "mesh k=2 imbalance=0.03 changes=50x4"


def test_a_batch_needs_a_modifier_of_each_kind() -> None:
    assert MIN_MODIFIERS == KINDS


def made(tmp_path: Path) -> Path:
    """Write a study of a changing graph: updates, and partitions from scratch by two tools.

    Updates take 0.25 s for modifications and 0.75 s for partitions.
    """
    scratch = ("from scratch",) * 2
    update = case("jetpy", "default", "cpu", changes="50x2")
    runs = [
        (update, 1.0, 0.25, (10, 30), ("placed", "refined")),
        (case("jetpy", SCRATCH, "cpu", changes="50x2"), 8.0, 0.5, (10, 20), scratch),
        (case("metis", "k-way", changes="50x2"), 2.0, 0.5, (20, 40), scratch),
    ]
    rows = [
        row(
            "box", own, seconds=seconds, modification_seconds=modification, cut=sum(cuts) / 2,
            parts_sha="x" if own.preset == "default" else "",
        )
        for own, seconds, modification, cuts, _ in runs
    ]  # fmt: skip
    batches = [
        batch("box", own, number, cut, action)
        for own, _, _, cuts, actions in runs
        for number, (cut, action) in enumerate(zip(cuts, actions, strict=True), 1)
    ]
    still = Case("mesh", K, IMBALANCE, "jetpy", "default", "cpu", 1, 0)
    rows.append(row("box", still, parts_sha="y"))
    return study(tmp_path / "s", "box", machine(), rows, batches=batches)


def test_updates_are_compared_with_partitions_from_scratch(tmp_path: Path) -> None:
    results = read_results(made(tmp_path))
    assert results.unequal == [], "a graph that changes and one that does not are two problems"
    assert list(map(str, results.kinds)) == ["0.05", "0.05 changes=50x2"]
    plain, own = results.kinds.values()
    numbers = {"box cpu-1": "1"}
    assert batch_table(plain, numbers) is None
    assert cuts_by_batch(plain) == {}
    table = batch_table(own, numbers)
    assert table is not None
    assert [" ".join(cells) for cells in table.rows] == [
        "jetpy/default 1 1 1000.00 250.00 750.00 1 1 0",
        "jetpy/default from scratch 1 1 8000.00 500.00 7500.00 - - -",
        "metis 1 1 2000.00 500.00 1500.00 - - -",
    ]
    gains = gain_table(own, numbers)
    assert gains is not None
    assert [" ".join(cells) for cells in gains.rows] == [
        "jetpy/default jetpy/default from scratch 1 1 8.00 8.00 8.00 2.00 10.00 1.333 1.333",
        "jetpy/default metis 1 1 2.00 2.00 2.00 2.00 2.00 0.667 0.667",
    ]
    assert cuts_by_batch(own) == {
        "jetpy/default": {1: 1.0, 2: pytest.approx(1.5)},
        "jetpy/default from scratch": {1: 1.0, 2: 1.0},
        "metis": {1: 2.0, 2: 2.0},
    }
    metric = results.as_dict()["performance_portability"]["0.05 changes=50x2"]
    assert metric["time"]["jetpy/default from scratch"] == pytest.approx(1 / 8)
    assert metric["cut"]["metis"] == pytest.approx(0.5)


@pytest.mark.usefixtures("undrawn")
def test_page_shows_batches_of_changing_graphs_only(tmp_path: Path) -> None:
    results = read_results(made(tmp_path))
    (tmp_path / "page.html").write_text(study_page(results, "jetpy study"))
    shown = page(tmp_path / "page.html")
    assert shown.facts["changes"] == "50x2"
    assert shown.text.count("Batches at imbalance 0.05, changes 50x2") == 1
    assert shown.text.count("Batches at") == 1
    assert "Performance portability by cut at imbalance 0.05, changes 50x2" in shown.text


def test_studies_without_all_batches_are_run_again_and_not_merged(tmp_path: Path) -> None:
    folder = made(tmp_path)
    merge([folder, folder], tmp_path / "all")
    for file in folder.iterdir():
        assert (tmp_path / "all" / file.name).read_bytes() == file.read_bytes()
    update = case("jetpy", "default", "cpu", changes="50x2")
    opened = Study.opened(folder, "box", machine())
    assert not opened.lacks(update)
    BATCHES.write(folder, BATCHES.read(folder)[1:])
    opened = Study.opened(folder, "box", machine())
    assert opened.lacks(update)
    assert len(opened.runs) == len(PERFORMANCE.read(folder)) - 1
    with pytest.raises(JetpyError, match=r"batches\.csv lacks the batches of 1 run, for example"):
        merge([folder], tmp_path / "again")
