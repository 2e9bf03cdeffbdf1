"""`bench.gpu --peer` with a script in place of the C++ Jet."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import pytest

import jetpy
from bench import gpu, instances, peer
from bench.gpu_cases import SETS, Case
from bench.peer import PEER, Measured, Run, Tool
from tests.study.programs import write_jet


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return write_jet(tmp_path / "jet")


@pytest.fixture(autouse=True)
def small_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the set `unseen` three small graphs and one that does not exist."""
    groups = {
        "generated": {"grid4": (2,), "grid8": (2, 4)},
        "real": {"uk": (2, 4), "missing": (2,)},
    }
    monkeypatch.setitem(SETS, "unseen", groups)  # type: ignore[arg-type]
    make = {
        "grid4": ("mesh", 16, partial(jetpy.generators.grid, 4, 4)),
        "grid8": ("mesh", 64, partial(jetpy.generators.grid, 8, 8)),
    }
    monkeypatch.setattr(instances, "RECIPES", {"generated": make})
    (tmp_path / "real").mkdir()
    jetpy.write_graph(tmp_path / "real" / "uk.npz", jetpy.generators.grid(9, 8))


def measure(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: str) -> str | int | None:
    """Call the program with the peer `folder`/jet; return its exit status or message."""
    fixed = "gpu --set unseen --backends cpu --threads 1 --presets fast default --seeds 5 6"
    folders = {"--peer": "jet", "--graphs": "real", "--generated": "cache", "--results": "results"}
    options = [word for name, own in folders.items() for word in (name, str(folder / own))]
    counts = ("--repeat", "1", "--rounds", "2", "--markdown")
    monkeypatch.setattr(sys, "argv", [*fixed.split(), *options, *counts, *words])
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    return ended.value.code


def table_rows(printed: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in printed.splitlines() if line[:1] == "|"]


@pytest.mark.usefixtures("compiled", "program")
def test_presets_seeds_and_the_peer_run_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(monkeypatch, tmp_path) == "1 cases failed"
    output = capsys.readouterr()
    assert "missing/2 failed" in output.err
    assert "no graph is called missing" in output.err
    runs = peer.read_runs(tmp_path / "results" / "gpu-peer.csv")
    first = [run for run in runs if run.case == runs[0].case]
    cpu = [("cpu", "fast", 5), ("cpu", "fast", 6), ("cpu", "default", 5), ("cpu", "default", 6)]
    rounds = [(*tool, number) for number in range(2) for tool in (*cpu, *[("peer", "", -1)] * 2)]
    assert [(run.tool, run.preset, run.seed, run.round) for run in first] == rounds
    cases = {(run.group, run.half, str(run.case)) for run in runs}
    assert cases == {
        ("generated", "A", "grid4/2"),
        *(("generated", "B", "grid8/2"), ("generated", "B", "grid8/4")),
        *(("real", "A", "uk/2"), ("real", "A", "uk/4")),
    }
    expected = jetpy.partition(
        jetpy.generators.grid(8, 8), 4, seed=6, preset="fast", backend="cpu", threads=1
    )
    assert {run.cut for run in runs if (*run.case[2:], *run[7:9]) == ("grid8", 4, "fast", 6)} == {
        expected.cut
    }
    assert {run.cut for run in runs if run.case[2:] == ("grid8", 4) and run.tool == "peer"} == {
        25,
        26,
    }
    assert {run.seconds for run in runs if run.tool == "peer"} == {0.5, 1.0}
    rows = table_rows(output.out)
    assert [row[1:4] for row in rows if row[0] == "cpu fast"] == [
        *(["generated", "A", "1"], ["generated", "B", "2"], ["generated", "both", "3"]),
        ["real", "A", "2"],
        *(["all", "A", "3"], ["all", "B", "2"], ["all", "both", "5"]),
    ]

    files = [str(tmp_path / "results" / "gpu-peer.csv")]
    monkeypatch.setattr(sys, "argv", ["gpu", "--markdown", "--tables", *files])
    gpu.main()
    assert capsys.readouterr().out == output.out


