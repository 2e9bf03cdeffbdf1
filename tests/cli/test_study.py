"""`jetpy study`: runs, the files that it keeps, and how it resumes."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import jetpy
from jetpy.device import doctor
from jetpy.engines.threads import available_threads
from jetpy.graph.generators import grid
from jetpy.study import runner
from jetpy.study.arrays import checksum_of_parts
from jetpy.study.files import KERNELS, PERFORMANCE, Table
from jetpy.study.machine import FILE
from jetpy.study.processes import Outcome
from tests.cli.conftest import Run
from tests.cli.test_report import page
from tests.study.programs import write_heipa, write_jet

WORDS = ("-k", "2", "--tools", "metis", "--threads", "1,2", "--machine", "box", "-o", "study")
RUNS = 4
"""Runs of two applications with two numbers of threads."""


@pytest.fixture(scope="session")
def _checked() -> doctor.DoctorReport:
    return doctor.run_doctor()


@pytest.fixture(autouse=True)
def checked_once(_checked: doctor.DoctorReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "run_doctor", lambda tell: _checked)


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study") / "study"


@pytest.fixture
def made(_made: Path, run: Run) -> Path:
    """Copy a study of `mesh.graph`, which is run only once."""
    if not _made.exists():
        output = run("study", "mesh.graph", "--backends", "cpu", *WORDS).stdout
        assert output == (
            "wrote study/report.html: 4 runs on 2 platforms; the same parts in all of 1 "
            "partition, each found 2 times\n"
        )
        shutil.move("study", _made)
    shutil.copytree(_made, "study")
    return Path("study")


def rows(folder: Path) -> list[dict[str, str]]:
    with open(folder / "performance.csv", newline="") as stream:
        return list(csv.DictReader(stream))


def test_rows_describe_the_runs(made: Path) -> None:
    graph = grid(40, 30)
    found = rows(made)
    assert len(found) == RUNS
    for row in found:
        assert row["feasible"] == "yes"
        assert float(row["seconds"]) > 0
        assert row["fom"] == row["seconds"]
        assert (row["n"], row["m"]) == (f"{graph.n}", f"{graph.m}")
        if row["tool"] == "jetpy":
            result = jetpy.partition(graph, int(row["k"]), backend="cpu", threads=1)
            assert int(row["cut"]) == result.cut
            assert int(row["launches"]) > 0
            stages = [float(row[f"{s}_seconds"]) for s in ("coarsen", "initial", "refine")]
            assert sum(stages) == pytest.approx(float(row["seconds"]), abs=1e-5)
            assert 0 <= float(row["finest_seconds"]) < float(row["seconds"])
    assert len({(r["application"], r["problem"], r["platform"]) for r in found}) == RUNS


def test_serial_tools_run_once_for_all_numbers_of_threads(made: Path) -> None:
    metis = [row for row in rows(made) if row["tool"] == "metis"]
    assert [row["platform"] for row in metis] == ["box cpu-1", "box cpu-2"]
    assert [row["measured_threads"] for row in metis] == ["1", "1"]
    assert metis[0]["seconds"] == metis[1]["seconds"]


def test_kernels_and_machine_are_recorded(made: Path) -> None:
    runs, kernels = rows(made), KERNELS.read(made)
    assert len({row["parts_sha"] for row in runs if row["tool"] == "jetpy"}) == 1
    assert sum(int(row["kernels"] or 0) for row in runs) == len(kernels)
    assert {"partition_graphs"} <= {row["kernel"] for row in kernels}
    facts = json.loads((made / FILE).read_text())["machines"]["box"]
    assert facts["facts"]["processor"]
    assert facts["roofs"].keys() == {"cpu/1", "cpu/2"}
    html = page(made / "report.html")
    assert html.facts["runs"] == f"{RUNS}"


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Record the runs from now on."""
    found: list[object] = []
    whole = runner.run_apart

    def counted(*arguments: Any, **options: Any) -> Outcome:
        found.append(arguments)
        return whole(*arguments, **options)

    monkeypatch.setattr(runner, "run_apart", counted)
    return found


@pytest.mark.slow
def test_study_runs_only_missing_rows(made: Path, run: Run, ran: list[object]) -> None:
    before = rows(made)
    PERFORMANCE.write(made, [row for row in before if row["tool"] != "metis"])
    assert "4 runs" in run("study", "mesh.graph", "--backends", "cpu", *WORDS).stdout
    assert len(ran) == 1
    assert sorted(row["problem"] for row in rows(made)) == sorted(row["problem"] for row in before)


