"""What studies tell, from tables that were made up, and the page about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetpy.study.cases import Case
from jetpy.study.page import study_page
from jetpy.study.results import Cell, Problem, means, over_best, read_results
from tests.cli.test_report import page
from tests.study.made import kernel, machine, row, study


def case(k: int, tool: str, backend: str = "", threads: int = 2, seed: int = 0) -> Case:
    return Case("mesh", k, tool, "default", backend, threads, seed)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two problems on a processor and a GPU; KaMinPar fails at one of them."""
    name = "box"
    rows = [
        row(name, case(8, "jetpy", "numba"), seconds=2.0, cut=10, parts_sha="x"),
        row(name, case(8, "kaminpar"), seconds=1.0, cut=12),
        row(name, case(8, "jetpy", "cuda", 1), seconds=0.5, cut=10, parts_sha="y"),
        row(name, case(64, "jetpy", "numba"), seconds=3.0, cut=40),
        row(name, case(64, "jetpy", "numba", seed=1), seconds=5.0, cut=44),
        row(name, case(64, "kaminpar"), seconds=1.0, cut=30, feasible="no"),
        row(name, case(64, "kaminpar", seed=1), seconds=2.0, cut=41),
        row(name, case(64, "jetpy", "cuda", 1), seconds=0.25, cut=40),
    ]
    kernels = [
        kernel(name, case(8, "jetpy", "numba"), "propose", 10, 0.3, 60_000_000),
        kernel(name, case(8, "jetpy", "numba"), "shrink", 2, 0.1, 40_000_000),
        kernel(name, case(8, "jetpy", "numba"), "grow", 1, 5.0, 0),
        kernel(name, case(64, "jetpy", "numba"), "propose", 10, 0.001, 10_000_000),
        kernel(name, case(8, "jetpy", "cuda", 1), "propose", 10, 0.001, 100_000_000),
    ]
    return study(tmp_path / "s", name, machine(gpus=("H200",)), rows, kernels)


CPU, GPU = "box cpu-2", "box gpu"
EIGHT, MANY = Problem("mesh", 8), Problem("mesh", 64)


def test_efficiencies(folder: Path) -> None:
    found = read_results(folder)
    assert found.applications == ["jetpy/default", "kaminpar"]
    assert found.platforms == [CPU, GPU]
    cells = [Cell(problem, platform) for problem in (EIGHT, MANY) for platform in (CPU, GPU)]
    assert found.cells == cells
    assert found.seconds["jetpy/default"] == dict(zip(cells, (2.0, 0.5, 4.0, 0.25), strict=True))
    assert found.cuts["kaminpar"] == {cells[0]: 12.0}, "with a seed that failed, nothing counts"
    assert found.by_time["jetpy/default"] == dict(zip(cells, (0.5, 1.0, 1.0, 1.0), strict=True))
    assert found.by_time["kaminpar"] == dict(zip(cells, (1.0, 0.0, 0.0, 0.0), strict=True))
    ours = (1.0, 1.0, pytest.approx(40 / 42), 1.0)
    assert found.by_cut["jetpy/default"] == dict(zip(cells, ours, strict=True))
    assert means(found.by_time["jetpy/default"], cells) == {CPU: pytest.approx(2 / 3), GPU: 1.0}


def test_bandwidth_is_that_of_all_kernels_together(folder: Path) -> None:
    found = read_results(folder)
    shares = [0.25, 0.1, 1.0, 0.0]
    assert list(found.by_bandwidth["jetpy/default"].values()) == pytest.approx(shares)
    numba, cuda = found.launches.values()
    assert [(own.kernel, own.calls) for own in numba] == [("propose", 20), ("shrink", 2)]
    assert numba[0].bytes == 70_000_000
    assert cuda[0].seconds == 0.001


def test_means_over_the_best_are_of_what_was_solved(folder: Path) -> None:
    found = read_results(folder)
    assert over_best(found.seconds) == {
        ("jetpy/default", CPU): pytest.approx(8),
        ("jetpy/default", GPU): pytest.approx(1),
        ("kaminpar", CPU): pytest.approx(2),
    }


def test_the_page_tells_all_of_it(folder: Path) -> None:
    results = read_results(folder)
    (folder / "report.html").write_text(study_page(results, "jetpy study <mesh>"))
    told = page(folder / "report.html")
    by_time, each_time, by_cut, *_ = (t for t in told.tables if "application" in t[0])
    assert by_time[1:] == [
        ["jetpy/default", "0.667", "1.000", "0.800", "0.800"],
        ["kaminpar", "0.000", "0.000", "0.000", "0.000"],
    ]
    assert ["mesh, k = 8", "jetpy/default", "0.500", "1.000", "0.667"] in each_time
    assert by_cut[1][-1] == "0.988"
    assert "DIFFERENT PARTS" in told.text.upper()
    assert told.facts["without feasible parts"] == "1"
    assert [cells[-1] for cells in told.marked] == ["not balanced"]
    assert told.said("pre") == "jetpy study <mesh>"
    assert told.facts["processor"] == "one with two cores, 2 threads available"
    kernels = next(t for t in told.tables if t[0][0] == "kernel")
    assert kernels[1] == ["propose", "20", "0.3010", "75.1", "3,500,000", "0.233"]
    labels = told.text.count('role="img"')
    assert labels == 3 + 1 + 2 + 2, "cascades, front, profiles, roofs"


def test_a_page_of_what_failed_alone(tmp_path: Path) -> None:
    failed = row("box", case(8, "kahip"), feasible="no", status="time limit", seconds="", cut="")
    study(tmp_path / "s", "box", machine(), [failed])
    results = read_results(tmp_path / "s")
    (tmp_path / "page.html").write_text(study_page(results, "jetpy study"))
    told = page(tmp_path / "page.html")
    assert results.summary.startswith(
        "1 run on 1 platform, 1 run without feasible parts (kahip); parts"
    )
    assert told.marked[0][-1] == "time limit"
