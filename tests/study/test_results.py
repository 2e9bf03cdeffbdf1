"""Results and page of synthetic studies."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetpy.study.cases import Case, Problem
from jetpy.study.efficiency import Cell
from jetpy.study.page import study_page
from jetpy.study.results import Results, over_best, read_results
from tests.cli.test_report import page
from tests.study.made import kernel, machine, row, study


def case(
    k: int, tool: str, backend: str = "", threads: int = 2, seed: int = 0, imbalance: float = 0.03
) -> Case:
    return Case("mesh", k, imbalance, tool, "default", backend, threads, seed)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a study of two problems on a CPU and a GPU; KaMinPar fails one problem."""
    name = "box"
    rows = [
        row(name, case(8, "jetpy", "cpu"), seconds=2.0, cut=10, parts_sha="x"),
        row(name, case(8, "kaminpar"), seconds=1.0, cut=12),
        row(name, case(8, "jetpy", "cuda", 1), seconds=0.5, cut=10, parts_sha="y"),
        row(name, case(64, "jetpy", "cpu"), seconds=3.0, cut=40),
        row(name, case(64, "jetpy", "cpu", seed=1), seconds=5.0, cut=44),
        row(name, case(64, "kaminpar"), seconds=1.0, cut=30, feasible="no"),
        row(name, case(64, "kaminpar", seed=1), seconds=2.0, cut=41),
        row(name, case(64, "jetpy", "cuda", 1), seconds=0.25, cut=40),
        row(name, case(64, "jetpy", "cuda", 1, seed=1), seconds=0.25, cut=44),
    ]
    kernels = [
        kernel(name, case(8, "jetpy", "cpu"), "propose", 10, 0.3, 60_000_000),
        kernel(name, case(8, "jetpy", "cpu"), "shrink", 2, 0.1, 40_000_000),
        kernel(name, case(8, "jetpy", "cpu"), "grow", 1, 5.0, 0),
        kernel(name, case(64, "jetpy", "cpu"), "propose", 10, 0.001, 10_000_000),
        kernel(name, case(8, "jetpy", "cuda", 1), "propose", 10, 0.001, 100_000_000),
    ]
    return study(tmp_path / "s", name, machine(gpus=("H200",)), rows, kernels)


CPU, GPU = "box cpu-2", "box gpu"
EIGHT, MANY = Problem("mesh", 8, 0.03), Problem("mesh", 64, 0.03)


def test_efficiencies_by_application_and_platform(folder: Path) -> None:
    found = read_results(folder)
    assert found.applications == ["jetpy/default", "kaminpar"]
    assert found.platforms == [CPU, GPU]
    cells = [Cell(problem, platform) for problem in (EIGHT, MANY) for platform in (CPU, GPU)]
    assert found.cells == cells
    assert found.seconds["jetpy/default"] == dict(zip(cells, (2.0, 0.5, 4.0, 0.25), strict=True))
    assert found.cuts["kaminpar"] == {cells[0]: 12.0}, "a failed seed excludes the cell"
    assert found.by_time.each["jetpy/default"] == dict(
        zip(cells, (0.5, 1.0, 1.0, 1.0), strict=True)
    )
    assert found.by_time.each["kaminpar"] == dict(zip(cells, (1.0, 0.0, 0.0, 0.0), strict=True))
    ours = (1.0, 1.0, 1.0, 1.0)
    assert found.by_cut.each["jetpy/default"] == dict(zip(cells, ours, strict=True))
    on_both = {CPU: pytest.approx(2 / 3), GPU: 1.0}
    assert found.by_time.by_platform["jetpy/default"] == on_both
    assert found.by_time.metric == {"jetpy/default": pytest.approx(0.8), "kaminpar": 0.0}