@pytest.mark.slow
def test_another_imbalance_is_added(made: Path, run: Run, ran: list[object]) -> None:
    before = rows(made)
    words = ("study", "mesh.graph", "--backends", "cpu", *WORDS)
    Path("classes.csv").write_text("name,class\nmesh,grid\n")
    output = run(*words, "--imbalance", "0.03,0.001", "--classes", "classes.csv").stdout
    assert "8 runs on 2 platforms; the same parts in all of 2 partitions" in output
    assert len(ran) == 3
    found = rows(made)
    assert found[: len(before)] == [{**row, "class": "grid"} for row in before]
    assert {row["class"] for row in found} == {"grid"}
    added = found[len(before) :]
    assert {row["allowed_imbalance"] for row in added} == {"0.001"}
    graph = grid(40, 30)
    result = jetpy.partition(graph, 2, imbalance=0.001, backend="cpu", threads=1)
    assert {row["parts_sha"] for row in added if row["launches"]} == {
        checksum_of_parts(result.parts)
    }
    for row in added:
        assert row["feasible"] == ("yes" if float(row["imbalance"]) <= 0.001 else "no")
    assert {row["allowed_imbalance"] for row in KERNELS.read(made)} == {"0.03", "0.001"}


@pytest.mark.slow
def test_more_repeats_run_again(made: Path, run: Run, ran: list[object]) -> None:
    words = "study", "mesh.graph", "--backends", "cpu", *WORDS
    assert "Each run was made once" in page(made / "report.html").text
    for _ in range(2):
        run(*words, "--repeats", 2)
    assert len(ran) == 3
    run(*words)
    assert len(ran) == 3
    for row in rows(made):
        assert row["repeats"] == "2"
        assert row["fom"] == row["seconds"]
        assert float(row["seconds_min"]) <= float(row["seconds"]) <= float(row["seconds_max"])
        stages = [float(row[f"{s}_seconds"] or 0) for s in ("coarsen", "initial", "refine")]
        if row["tool"] == "jetpy":
            assert sum(stages) == pytest.approx(float(row["seconds"]), abs=1e-5)
    output = page(made / "report.html").text
    assert "Each run was made 2 times, and its time is the median" in output


@pytest.mark.slow
@pytest.mark.parametrize(("table", "kept"), [(KERNELS, 0.5), (PERFORMANCE, 0)])
def test_lost_rows_are_run_again(
    kept: float, table: Table, made: Path, run: Run, ran: list[object]
) -> None:
    before = [rows(made), KERNELS.read(made)]
    file = made / table.name
    whole = file.read_bytes()
    file.write_bytes(whole[: int(kept * len(whole))])
    output = run("study", "mesh.graph", "--backends", "cpu", *WORDS).stdout
    assert "4 runs on 2 platforms; the same parts in all of 1 partition, each found 2" in output
    assert 0 < len(ran) <= 3

    def essence(runs: list[dict[str, str]], kernels: list[dict[str, str]]) -> set[tuple[str, ...]]:
        columns = ("tool", "threads", "measured_threads", "parts_sha", "kernels")
        return {tuple(row[column] for column in columns) for row in runs} | {
            KERNELS.key_of(row) for row in kernels
        }

    assert essence(rows(made), KERNELS.read(made)) == essence(*before)


@pytest.mark.slow
@pytest.mark.parametrize(("status", "tried"), [("failed with code 1", 1), ("time limit", 0)])
def test_failed_runs_are_tried_again_unless_late(
    status: str, tried: int, made: Path, run: Run, ran: list[object]
) -> None:
    before = rows(made)
    failed = {"status": status, "feasible": "no", "fom": "", "seconds": "", "cut": ""}
    spoilt = [{**row, **failed} if row["tool"] == "metis" else row for row in before]
    PERFORMANCE.write(made, spoilt)
    output = run("study", "mesh.graph", "--backends", "cpu", *WORDS).stdout
    assert len(ran) == tried
    assert ("2 runs without feasible parts" in output) == (tried == 0)


@pytest.mark.slow
def test_programs_are_compared_and_their_failures_are_results(
    made: Path, run: Run, ran: list[object]
) -> None:
    jet = write_jet(Path("jet"))
    heipa = write_heipa(Path("heipa"), before="sys.exit(3)")
    words = ("study", "mesh.graph", "--backends", "cpu", *WORDS)
    tools = ("--tool", f"jet={jet}", "--tool", f"gpu-heipa={heipa}")
    output = run(*words, *tools)
    assert output.stderr.count("gpu-heipa: failed with code 3") == 2
    assert "8 runs on 2 platforms, 2 runs without feasible parts (gpu-heipa);" in output.stdout
    found = {row["platform"]: row for row in rows(made) if row["tool"] == "jet"}
    assert found.keys() == {"box cpu-1", "box cpu-2"}
    for row in found.values():
        assert (row["cut"], row["seconds"], row["feasible"]) == ("31", "0.500000", "yes")
    assert len(ran) == 4
    run(*words, *tools)
    assert len(ran) == 6, "only the failed runs are repeated"
    html = page(made / "report.html")
    marked = [cells for cells in html.marked if cells[1] == "gpu-heipa"]
    assert [cells[-1] for cells in marked] == ["failed with code 3"] * 2
    assert html.facts["programs"].startswith("jet ")
    write_jet(jet, before="# another program")
    stderr = run(*words, *tools, code=1).stderr
    assert "the machine box has runs of another program jet; use another folder" in stderr


