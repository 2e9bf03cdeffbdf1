"""Tables by stage and class of graphs, speed-ups, and scaling, of synthetic studies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jetpy.errors import JetpyError
from jetpy.study.cases import Case
from jetpy.study.classes import read_classes
from jetpy.study.figures import Styles, scaling_figure
from jetpy.study.page import study_page
from jetpy.study.results import Results, read_results
from jetpy.study.study import Study
from jetpy.study.tables import (
    class_table,
    growth_table,
    scaling_points,
    scaling_table,
    speedup_table,
    stage_table,
)
from tests.cli.test_report import page
from tests.study.made import machine, row, study

SIZES = {"a": (100, 300), "b": (1000, 3000), "c": (10_000, 30_000)}
CLASSES = {"a": "mesh", "b": "mesh", "c": "road"}
MACHINE = machine(gpus=("H200",))


def run(
    graph: str,
    seconds: float,
    backend: str = "cpu",
    threads: int = 1,
    tool: str = "jetpy",
    **measured: object,
) -> dict[str, object]:
    """Return a row; a run of jetpy coarsens for a quarter of the time, and refines for a half."""
    stages = dict(zip(("coarsen", "initial", "refine"), (0.25, 0.25, 0.5), strict=True))
    spent = {f"{name}_seconds": share * seconds for name, share in stages.items()}
    n, m = SIZES[graph]
    case = Case(graph, 8, 0.03, tool, "default", backend, threads, 0)
    about = {"n": n, "m": m, "class": CLASSES[graph], "seconds": seconds}
    found = {**about, **(spent if tool == "jetpy" else {}), **measured}
    return row("box", case, **found)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Read a study of three graphs: serial, two threads and a GPU, with METIS on one thread."""
    rows = [
        *(run("a", 1.0, finest_seconds=0.4), run("b", 8.0, finest_seconds=2.0)),
        *(run("c", 100.0, finest_seconds=40.0), run("c", 50.0, "kokkos-serial")),
        run("c", 50.0, "kokkos-serial", 2, measured_threads=1),
        *(run("a", 0.5, threads=2, finest_seconds=0.1), run("b", 2.0, threads=2)),
        run("c", 30.0, threads=2, feasible="no"),
        run("c", 1.0, "cuda", finest_seconds=0.5),
        *(run("a", 2.0, "", tool="metis", cut=5), run("b", 2.0, "", tool="metis", cut=20)),
    ]
    return read_results(study(tmp_path / "s", "box", MACHINE, rows))


NUMBERS = {"box cpu-1": "1", "box cpu-2": "2", "box gpu": "3"}


def test_stages_are_summed_over_solved_problems(results: Results) -> None:
    table = stage_table(results, NUMBERS)
    assert table is not None
    shares = "25.0 25.0 50.0"
    assert [" ".join(cells) for cells in table.rows] == [
        f"jetpy/default 1 3 109.0000 27.2500 27.2500 54.5000 42.4000 {shares} 38.9",
        f"jetpy/default 2 2 2.5000 0.6250 0.6250 1.2500 - {shares} -",
        f"jetpy/default 3 1 1.0000 0.2500 0.2500 0.5000 0.5000 {shares} 50.0",
        f"jetpy/default kokkos-serial 1 1 50.0000 12.5000 12.5000 25.0000 - {shares} -",
        f"jetpy/default kokkos-serial 2 1 50.0000 12.5000 12.5000 25.0000 - {shares} -",
    ]


def test_classes_have_geometric_means(results: Results) -> None:
    """METIS takes 2 s on a and b, jetpy 1 s and 8 s; METIS cuts 5 and 20, jetpy 10 and 10."""
    table = class_table(results, "cut", NUMBERS)
    assert table is not None
    of_mesh = [cells[1:] for cells in table.rows if cells[0] == "mesh" and cells[2] == "1"]
    assert of_mesh == [
        ("jetpy/default", "1", "2", "2.8284", "2.000", "1.414"),
        ("metis", "1", "2", "2.0000", "1.414", "1.414"),
    ]
    roads = [cells[1:3] for cells in table.rows if cells[0] == "road"]
    assert roads == [
        *(("jetpy/default", "1"), ("jetpy/default", "3")),
        *(("jetpy/default kokkos-serial", "1"), ("jetpy/default kokkos-serial", "2")),
    ]


