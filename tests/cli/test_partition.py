"""`jetpy partition`, run in this process."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.workers import Compilation, note
from jetpy.graph import scaling
from jetpy.initial import coarsest
from jetpy.io import read_graph, read_parts, write_graph, write_parts
from jetpy.problem.presets import PRESETS
from tests.cli.conftest import ENGINE, Run
from tests.graphs import isolated

FIELDS = {
    *("version", "graph", "n", "m", "k", "seed", "backend", "gpu", "threads"),
    *("preset", "coarsening", "refinement", "options", "objective", "generations"),
    *(
        "cut",
        "communication_volume",
        "imbalance",
        "limit",
        "limits",
        "lower_limits",
        "feasible",
        "empty_parts",
        "disconnected_parts",
    ),
    *("components", "isolated_vertices", "disconnected"),
    *("part_weights", "levels", "seconds", "launches"),
}
LEVEL_FIELDS = {
    *("level", "n", "m", "cut_before", "cut_after", "iterations", "imbalance"),
    *("seconds", "launches"),
}


def test_parts_equal_those_of_the_library(run: Run) -> None:
    result = run("partition", "mesh.graph", "-k", 4, "--seed", 5, "-o", "out.part", *ENGINE)
    expected = jetpy.partition(jetpy.read_graph("mesh.graph"), 4, seed=5, backend="cpu", threads=1)
    assert read_parts("out.part").tolist() == expected.parts.tolist()
    for line in (
        "mesh: 1,200 vertices, 2,330 edges",
        "k = 4, seed 5, preset default, cpu, 1 thread",
        f"{expected.cut} (",
        "309; the heaviest part weighs",
        "feasible            yes",
    ):
        assert line in result.stdout
    assert result.stderr == ""


def test_summary_distinguishes_loaded_and_compiled_kernels(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = run("partition", "mesh.graph", "-k", 2, *ENGINE).stdout
    assert ", load kernels " in words
    assert "compile" not in words

    def get_ready(self: CpuBackend, modules: Any, progress: Any) -> float:
        note(Compilation([("put",)], 20.0))
        return 20.0

    monkeypatch.setattr(CpuBackend, "get_ready", get_ready)
    assert ", compile 20.00" in run("partition", "mesh.graph", "-k", 2, *ENGINE).stdout


def test_json_on_standard_output_replaces_the_summary(run: Run) -> None:
    result = run("partition", "mesh.graph", "-k", 4, "--json", "-", *ENGINE)
    report = json.loads(result.stdout)
    assert report.keys() == FIELDS
    assert report["seconds"].keys() == {
        *("read", "compile", "coarsen", "initial", "refine", "total")
    }
    assert report["levels"][0].keys() == LEVEL_FIELDS
    assert [level["level"] for level in report["levels"]] == list(range(len(report["levels"])))
    assert report["levels"][0]["n"] == report["n"] == sum(report["part_weights"]) == 1200
    assert report["levels"][0]["cut_after"] == report["cut"]
    stages = ("coarsen", "initial", "refine")
    assert report["seconds"]["total"] == pytest.approx(sum(report["seconds"][s] for s in stages))
    assert (report["m"], report["k"], report["threads"], report["limit"]) == (2330, 4, 1, 309)
    assert (report["feasible"], report["backend"], report["graph"]) == (True, "cpu", "mesh")


@pytest.mark.parametrize("name", ["out.npy", "out.npz.xz", "out.csv", "out.json"])
def test_suffix_selects_the_format_of_parts(run: Run, name: str) -> None:
    run("partition", "mesh.graph", "-k", 4, "-o", name, "--quiet", *ENGINE)
    report = json.loads(run("evaluate", "mesh.graph", name, "-k", 4, "--json", "-").stdout)
    expected = jetpy.partition(read_graph("mesh.graph"), 4, backend="cpu", threads=1)
    assert (report["cut"], report["part_weights"]) == (
        expected.cut,
        expected.part_weights.tolist(),
    )


def test_large_imbalance_needs_its_option(run: Run) -> None:
    options = ("--imbalance", 1.5, "--large-imbalance", "--json", "-")
    report = json.loads(run("partition", "mesh.graph", "-k", 4, *options, *ENGINE).stdout)
    assert report["limit"] == 750


@pytest.mark.parametrize("targets", ["2:1:1", "shares.txt"])
def test_targets_from_text_and_file(run: Run, targets: str) -> None:
    Path("shares.txt").write_text("2\n1\n1\n")
    options = ("--targets", targets, "-o", "parts.txt", "--json", "report.json")
    result = run("partition", "mesh.graph", "-k", 3, *options, *ENGINE)
    report = json.loads(Path("report.json").read_text())
    assert report["limits"] == [618, 309, 309]
    assert report["feasible"]
    assert "309 to 618" in result.stdout
    expected = jetpy.partition(
        read_graph("mesh.graph"), 3, targets=[2, 1, 1], backend="cpu", threads=1
    )
    assert read_parts("parts.txt").tolist() == expected.parts.tolist()


def test_fixed_and_home_equal_the_library(run: Run) -> None:
    n = read_graph("mesh.graph").n
    home = np.arange(n) * 4 // n
    fixed = np.where(np.arange(n) % 9 == 0, (home + 1) % 4, -1)
    write_parts("home.npy", home)
    write_parts("fixed.txt", fixed)
    options = ("--fixed", "fixed.txt", "--home", "home.npy", "--migration", 0.5)
    files = ("-o", "parts.txt", "--json", "report.json")
    result = run("partition", "mesh.graph", "-k", 4, *options, *files, *ENGINE)
    parts = read_parts("parts.txt")
    expected = jetpy.partition(
        read_graph("mesh.graph"),
        4,
        fixed=fixed,
        home=home,
        migration=0.5,
        backend="cpu",
        threads=1,
    )
    assert parts.tolist() == expected.parts.tolist()
    assert (parts == fixed)[fixed >= 0].all()
    report = json.loads(Path("report.json").read_text())
    assert report["moved_vertices"] == (parts != home).sum() > 0
    assert report["moved_weight"] == expected.moved_weight
    assert "moved vertices" in result.stdout


@pytest.mark.parametrize("columns", [1, 2])
def test_vertex_weights_are_read_from_a_file(run: Run, columns: int) -> None:
    weights = np.random.default_rng(0).integers(1, 9, (1200, columns))
    lines = "\n".join(" ".join(map(str, row)) for row in weights.tolist())
    Path("weights.txt").write_text(lines + "\n")
    np.save("weights.npy", weights if columns > 1 else weights[:, 0])
    for file in ("weights.txt", "weights.npy"):
        options = ("--vertex-weights", file, "--json", "-")
        result = run("partition", "mesh.graph", "-k", 3, *options, *ENGINE)
        report = json.loads(result.stdout)
        assert report["feasible"]
        totals = np.sum(report["part_weights"], axis=0).tolist()
        assert totals == (weights.sum(axis=0).tolist() if columns > 1 else weights.sum())
    shown = run("partition", "mesh.graph", "-k", 3, "--vertex-weights", "weights.txt", *ENGINE)
    assert ("limit, weight 1" in shown.stdout) == (columns > 1)
    if columns > 1:
        options = ("--vertex-weights", "weights.npy", "--imbalance", "0.02,0.3", "--json", "-")
        report = json.loads(run("partition", "mesh.graph", "-k", 3, *options, *ENGINE).stdout)
        ideals = -(-weights.sum(axis=0) // 3)
        assert report["limits"] == [np.floor(ideals * [1.02, 1.3]).astype(int).tolist()] * 3
    run("partition", "mesh.graph", "-k", 3, "-o", "p.txt", *ENGINE)
    options = ("--vertex-weights", "weights.npy", "--json", "-")
    report = json.loads(run("evaluate", "mesh.graph", "p.txt", *options).stdout)
    assert np.sum(report["part_weights"]) == weights.sum()


def test_weights_and_sizes_in_the_graph_file_are_used(run: Run) -> None:
    grid, kinds = read_graph("mesh.graph"), np.arange(1200) % 2
    weights = np.stack([1 + kinds, 2 - kinds, kinds], axis=1)
    write_graph("several.graph", jetpy.as_graph(grid, vertex_weights=weights))
    shown = run("partition", "several.graph", "-k", 3, "-o", "p.txt", *ENGINE)
    assert "limit, weight 2" in shown.stdout
    parts = jetpy.partition(grid, 3, vertex_weights=weights, backend="cpu", threads=1).parts
    assert read_parts("p.txt").tolist() == parts.tolist()
    report = json.loads(run("evaluate", "several.graph", "p.txt", "--json", "-").stdout)
    assert np.sum(report["part_weights"], axis=0).tolist() == weights.sum(axis=0).tolist()
    assert "part weights, weight 2" in run("evaluate", "several.graph", "p.txt").stdout
    options = ("--session", "s.npz", *ENGINE)
    refused = run("partition", "several.graph", "-k", 3, *options, code=2).stderr
    assert "--session needs one weight of each vertex, but several.graph has several" in refused

    sized = jetpy.as_graph(grid, vertex_sizes=1 + 9 * kinds)
    write_graph("sized.graph", sized)
    options = ("--objective", "volume", "-o", "v.txt", "--json", "-", *ENGINE)
    report = json.loads(run("partition", "sized.graph", "-k", 3, *options).stdout)
    found = jetpy.partition(sized, 3, objective="volume", backend="cpu", threads=1)
    assert read_parts("v.txt").tolist() == found.parts.tolist()
    assert report["communication_volume"] == found.communication_volume


def test_fractional_vertex_weights_need_scale(run: Run) -> None:
    Path("weights.txt").write_text("0.5\n" * 1199 + "1.5\n")
    options = ("--vertex-weights", "weights.txt", *ENGINE)
    refused = run("partition", "mesh.graph", "-k", 3, *options, code=1).stderr
    assert "weights.txt: vertex 0 on line 1 has weight 0.5, which is not a whole number" in refused
    assert "--pattern" not in refused
    words = run("partition", "mesh.graph", "-k", 3, "--scale", "--json", "-", *options).stdout
    assert sum(json.loads(words)["part_weights"]) == 1202


def test_fractional_matrix_needs_pattern_or_scale(run: Run) -> None:
    head = "%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n"
    Path("a.mtx").write_text(head + "1 1 9.5\n2 1 0.5\n3 2 1.5\n4 3 0.5\n")
    refused = run("partition", "a.mtx", "-k", 2, *ENGINE, code=1)
    assert "--scale" in refused.stderr
    assert "--pattern" in refused.stderr
    by_pattern = run("partition", "a.mtx", "-k", 2, "--pattern", "--json", "-", *ENGINE)
    assert json.loads(by_pattern.stdout)["cut"] == 1
    options = ("--scale", "--repair", "--imbalance", 0.5, "--json", "-")
    scaled = run("partition", "a.mtx", "-k", 2, *options, *ENGINE)
    assert json.loads(scaled.stdout)["m"] == 3
    repair, scale = scaled.stderr.splitlines()[-2:]
    assert repair == "jetpy repairs the graph: 1 self-loop dropped"
    assert scale.startswith("jetpy multiplies the edge weights by 2; it reports")
    scaling.SCALED_ONCE.clear()  # a command is a process of its own
    quiet = run("partition", "a.mtx", "-k", 2, "--quiet", *options, *ENGINE)
    assert quiet.stderr.splitlines() == [scale]


def test_parts_do_not_depend_on_threads(run: Run) -> None:
    for threads in (1, 2):
        engine = ("--backend", "cpu", "--threads", threads)
        run("partition", "mesh.graph", "-k", 8, "-o", f"{threads}.part", *engine)
    assert Path("1.part").read_bytes() == Path("2.part").read_bytes()


def test_generations_equal_the_library(run: Run) -> None:
    asked = ("partition", "mesh.graph", "-k", 4, "--seed", 2, *ENGINE)
    result = run(*asked, "--generations", 5, "-o", "five.part", "--json", "five.json")
    assert "preset default, 5 generations, cpu" in result.stdout
    report = json.loads(Path("five.json").read_text())
    assert report["generations"] == 5
    expected = jetpy.partition(
        read_graph("mesh.graph"), 4, seed=2, generations=5, backend="cpu", threads=1
    )
    assert read_parts("five.part").tolist() == expected.parts.tolist()
    assert report["cut"] == expected.cut


def test_time_limit_equals_its_number_of_generations(run: Run) -> None:
    limited = ("--preset", "max", "--time-limit", 0.5, "--session", "mesh.npz")
    asked = ("partition", "mesh.graph", "-k", 4, "--json", "-", *ENGINE)
    report = json.loads(run(*asked, *limited).stdout)
    assert report["generations"] > 1
    assert 0 < report["seconds"]["total"] < 5
    done = ("--preset", "ultra", "--generations", report["generations"])
    assert json.loads(run(*asked, *done).stdout)["cut"] == report["cut"]
    assert jetpy.IncrementalPartitioner.load("mesh.npz", backend="cpu").cut == report["cut"]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_feasible(run: Run, preset: str) -> None:
    result = run("partition", "mesh.graph", "-k", 4, "--preset", preset, "--json", "-", *ENGINE)
    report = json.loads(result.stdout)
    assert report["preset"] == preset
    assert report["feasible"]


def test_methods_override_the_preset(run: Run) -> None:
    methods = ("--coarsening", "constrained", "--refinement", "independent-set")
    arguments = ("partition", "mesh.graph", "-k", 4, "-o", "out.part", *ENGINE)
    words = " ".join(run(*arguments, *methods).stdout.split())
    named = "coarsening constrained, refinement independent-set, small.max_vertices 0"
    assert f"preset default, {named}, cpu" in words
    expected = jetpy.partition(
        jetpy.read_graph("mesh.graph"),
        4,
        coarsening="constrained",
        refinement="independent-set",
        backend="cpu",
        threads=1,
    )
    assert read_parts("out.part").tolist() == expected.parts.tolist()
    report = json.loads(run(*arguments, "--preset", "gkway", "--json", "-").stdout)
    assert (report["coarsening"], report["refinement"]) == ("union-find", "independent-set")
    words = run(*arguments, "--preset", "gkway", "--refinement", "jet").stdout
    assert "preset gkway, refinement jet, cpu" in words


@pytest.mark.parametrize("vertices", [0, 1, 5])
def test_more_parts_than_vertices_leave_parts_empty(run: Run, vertices: int) -> None:
    write_graph("few.graph", isolated(vertices))
    report = json.loads(run("partition", "few.graph", "-k", 6, "--json", "-", *ENGINE).stdout)
    assert (report["empty_parts"], report["cut"], report["levels"]) == (6 - vertices, 0, [])
    assert "cut                 0\n" in run("partition", "few.graph", "-k", 6, *ENGINE).stdout


def test_failed_run_keeps_the_old_output(run: Run) -> None:
    Path("bad.graph").write_text("3 2\n2\n")
    Path("out.part").write_text("old\n")
    run("partition", "bad.graph", "-k", 2, "-o", "out.part", *ENGINE, code=1)
    assert Path("out.part").read_text() == "old\n"


def test_profile_is_printed_and_written(run: Run) -> None:
    result = run("partition", "mesh.graph", "-k", 4, "--profile", "trace.json", *ENGINE)
    assert json.loads(Path("trace.json").read_text())["otherData"]["run"] == "mesh, k = 4, cpu"
    words = " ".join(result.stdout.split())
    assert "stage level seconds in kernels launches host waits MB to device MB from device" in words
    assert "kernel back end calls seconds share µs per call" in words
    expected = jetpy.partition(jetpy.read_graph("mesh.graph"), 4, backend="cpu", threads=1)
    [total] = [line for line in result.stdout.splitlines() if line.startswith(" total ")]
    assert total.split()[3] == f"{expected.launches:,}"


def test_profile_is_part_of_the_json(run: Run) -> None:
    arguments = ("partition", "mesh.graph", "-k", 4, "--json", "-", "--profile", "trace.json.gz")
    report = json.loads(run(*arguments, *ENGINE).stdout)
    assert report.keys() == {*FIELDS, "profile"}
    assert sum(step["launches"] for step in report["profile"]["steps"]) == report["launches"]
    assert {"stage", "level", "seconds", "uploaded"} <= report["profile"]["steps"][0].keys()
    kernel = report["profile"]["kernels"][0]
    assert kernel.keys() == {"name", "backend", "calls", "seconds", "bytes"}
    assert Path("trace.json.gz").exists()


def test_profile_of_a_trivial_run(run: Run) -> None:
    result = run("partition", "mesh.graph", "-k", 1, "--profile", "trace", "--quiet", *ENGINE)
    assert result.output == ""
    assert len(json.loads(Path("trace").read_text())["traceEvents"]) == 2
    run("partition", "mesh.graph", "-k", 1, "--profile", "trace", *ENGINE)


def test_output_of_c_libraries_goes_to_standard_error(
    run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """METIS prints such a line, from C, if it cannot bisect a graph."""
    found = coarsest.METHODS["bisection"]

    def start(*arguments: Any) -> Any:
        ctypes.CDLL(None).puts(b"***Cannot bisect")
        return found(*arguments)

    monkeypatch.setitem(coarsest.METHODS, "bisection", start)
    run(
        "partition",
        "mesh.graph",
        "-k",
        4,
        *ENGINE,
        "--set",
        "small.max_vertices=0",
        "--set",
        "initial.task_size=0",
    )
    ctypes.CDLL(None).fflush(None)
    written = capfd.readouterr()
    assert written.out == ""
    assert "***Cannot bisect" in written.err
