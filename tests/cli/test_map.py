"""`jetpy map`, and `jetpy evaluate` with a machine, run in this process."""

from __future__ import annotations

import json
import os
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
from tests.graphs import heavy_vertex, isolated
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


def as_npz(value: Any) -> bytes:
    file = BytesIO()
    np.savez(file, value)
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


def test_json_file_keeps_the_summary(run: Run) -> None:
    result = run("map", "mesh.graph", *MACHINE, "--json", "stats.json", *ENGINE)
    assert "cost by level" in result.stdout
    assert json.loads(Path("stats.json").read_text()).keys() == FIELDS


def test_no_file_is_written_without_output(run: Run, folder: Path) -> None:
    before = sorted(folder.iterdir())
    run("map", "mesh.graph", *MACHINE, *ENGINE)
    assert sorted(folder.iterdir()) == before


def test_quiet_prints_nothing(run: Run) -> None:
    result = run("map", "mesh.graph", *MACHINE, "-o", "out.pe", "--quiet", *ENGINE)
    assert result.output == ""
    assert len(read_parts("out.pe")) == 1200


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


def test_infeasible_mapping_is_written_with_a_warning(run: Run) -> None:
    write_graph("heavy.graph", heavy_vertex())
    arguments = ("map", "heavy.graph", "--hierarchy", "2", "--distance", "1", "-o", "out.pe")
    result = run(*arguments, "--quiet", *ENGINE, code=3)
    assert result.stdout == ""
    assert result.stderr.startswith(
        "jetpy: warning: no balanced mapping was found: the heaviest PE"
    )
    assert result.stderr.endswith("more than the limit of 523\n")
    assert len(read_parts("out.pe")) == 6


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


def test_repair_adds_missing_edges(run: Run) -> None:
    Path("half.graph").write_text("3 2\n2\n1 3\n\n")
    result = run("map", "half.graph", *MACHINE, *ENGINE, code=1)
    assert result.stderr.startswith("jetpy: error: half.graph: ")
    run("map", "half.graph", *MACHINE, "--repair", *ENGINE)


GOOD = as_npy(DISTANCES)
FILES = {
    "ring.txt": b"0 1 2 1\n1 0 1 2\n2 1 0 1\n1 2 1 0\n",
    "rubbish.txt": b"\xff" + os.urandom(300),
    "rubbish.npy": b"\xff" + os.urandom(300),
    "empty.txt": b"",
    "empty.npy": b"",
    "short.npy": GOOD[:-8],
    "header.npy": GOOD[:40],
    "torn.npy": GOOD.replace(b"False, 's", b"FalseO").replace(b"   \n", b"  '   \n"),
    "zip.npy": as_npz(DISTANCES),
    "torn_zip.npy": b"PK\x03\x04" + os.urandom(300),
    "objects.npy": as_npy(np.array([[0, None], [None, 0]])),
    "floats.npy": as_npy(DISTANCES / 2),
    "row.npy": as_npy(DISTANCES[0]),
    "ragged.txt": b"0 1\n1\n",
    "floats.txt": b"0 1.5\n1.5 0\n",
    "words.txt": b"near far\nfar near\n",
    "huge.txt": b"0 99999999999999999999\n99999999999999999999 0\n",
    "wide.txt": b"0 1 2\n1 0 2\n",
    "uneven.txt": b"0 1\n2 0\n",
    "negative.txt": b"0 -1\n-1 0\n",
    "self.txt": b"3 1\n1 0\n",
    "loop.graph": b"1 1\n1 1\n",
}

MATRIX_FILES = {
    "missing.txt": (2, "missing.txt: this is neither a list of distances such as 1:10:100 nor"),
    "1.5:2": (2, "1.5:2: this is neither a list of distances such as 1:10:100 nor"),
    "near:far": (2, "near:far: this is neither a list of distances such as 1:10:100 nor"),
    ".": (1, "Is a directory: '.'"),
    **{
        name: (1, f"{name}: this is not a matrix of integers")
        for name in FILES
        if name.split(".")[0] not in {"ring", "wide", "uneven", "negative", "self", "loop"}
    },
    "wide.txt": (2, "the matrix of distances is 2 x 3; it must be square"),
    "uneven.txt": (2, "the distance of PEs 0 and 1 is 1; distances must be the same in both"),
    "negative.txt": (2, "the distance of PEs 0 and 1 is -1"),
    "self.txt": (2, "the distance of PEs 0 and 0 is 3"),
    "ring.txt --method hm": (2, "method hm needs a hierarchy; give one, or use im"),
    "ring.txt --hierarchy 2:3": (2, "matrix of distances is 4 x 4, but the hierarchy has 6 PEs"),
}

