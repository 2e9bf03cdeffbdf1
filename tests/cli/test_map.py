"""`jetpy map`, and `jetpy evaluate` with a machine, run in this process."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.graph.generators import grid
from jetpy.io import read_graph, read_parts, write_graph
from jetpy.problem.presets import MAPPING_METHODS
from tests.cli.conftest import ENGINE, Run
from tests.graphs import isolated
from tests.mapping.oracle import cost_of, cut_of, dense

FIELDS = {
    *("version", "graph", "n", "m", "k", "method", "options", "seed", "backend", "gpu", "threads"),
    *("hierarchy", "distances", "cost", "cost_by_level", "cut"),
    *("imbalance", "limit", "limits", "lower_limits", "feasible", "part_weights", "empty_pes"),
    *("seconds", "launches"),
}
MACHINE = ("--hierarchy", "2:4", "--distance", "1:10")
DISTANCES = dense([2, 4], [1, 10])


def as_npy(value: Any) -> bytes:
    file = BytesIO()
    np.save(file, value, allow_pickle=True)
    return file.getvalue()


def as_text(matrix: np.ndarray, gap: str = " ", end: str = "\n") -> bytes:
    return "".join(gap.join(map(str, row)) + end for row in matrix.tolist()).encode()


def report_of(run: Run, *arguments: object) -> dict[str, Any]:
    return dict(json.loads(run(*arguments, "--json", "-").stdout))


@pytest.mark.parametrize("method", MAPPING_METHODS)
def test_mapping_equals_that_of_the_library(run: Run, method: str) -> None:
    options = ("--method", method, "--seed", 5, "--imbalance", 0.1)
    result = run("map", "mesh.graph", *MACHINE, *options, "-o", "out.pe", *ENGINE)
    expected = jetpy.map_processes(
        read_graph("mesh.graph"),
        *("2:4", "1:10"),
        method=method,
        seed=5,
        imbalance=0.1,
        backend="cpu",
        threads=1,
    )
    assert read_parts("out.pe").tolist() == expected.pe.tolist()
    near, far = expected.cost_by_level.tolist()
    summary = " ".join(result.stdout.split())
    for words in (
        "graph mesh: 1,200 vertices, 2,330 edges",
        "machine 2:4, distances 1:10, 8 PEs",
        f"run {method}, seed 5, cpu, 1 thread",
        f"cost {expected.cost:,} cost by level {near:,} + {far:,} cut {expected.cut} (",
        "limit 165; the heaviest PE weighs",
        "feasible yes",
    ):
        assert words in summary
    assert result.stderr == ""


def test_evaluate_agrees_with_map(run: Run) -> None:
    made = report_of(run, "map", "mesh.graph", *MACHINE, "-o", "out.pe", *ENGINE)
    found = report_of(run, "evaluate", "mesh.graph", "out.pe", *MACHINE)
    for field in ("hierarchy", "distances", "cost", "cost_by_level", "cut", "part_weights", "k"):
        assert found[field] == made[field]
    words = " ".join(run("evaluate", "mesh.graph", "out.pe", *MACHINE, "-k", 8).stdout.split())
    near, far = made["cost_by_level"]
    assert f"cost {made['cost']:,} cost by level {near:,} + {far:,} cut {made['cut']}" in words


def test_evaluate_known_mapping(run: Run) -> None:
    """Strips of ten rows of 30 on PEs 0 to 3: two cuts within processors, one between them."""
    found = report_of(run, "evaluate", "mesh.graph", "mesh.part", *MACHINE)
    assert (found["cost_by_level"], found["cost"]) == ([2 * 60, 2 * 300], 720)
    assert (found["k"], found["empty_parts"]) == (8, 4)
    without = report_of(run, "evaluate", "mesh.graph", "mesh.part")
    assert found.keys() - without.keys() == {"hierarchy", "distances", "cost", "cost_by_level"}


def test_json_on_standard_output_replaces_the_summary(run: Run) -> None:
    report = report_of(run, "map", "mesh.graph", *MACHINE, "-o", "out.pe", *ENGINE)
    graph, pe = read_graph("mesh.graph"), read_parts("out.pe")
    assert report.keys() == FIELDS
    assert (report["hierarchy"], report["distances"]) == ([2, 4], [1, 10])
    assert report["cost"] == sum(report["cost_by_level"]) == cost_of(graph, pe, DISTANCES)
    assert report["cut"] == cut_of(graph, pe)
    assert report["part_weights"] == np.bincount(pe, minlength=8).tolist()
    assert report["empty_pes"] == 0
    assert report["imbalance"] == pytest.approx(max(report["part_weights"]) / 150 - 1)
    assert report["seconds"].keys() == {
        *("read", "compile", "coarsen", "initial", "refine", "total")
    }
    stages = ("coarsen", "initial", "refine")
    assert report["seconds"]["total"] == pytest.approx(sum(report["seconds"][s] for s in stages))
    assert report["launches"] > 0
    assert [report[f] for f in ("n", "m", "k", "limit", "seed", "threads")] == [
        *(1200, 2330, 8, 155, 0, 1)
    ]
    assert [report[f] for f in ("graph", "method", "backend", "feasible")] == [
        *("mesh", "im", "cpu", True)
    ]


def test_profile_is_written(run: Run) -> None:
    arguments = ("map", "mesh.graph", *MACHINE, "--profile", "trace.json")
    report = report_of(run, *arguments, *ENGINE)
    assert report.keys() == {*FIELDS, "profile"}
    assert json.loads(Path("trace.json").read_text())["otherData"]["run"] == "mesh, k = 8, cpu"
    assert "kernel" in run(*arguments, *ENGINE).stdout


def test_decreasing_distances_are_warned_about(run: Run) -> None:
    arguments = ("map", "mesh.graph", "--hierarchy", "2:4", "--distance", "10:1", *ENGINE)
    result = run(*arguments)
    assert (
        result.stderr == "jetpy: warning: the distances 10:1 do not increase from level to level\n"
    )
    assert "cost" in result.stdout


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pes.txt", as_text(DISTANCES)),
        ("pes.csv", as_text(DISTANCES, ", ", "\r\n\r\n")),
        ("pes", as_text(DISTANCES, "\t")),
        ("pes.npy", as_npy(DISTANCES)),
        ("10.npy", as_npy(np.asfortranarray(DISTANCES, np.uint8))),
    ],
)
def test_matrix_file_equals_the_hierarchy(run: Run, name: str, content: bytes) -> None:
    Path(name).write_bytes(content)
    matrix = ("--distance", name)
    expected = report_of(run, "map", "mesh.graph", *MACHINE, "-o", "levels.pe", *ENGINE)
    both = report_of(
        run, "map", "mesh.graph", "--hierarchy", "2:4", *matrix, "-o", "both.pe", *ENGINE
    )
    assert Path("both.pe").read_bytes() == Path("levels.pe").read_bytes()
    assert (both["hierarchy"], both["distances"]) == ([2, 4], [])
    assert both["cost_by_level"] == expected["cost_by_level"]

    alone = report_of(run, "map", "mesh.graph", *matrix, "-o", "alone.pe", *ENGINE)
    pe = read_parts("alone.pe")
    assert alone["cost"] == cost_of(read_graph("mesh.graph"), pe, DISTANCES)
    assert (alone["k"], alone["hierarchy"], alone["cost_by_level"]) == (8, [], [])
    assert report_of(run, "evaluate", "mesh.graph", "alone.pe", *matrix)["cost"] == alone["cost"]


def test_summary_without_hierarchy(run: Run) -> None:
    Path("pes.txt").write_bytes(as_text(DISTANCES))
    words = run("map", "mesh.graph", "--distance", "pes.txt", *ENGINE).stdout
    assert "cost by level" not in words
    [machine] = [line for line in words.splitlines() if line.startswith("machine")]
    assert machine.count("8 PEs") == 1


@pytest.mark.parametrize("vertices", [0, 1, 5])
def test_fewer_tasks_than_pes_leave_pes_empty(run: Run, vertices: int) -> None:
    write_graph("few.graph", isolated(vertices))
    report = report_of(run, "map", "few.graph", *MACHINE, "-o", "out.pe", *ENGINE)
    assert (report["cost"], sum(report["part_weights"])) == (0, vertices)
    assert (max(report["part_weights"]), report["empty_pes"]) == (min(vertices, 1), 8 - vertices)
    summary = run("map", "few.graph", *MACHINE, *ENGINE).stdout.splitlines()
    assert f"empty PEs {8 - vertices}" in [" ".join(line.split()) for line in summary]
    assert len(read_parts("out.pe")) == vertices


def test_rankfile_and_hostfile_are_written(run: Run) -> None:
    """Use one rank per PE, with named hosts and with relative ones."""
    write_graph("ranks.graph", grid(2, 4))
    Path("nodes").write_text("# of this job\nnode7 slots=2\nnode7\nnode9\n\nnode3\nnode1\n")
    files = ("--rankfile", "ranks", "--slurm-hostfile", "lines", "-o", "out.pe")
    run("map", "ranks.graph", *MACHINE, *files, "--hosts", "nodes", *ENGINE)
    pe, names = read_parts("out.pe"), ["node7", "node9", "node3", "node1"]
    assert Path("lines").read_text().split() == [names[p // 2] for p in pe]
    ranks = [f"rank {i}={names[p // 2]} slot={p % 2}" for i, p in enumerate(pe)]
    assert Path("ranks").read_text().splitlines() == ranks
    run("map", "ranks.graph", *MACHINE, *files, "--hosts", "n[7-8],m[01-02]", *ENGINE)
    names = ["n7", "n8", "m01", "m02"]
    assert Path("lines").read_text().split() == [names[p // 2] for p in read_parts("out.pe")]
    run("map", "ranks.graph", *MACHINE, *files[:2], *ENGINE)
    ranks = [f"rank {i}=+n0 slot={p // 2}:{p % 2}" for i, p in enumerate(pe)]
    assert Path("ranks").read_text().splitlines() == ranks


def test_bad_hierarchy_is_refused_before_the_graph_is_read(run: Run) -> None:
    Path("bad.graph").write_text("no graph\n")
    words = run("map", "bad.graph", "--hierarchy", "2", "--distance", "1:2", code=2).stderr
    assert "the numbers of levels differ: 1 in the hierarchy, 2 in the distances" in words
