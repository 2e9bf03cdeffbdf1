"""``--set`` and ``--show-options``."""

from __future__ import annotations

from pathlib import Path

import pytest

import jetpy
from jetpy.graph.generators import delaunay
from jetpy.problem.options import Options
from jetpy.problem.presets import PRESETS
from tests.cli.conftest import Run


@pytest.mark.parametrize("name", PRESETS)
def test_shown_options_are_those_of_set(run: Run, name: str) -> None:
    shown = run("partition", "--preset", name, "--show-options").stdout.split()
    settings = [word for line in shown for word in ("--set", line)]
    assert run("partition", "--show-options", *settings).stdout.split() == shown
    assert len(shown) == len(Options().values())


def test_set_on_the_command_line(run: Run, tmp_path: Path) -> None:
    graph, parts = tmp_path / "d.graph", tmp_path / "parts"
    jetpy.write_graph(graph, delaunay(300, 1))
    run(
        *("partition", str(graph), "-k", "4", "--preset", "jet", "--set", "refine.locks=false"),
        *("--set", "refine.finest_ratios=75,25", "-o", str(parts), "--backend", "cpu"),
    )
    changes = {"refine.locks": False, "refine.finest_ratios": (75, 25)}
    expected = jetpy.partition(graph, 4, preset="jet", options=changes, backend="cpu")
    assert jetpy.read_parts(parts).tolist() == expected.parts.tolist()
    shown = run("map", "--method", "hm", "--set", "cycles=2", "--show-options").stdout
    assert "cycles=2\n" in shown


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ("refine.locks=False", "refine.locks=false"),
        ("coarsen.bounded=TRUE", "coarsen.bounded=true"),
        ("refine.weak_rounds=None", "refine.weak_rounds=none"),
    ],
)
def test_values_as_python_writes_them(run: Run, setting: str, shown: str) -> None:
    lines = run("partition", "--set", setting, "--show-options").stdout.splitlines()
    assert shown in lines


@pytest.mark.usefixtures("undrawn")
def test_report_lists_the_options_of_its_run(run: Run, tmp_path: Path) -> None:
    graph, page, parts = (tmp_path / name for name in ("d.graph", "page.html", "parts"))
    jetpy.write_graph(graph, delaunay(300, 1))
    run(
        *("report", str(graph), "-k", "4", "-o", str(page), "--backend", "cpu"),
        *("--preset", "jet", "--set", "refine.locks=false"),
    )
    text = page.read_text()
    assert '<tr class="marked">\n<td class="text">refine.locks</td>\n<td>false</td>' in text
    jetpy.write_parts(parts, [0, 1] * 150)
    refused = run(
        "report", str(graph), str(parts), "-o", str(page), "--set", "refine.locks=false", code=2
    )
    assert "--set cannot be combined with PARTS" in refused.stderr