OPTIONS = {
    "": (2, "Missing option '--distance'"),
    "--hierarchy 2:4": (2, "Missing option '--distance'"),
    "--distance 1:10": (2, "distances of levels need a hierarchy"),
    "--hierarchy 2:4:2 --distance 1:10": (
        2,
        "the numbers of levels differ: 3 in the hierarchy, 2 in the distances",
    ),
    "--hierarchy 2:x --distance 1:10": (2, "hierarchy is '2:x'; it must be integers"),
    "--hierarchy 2:0 --distance 1:10": (2, "hierarchy is '2:0'; each number must be in 1.."),
    "--hierarchy 2.5 --distance 1": (2, "hierarchy is '2.5'; it must be integers"),
    "--hierarchy 2: --distance 1:10": (2, "hierarchy is '2:'; it must be integers"),
    "--hierarchy 2:4 --distance 1:": (2, "distances is '1:'; it must be integers"),
    "--hierarchy 2:4 --distance 1:-10": (2, "distances is '1:-10'; each number must be in 0.."),
    "--hierarchy 4096:4096 --distance 1:10": (
        2,
        "the hierarchy has 16777216 PEs; it may have at most",
    ),
    **{
        f"--hierarchy 2:4 --distance 1:10 {options}": case
        for options, case in {
            "--method best": (2, "'best' is not one of 'im', 'hm', 'hm-ultra'"),
            "--imbalance -1": (2, "imbalance is -1.0"),
            "--imbalance nan": (2, "imbalance is nan"),
            "--seed -1": (2, "seed is -1"),
            "--threads 0": (2, "threads is 0"),
            "-k 8": (2, "No such option"),
            "-o nowhere/out.pe": (1, "nowhere/out.pe: cannot be written: No such file"),
            "-o mesh.graph": (2, "mesh.graph is given twice"),
            "-o x --json x": (2, "x is given twice"),
            "--rankfile x -o x": (2, "x is given twice"),
            "--rankfile -": (2, "'-' (standard output) is allowed for --json only"),
            "--rankfile nowhere/x": (1, "nowhere/x: cannot be written"),
            "--rankfile x": (2, "there are 1200 tasks, but 8 PEs"),
            "--slurm-hostfile x": (2, "--slurm-hostfile needs --hosts"),
            "--slurm-hostfile x --hosts a,": (2, "there are 1200 tasks, but 8 PEs"),
            "--rankfile x --hosts nodes.txt": (
                2,
                "hosts is 'nodes.txt', but there is no such file; give names separated by commas",
            ),
            "--rankfile x --hosts n[1-": (2, "its brackets must match, as in n[1-4]"),
            "--rankfile x --hosts n[4-1]": (2, "host 'n[4-1]' has the range '4-1'"),
            "--hosts a,b": (2, "--hosts needs --rankfile or --slurm-hostfile"),
            "--rankfile x --hosts ,": (2, "hosts is ',', which has no host name"),
            "--rankfile x --hosts a,b,c": (
                2,
                "there are 3 hosts, but the hierarchy 2:4, distances",
            ),
            "--rankfile mesh.part --hosts mesh.part": (2, "mesh.part is given twice"),
        }.items()
    },
    "--distance ring.txt --rankfile x": (2, "the machine has no hierarchy"),
    "--distance ring.txt -o ring.txt": (2, "ring.txt is given twice"),
    "--distance ring.txt --json ring.txt": (2, "ring.txt is given twice"),
}

EVALUATE = {
    "mesh.part --hierarchy 2:4": (2, "--hierarchy needs --distance"),
    "mesh.part --distance 1:10": (2, "distances of levels need a hierarchy"),
    "mesh.part --hierarchy 2:4 --distance 1:10 -k 4": (2, "k is 4, but the machine has 8 PEs"),
    "mesh.part --distance ring.txt -k 5": (2, "k is 5, but the machine has 4 PEs"),
    "mesh.part --hierarchy 3 --distance 1": (1, "vertex 900 is in part 3"),
    "mesh.part --distance missing.txt": (
        2,
        "missing.txt: this is neither a list of distances such as 1:10:100 nor",
    ),
    "mesh.part --distance ragged.txt": (1, "ragged.txt: this is not a matrix of integers"),
    "mesh.part --distance ring.txt --json ring.txt": (2, "ring.txt is given twice"),
}

CASES = {
    **{f"map mesh.graph -o out.pe --distance {name}": case for name, case in MATRIX_FILES.items()},
    **{f"map mesh.graph {options}": case for options, case in OPTIONS.items()},
    **{f"evaluate mesh.graph {options}": case for options, case in EVALUATE.items()},
    "map missing.graph --hierarchy 2 --distance 1": (2, "'missing.graph' does not exist"),
    "map loop.graph --hierarchy 2 --distance 1 -o out.pe": (1, "loop.graph: "),
}


@pytest.mark.parametrize("line", CASES)
def test_bad_command_line_is_refused(run: Run, folder: Path, line: str) -> None:
    code, words = CASES[line]
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    engine = ["--backend", "cpu"] if line.startswith("map") else []
    result = run(*line.split(), *engine, code=code)
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert result.stderr.startswith("jetpy: error: ")
    assert result.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_bad_hierarchy_is_refused_before_the_graph_is_read(run: Run) -> None:
    Path("bad.graph").write_text("no graph\n")
    words = run("map", "bad.graph", "--hierarchy", "2", "--distance", "1:2", code=2).stderr
    assert "the numbers of levels differ: 1 in the hierarchy, 2 in the distances" in words