def test_bandwidth_combines_all_kernels(folder: Path) -> None:
    found = read_results(folder)
    cells = [Cell(EIGHT, CPU), Cell(EIGHT, GPU), Cell(MANY, CPU)]
    assert found.by_bandwidth.each["jetpy/default"] == dict(
        zip(cells, map(pytest.approx, (0.25, 0.1, 1.0)), strict=True)
    )
    assert found.by_bandwidth.metric["jetpy/default"] == pytest.approx(0.4), "no kernels on the GPU"
    cpu, cuda = found.launches.values()
    assert [(own.kernel, own.calls) for own in cpu] == [("propose", 20), ("shrink", 2)]
    assert cpu[0].bytes == 70_000_000
    assert cuda[0].seconds == 0.001


def test_over_best_uses_solved_cases_only(folder: Path) -> None:
    found = read_results(folder)
    assert over_best(found.seconds) == {
        ("jetpy/default", CPU): pytest.approx(8),
        ("jetpy/default", GPU): pytest.approx(1),
        ("kaminpar", CPU): pytest.approx(2),
    }


def test_page_shows_the_results(folder: Path) -> None:
    results = read_results(folder)
    (folder / "report.html").write_text(study_page(results, "jetpy study <mesh>"))
    shown = page(folder / "report.html")
    by_time, each_time, by_cut, *_ = (t for t in shown.tables if "application" in t[0])
    assert by_time[1:] == [
        ["jetpy/default", "0.800", "0.800", "0.667", "1.000"],
        ["kaminpar", "0.000", "0.000", "0.000", "0.000"],
    ]
    assert ["mesh k=8 imbalance=0.03", "jetpy/default", "0.667", "0.500", "1.000"] in each_time
    assert by_cut[1][1] == "1.000"
    assert "DIFFERENT PARTS" in shown.text.upper()
    assert shown.facts["runs without feasible parts"] == "1"
    assert [cells[-1] for cells in shown.marked] == ["not balanced"]
    assert shown.text_of("pre") == "jetpy study <mesh>"
    assert shown.facts["processor"] == "one with two cores, 2 threads available"
    kernels = next(t for t in shown.tables if t[0][0] == "kernel")
    assert kernels[1] == ["propose", "20", "0.3010", "75.1", "3,500,000", "0.233"]
    labels = shown.text.count('role="img"')
    assert labels == 3 + 1 + 2 + 2, "cascades, front, profiles, roofs"