@pytest.mark.usefixtures("compiled", "program")
def test_half_only_and_existing_metis_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(monkeypatch, tmp_path, "--only-generate") == 0
    files = sorted((tmp_path / "cache").iterdir())
    names = ["grid4.graph", "grid4.npz", "grid8.graph", "grid8.npz", "uk.graph"]
    assert [file.name for file in files] == names
    for file in files:
        os.utime(file, (1, 1))
    assert measure(monkeypatch, tmp_path, "--half", "B", "--only", "uk", "grid8") == 0
    assert all(file.stat().st_mtime == 1 for file in files)
    rows = table_rows(capsys.readouterr().out)
    assert [row[:4] for row in rows if row[0] == "generated"] == [
        ["generated", "grid8", "2", "B"],
        ["generated", "grid8", "4", "B"],
    ] * 2
    assert measure(monkeypatch, tmp_path, "--only", "cube") == "--set unseen lacks cube"


@pytest.mark.usefixtures("compiled")
def test_wrong_cut_of_the_peer_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_jet(tmp_path / "jet", error=1)
    assert measure(monkeypatch, tmp_path, "--only", "grid4", "--half", "A") == "1 cases failed"
    assert "reports cut 5, but the cut is 4" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_missing_program_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(monkeypatch, tmp_path) == 2
    assert "jet is not an executable file" in capsys.readouterr().err
    assert not (tmp_path / "cache").exists()


def measured(case: Case, tool: Tool, started: str, *runs: Run) -> list[Measured]:
    return [Measured(started, "H", *case, *tool, 0, 0, *run) for run in runs]


GRID, CUBE, UK = (
    Case("generated", "A", "grid", 8),
    Case("generated", "B", "cube", 8),
    Case("real", "A", "uk", 8),
)
FAST = Tool("cuda", "fast")
ROWS = [
    *measured(GRID, FAST, "1", Run(9, 0, 900)),
    *measured(GRID, PEER, "1", Run(1, 0, 1)),
    *measured(GRID, FAST, "2", Run(3, 1, 6), Run(5, 1, 8), Run(1, 0.5, 8)),
    *measured(GRID, PEER, "2", Run(2, 0, 16), Run(4, 0, 16)),
    *measured(CUBE, FAST, "2", Run(6, 4.5, 20)),
    *measured(CUBE, PEER, "2", Run(1.5, 0, 10)),
    *measured(UK, FAST, "3", Run(1, 0, 5)),
    *measured(UK, PEER, "3", Run(2, 0, 0)),
]


def test_ratios_are_those_of_medians_of_the_last_call() -> None:
    ratios = {str(result.case): result.ratios for result in peer.results_of(ROWS)}
    assert ratios == {
        "grid/8": (1.0, 2 / 3, 0.5),
        "cube/8": (4.0, 1.0, 2.0),
        "uk/8": (0.5, 0.5, None),
    }


def test_means_and_worst_cases_by_group_and_half() -> None:
    rows = {tuple(row[1:3]): row[3:] for row in peer.mean_rows(peer.results_of(ROWS))}
    assert list(rows) == [
        *(("generated", half) for half in ("A", "B", "both")),
        ("real", "A"),
        *(("all", half) for half in ("A", "B", "both")),
    ]
    assert rows["generated", "A"][:4] == ["1", "1.000", "0.667", "0.500"]
    assert rows["generated", "both"] == [
        *("2", "2.000", "0.816", "1.000"),
        *("4.000 cube/8", "1.000 cube/8", "2.000 cube/8"),
    ]
    assert rows["real", "A"] == ["1", "0.500", "0.500", "-", "0.500 uk/8", "0.500 uk/8", "-"]
    assert rows["all", "A"][1:] == [
        *("0.707", "0.577", "0.500"),
        *("1.000 grid/8", "0.667 grid/8", "0.500 grid/8"),
    ]


def test_different_cuts_of_a_seed_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    peer.print_tables(ROWS, markdown=True)
    assert "grid/8 cuda fast: seed 0 has several cuts: 6, 8" in capsys.readouterr().out


def test_runs_in_files_are_equal_after_reading(tmp_path: Path) -> None:
    path = tmp_path / "new" / "runs.csv"
    for part in (ROWS[:3], ROWS[3:]):
        peer.append_runs(path, part)
    assert peer.read_runs(path) == ROWS