@pytest.mark.slow
def test_mappings_are_added(made: Path, run: Run, ran: list[object]) -> None:
    before = rows(made)
    words = ("study", "mesh.graph", "--backends", "cpu", "--threads", "1,2", "--machine", "box")
    words = (*words, "--hierarchy", "2:3,2:2", "--distances", "1:10", "--tools", "none", "-o", made)
    output = run(*words).stdout
    assert "8 runs on 2 platforms; the same parts in all of 3 partitions" in output
    run(*words)
    assert len(ran) == 4
    found = rows(made)
    assert found[: len(before)] == before
    for row in found[len(before) :]:
        hierarchy, _ = row["mapping"].split("/")
        mapped = jetpy.map_processes(grid(40, 30), hierarchy, "1:10", backend="cpu", threads=1)
        assert (row["application"], row["k"]) == ("jetpy/im", f"{mapped.machine.k}")
        assert (row["cost"], row["fom_cut"]) == (f"{mapped.cost}", f"{mapped.cost}")
        assert row["parts_sha"] == checksum_of_parts(mapped.pe)
    kernels = {row["mapping"] for row in KERNELS.read(made)}
    assert kernels == {"", "2:3/1:10", "2:2/1:10"}


@pytest.mark.slow
def test_too_many_threads_are_warned_about(made: Path, run: Run) -> None:
    words = ("-k", "2", "--backends", "cpu", "--tools", "none", "--machine", "box", "-o", "study")
    there = available_threads()
    output = run("study", "mesh.graph", *words, "--threads", there + 1).stderr
    assert f"{there + 1} threads, but this process may use {there}; times" in output


@pytest.mark.usefixtures("undrawn")
def test_different_parts_are_an_error(made: Path, run: Run) -> None:
    [first, *others] = rows(made)
    assert first["tool"] == "jetpy"
    PERFORMANCE.write(made, [{**first, "parts_sha": "0"}, *others])
    output = run("study", "--merge", "study", "-o", "all", code=1)
    assert (
        "parts differ on mesh, k = 2, imbalance 0.03, default, seed 0, which is a defect"
        in output.stderr
    )
    assert page("all/report.html").text_of("p").startswith("DIFFERENT PARTS")


@pytest.mark.usefixtures("undrawn")
def test_merged_study_as_json(made: Path, run: Run) -> None:
    output = json.loads(run("study", "--merge", "study", "-o", "all", "--json", "-").stdout)
    assert output["runs"] == RUNS
    assert output["unequal"] == []
    metric = output["performance_portability"]["0.03"]
    assert metric["cut"].keys() == {"jetpy/default", "metis"}
    assert metric["bandwidth"].keys() == {"jetpy/default"}
    assert all(0 < value <= 1 for own in metric.values() for value in own.values())


def renumbered() -> jetpy.Graph:
    """Return the mesh with its first vertex moved to the end."""
    mesh = grid(40, 30)
    matrix = csr_array((mesh.edge_weights, mesh.indices, mesh.indptr))
    order = np.roll(np.arange(matrix.shape[0]), -1)
    return jetpy.as_graph(matrix[order][:, order])


@pytest.mark.parametrize("other", [grid(3, 3), renumbered()])
def test_different_graph_of_the_same_name_is_refused(
    other: jetpy.Graph, made: Path, run: Run
) -> None:
    jetpy.write_graph("mesh.graph", other)
    output = run("study", "mesh.graph", "--backends", "cpu", *WORDS, code=1)
    assert "runs of a different graph with the name mesh" in output.stderr


def test_study_of_another_version_is_refused(made: Path, run: Run) -> None:
    setting = json.loads((made / FILE).read_text())
    setting["machines"]["box"]["facts"]["version"] = "0.0.1"
    (made / FILE).write_text(json.dumps(setting))
    output = run("study", "mesh.graph", "--backends", "cpu", *WORDS, code=1)
    assert "study has runs of jetpy 0.0.1, but" in output.stderr


@pytest.mark.slow
def test_runs_over_the_time_limit_are_reported_and_kept(made: Path, run: Run) -> None:
    graph = grid(300, 300)
    jetpy.write_graph("large.npz", graph)
    output = run(
        "study", "large.npz", "-k", "900", "--backends", "cpu", "--tools", "none", "--threads",
        "1", "--machine", "box", "--time-limit", "0.001", "-o", "study",
    )  # fmt: skip
    assert "large k=900 imbalance=0.03 seed=0, jetpy/default: time limit" in output.stderr
    assert "5 runs on 2 platforms, 1 run without feasible parts (jetpy/default);" in output.stdout
    assert rows(made)[-1]["fom"] == ""
    assert np.all([row["status"] == "done" for row in rows(made)[:-1]])