def portability_of(results: Results, folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return the rows of the page's tables by time and by cut."""
    (folder / "page.html").write_text(study_page(results, "jetpy study"))
    shown = page(folder / "page.html")
    tables = [t for t in shown.tables if t[0][0] == "application"]
    return {
        by: {cells[0]: cells[1:] for cells in table[1:]}
        for by, table in zip(("time", "cut"), tables, strict=False)
    }


@pytest.mark.usefixtures("undrawn")
def test_page_and_json_have_the_same_metric(tmp_path: Path) -> None:
    """One platform has two problems, the other has one."""
    rows = [
        row("box", case(k, tool, backend, threads), seconds=seconds, cut=cut)
        for k, threads, ours, other in ((8, 1, 4.0, 1.0), (64, 1, 2.0, 1.0), (8, 2, 1.0, 1.0))
        for tool, backend, seconds, cut in (
            ("jetpy", "cpu", ours, 10),
            ("kaminpar", "", other, 12),
        )
    ]
    results = read_results(study(tmp_path / "s", "box", machine(), rows))
    metric = results.as_dict()["performance_portability"]["0.03"]
    assert metric["time"] == {"jetpy/default": pytest.approx(0.5), "kaminpar": 1.0}
    shown = portability_of(results, tmp_path)
    for by in ("time", "cut"):
        for name, cells in shown[by].items():
            assert cells[0] == f"{metric[by][name]:.3f}"
    assert shown["time"]["jetpy/default"] == ["0.500", "0.500", "0.333", "1.000"]


@pytest.mark.usefixtures("undrawn")
def test_imbalances_are_compared_separately(tmp_path: Path) -> None:
    """Only 0.01 has a second platform, so the page numbers platforms over all imbalances."""
    rows = [
        row("box", case(8, tool, backend, threads, imbalance=imbalance), seconds=seconds, cut=cut)
        for imbalance, threads, tool, backend, seconds, cut in (
            (0.1, 2, "jetpy", "cpu", 2.0, 10),
            (0.1, 2, "kaminpar", "", 1.0, 20),
            (0.01, 2, "jetpy", "cpu", 1.0, 30),
            (0.01, 2, "kaminpar", "", 1.0, 40),
            (0.01, 1, "jetpy", "cpu", 4.0, 30),
        )
    ]
    results = read_results(study(tmp_path / "s", "box", machine(), rows))
    assert [problem.imbalance for problem in results.problems] == [0.01, 0.1]
    metric = results.as_dict()["performance_portability"]
    assert metric.keys() == {"0.01", "0.1"}
    assert metric["0.1"]["time"] == {"jetpy/default": 0.5, "kaminpar": 1.0}
    assert metric["0.01"]["cut"] == {"jetpy/default": 1.0, "kaminpar": 0.75}
    (tmp_path / "page.html").write_text(study_page(results, "jetpy study"))
    shown = page(tmp_path / "page.html")
    tables = [t[1:] for t in shown.tables if t[0][:2] == ["application", "all"]]
    assert tables[0] == [
        ["jetpy/default", "1.000", "1.000", "1.000", "1.000"],
        ["kaminpar", "1.000", "1.000", "-", "1.000"],
    ]
    assert tables[2] == [
        ["jetpy/default", "0.500", "0.500", "-", "0.500"],
        ["kaminpar", "1.000", "1.000", "-", "1.000"],
    ]
    assert shown.facts["imbalance"] == "0.01, 0.1"
    assert "Performance portability by cut at imbalance 0.1" in shown.text


@pytest.mark.usefixtures("undrawn")
def test_mappings_are_compared_by_cost(tmp_path: Path) -> None:
    onto = "4:2/1:10"
    mapped = [
        (Case("mesh", 8, 0.03, tool, preset, backend, 2, 0, onto), cost)
        for tool, preset, backend, cost in (
            ("jetpy", "im", "cpu", 100),
            ("mtkahypar", "default", "", 80),
            ("scotch", "default", "", 0),
        )
    ]
    rows = [
        row("box", case(8, "jetpy", "cpu"), cut=10, parts_sha="x"),
        *(row("box", own, cut=12, cost=cost, parts_sha="y") for own, cost in mapped[:2]),
    ]
    folder = study(tmp_path / "s", "box", machine(), rows)
    results = read_results(folder)
    assert results.unequal == [], "a partition and a mapping are different problems"
    metric = results.as_dict()["performance_portability"]
    assert metric.keys() == {"0.03", f"0.03 mapping={onto}"}
    assert metric["0.03"]["cut"] == {"jetpy/default": 1.0}
    own = metric[f"0.03 mapping={onto}"]
    assert own["cost"] == {"jetpy/im": pytest.approx(0.8), "mtkahypar": 1.0}
    (tmp_path / "page.html").write_text(study_page(results, "jetpy study"))
    shown = page(tmp_path / "page.html")
    assert shown.facts["mapped onto"] == onto
    assert f"Performance portability by cost at imbalance 0.03, mapping {onto}" in shown.text
    case_0, cost = mapped[2]
    study(folder, "box", machine(), [*rows, row("box", case_0, cut=12, cost=cost)])
    assert read_results(folder).left_out == [
        f"The comparison by cost leaves out mesh k=8 imbalance=0.03 mapping={onto}: its best cost "
        "is 0."
    ]


def test_cut_of_zero_is_left_out_with_a_note(tmp_path: Path) -> None:
    rows = [
        row("box", case(8, "jetpy", "cpu"), cut=0),
        row("box", case(8, "kaminpar"), cut=1),
        row("box", case(64, "jetpy", "cpu"), cut=20),
        row("box", case(64, "kaminpar"), cut=25),
    ]
    assert [found["fom_cut"] for found in rows] == ["", 1, 20, 25]
    results = read_results(study(tmp_path / "s", "box", machine(), rows))
    assert results.by_cut.metric == {"jetpy/default": 1.0, "kaminpar": pytest.approx(0.8)}
    assert results.left_out == [
        "The comparison by cut leaves out mesh k=8 imbalance=0.03: its best cut is 0."
    ]
    study(tmp_path / "s", "box", machine(), rows[:2])
    (tmp_path / "page.html").write_text(study_page(read_results(tmp_path / "s"), "jetpy study"))
    shown = page(tmp_path / "page.html").text
    assert "No problem allows a comparison by cut." in shown
    assert "Every smallest cut is 0" in shown
    assert "No problem was solved" not in shown
    assert "The comparison by cut leaves out mesh k=8 imbalance=0.03: its best cut is 0." in shown


def test_only_common_seeds_count(tmp_path: Path) -> None:
    rows = [
        row("box", case(8, "jetpy", "cpu", threads, seed), cut=10 + seed)
        for threads, seeds in ((1, (0, 1)), (2, (1, 2)))
        for seed in seeds
    ]
    results = read_results(study(tmp_path / "s", "box", machine(), rows))
    assert list(results.cuts["jetpy/default"].values()) == [11, 11]
    [shown] = results.left_out
    assert shown.startswith("Of the seeds 0, 1, 2 of mesh k=8 imbalance=0.03, only 1 counts:")
    study(tmp_path / "s", "box", machine(), [rows[0], rows[3]])
    results = read_results(tmp_path / "s")
    assert results.by_cut.cells == []
    assert results.left_out == [
        "The comparison leaves out mesh k=8 imbalance=0.03: its runs have no seed in common."
    ]


@pytest.mark.usefixtures("undrawn")
def test_untried_cases_are_not_failures(tmp_path: Path) -> None:
    """KaMinPar runs on CPUs only and was not tried with one thread; KaHIP failed there."""
    rows = [
        row("box", case(8, "jetpy", "cpu", 1)),
        row("box", case(8, "jetpy", "cpu", 2)),
        row("box", case(8, "jetpy", "cuda", 1)),
        row("box", case(8, "kaminpar", threads=2), seconds=2.0),
        row("box", case(8, "kahip", threads=1), feasible="no", status="time limit", seconds=""),
        row("box", case(8, "kahip", threads=2)),
    ]
    results = read_results(study(tmp_path / "s", "box", machine(gpus=("H200",)), rows))
    shown = portability_of(results, tmp_path)["time"]
    assert shown["jetpy/default"] == ["1.000", "1.000", "1.000", "1.000", "1.000"]
    assert shown["kahip"] == ["0.000", "1.000", "0.000", "1.000", "0.000"]
    assert shown["kaminpar"] == ["0.000", "0.500", "-", "0.500", "0.000"]
    assert results.left_out == ["kaminpar did not run on all problems on box cpu-1."]


@pytest.mark.usefixtures("undrawn")
def test_platform_counts_only_if_all_its_problems_were_tried(tmp_path: Path) -> None:
    rows = [
        row("box", case(8, "jetpy", "cpu", 1)),
        row("box", case(64, "jetpy", "cpu", 1)),
        row("box", case(8, "kaminpar", threads=1)),
    ]
    results = read_results(study(tmp_path / "s", "box", machine(), rows))
    assert results.by_time.metric == {"jetpy/default": 1.0, "kaminpar": None}
    assert portability_of(results, tmp_path)["time"]["kaminpar"] == ["-", "-", "-"]


def test_page_of_failed_runs_only(tmp_path: Path) -> None:
    failed = row("box", case(8, "kahip"), feasible="no", status="time limit", seconds="", cut="")
    study(tmp_path / "s", "box", machine(), [failed])
    results = read_results(tmp_path / "s")
    (tmp_path / "page.html").write_text(study_page(results, "jetpy study"))
    shown = page(tmp_path / "page.html")
    assert results.summary.startswith(
        "1 run on 1 platform, 1 run without feasible parts (kahip); parts"
    )
    assert shown.marked[0][-1] == "time limit"