def test_speedups_are_over_the_fastest_serial_back_end(results: Results) -> None:
    """On c, kokkos-serial is the fastest on one thread; its copy on two threads does not count."""
    table = speedup_table(results, NUMBERS)
    assert table is not None
    assert table.rows == [
        ("jetpy/default", "serial", "1", "3", "0.79", "0.50", "1.00", "1.00"),
        ("jetpy/default", "multicore", "2", "2", "2.83", "2.00", "4.00", "4.00"),
        ("jetpy/default", "GPU", "3", "1", "50.00", "50.00", "50.00", "80.00"),
        ("jetpy/default kokkos-serial", "serial", "1", "1", "1.00", "1.00", "1.00", "-"),
    ]


def test_scaling_lists_time_per_vertex_and_edge(results: Results) -> None:
    table = scaling_table(results, NUMBERS)
    assert table is not None
    assert table.rows[0] == (
        *("a", "jetpy/default", "1", "100", "300", "1.0000", "10,000,000.0", "3,333,333.3"),
    )
    assert [cells[:3] for cells in table.rows if cells[1] == "metis"] == [
        ("a", "metis", "1"),
        ("b", "metis", "1"),
    ]
    growth = growth_table(results, NUMBERS)
    assert growth is not None
    assert growth.rows == [("jetpy/default", "1", "3", "1.00")], "1, 8 and 100 s: slope 1"


def test_scaling_is_plotted_by_size(results: Results) -> None:
    points = scaling_points(results)
    sizes = {graph: n + m for graph, (n, m) in SIZES.items()}
    axes = scaling_figure(points, sizes, results.platforms, Styles(results.applications)).axes[0]
    assert axes.lines[0].get_xydata() == pytest.approx(
        np.array([[400, 1.0], [4000, 8.0], [40_000, 100.0]])
    )
    assert axes.lines[2].get_xydata() == pytest.approx(np.array([[40_000, 1.0]]))
    assert [text.get_text() for text in axes.texts] == ["1", "2", "3", "1", "2", "1"]


def test_page_has_the_tables(results: Results, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(study_page(results, "jetpy study"))
    shown = page(tmp_path / "page.html")
    headers = [table[0] for table in shown.tables]
    for column in ("finest level %", "cut / smallest", "speed-up", "exponent", "ns per edge"):
        assert any(column in own for own in headers)


@pytest.mark.usefixtures("undrawn")
def test_tables_without_content_are_left_out(tmp_path: Path) -> None:
    """Without a run on one thread, there is no speed-up; other tools have no stages."""
    rows = [run("a", 1.0, "", 2, tool="kaminpar", **{"class": ""})]
    found = read_results(study(tmp_path / "s", "box", MACHINE, rows))
    for table in (stage_table, speedup_table, growth_table):
        assert table(found, NUMBERS) is None
    assert class_table(found, "cut", NUMBERS) is None
    (tmp_path / "page.html").write_text(study_page(found, "jetpy study"))
    shown = page(tmp_path / "page.html").text
    assert "Time by stage" not in shown
    assert "Scaling with size" in shown


def test_classes_are_read_and_given_to_graphs(tmp_path: Path) -> None:
    (tmp_path / "MANIFEST.csv").write_text("name,n,class\na,100,mesh\nc,5,circuit\n")
    classes = read_classes(tmp_path / "MANIFEST.csv")
    assert classes == {"a": "mesh", "c": "circuit"}
    rows = [run("b", 1.0), run("c", 1.0)]
    folder = study(tmp_path / "s", "box", MACHINE, rows)
    opened = Study.opened(folder, "box", MACHINE, classes)
    assert opened.classes == {"a": "mesh", "b": "mesh", "c": "circuit"}
    assert read_results(folder).classes == {"b": "mesh", "c": "circuit"}
    (tmp_path / "other.csv").write_text("name\na\n")
    with pytest.raises(JetpyError, match="the columns name and class are missing"):
        read_classes(tmp_path / "other.csv")
