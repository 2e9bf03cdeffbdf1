"""`bench.gpu --peer` with a script in place of the C++ Jet."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import jetpy
from bench import gpu, instances
from bench.gpu import PEER
from bench.gpu_cases import SETS, Case
from bench.records import Record, read_records
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
    fixed = "gpu --set unseen --backend cpu --threads 1 --presets fast default --seeds 5 6"
    folders = {"--peer": "jet", "--graphs": "real", "--generated": "cache", "--results": "results"}
    options = [word for name, own in folders.items() for word in (name, str(folder / own))]
    counts = ("--repeat", "1", "--rounds", "2", "--markdown")
    monkeypatch.setattr(sys, "argv", [*fixed.split(), *options, *counts, *words])
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    try:
        gpu.EXPERIMENT.main()
    except SystemExit as ended:
        return ended.code
    return 0


def table_rows(printed: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in printed.splitlines() if line[:1] == "|"]


@pytest.mark.usefixtures("program")
def test_presets_seeds_and_the_peer_run_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(monkeypatch, tmp_path) == 0
    output = capsys.readouterr()
    assert "the folders lack missing" in output.err
    records = read_records(tmp_path / "results" / "gpu.jsonl")
    runs = records[0]["runs"]
    assert list(runs) == ["cpu fast", "cpu default", "peer"]
    turns = [(run["seed"], run["round"]) for run in runs["cpu fast"]]
    assert turns == [(5, 0), (6, 0), (5, 1), (6, 1)]
    assert [(run["seed"], run["round"]) for run in runs["peer"]] == [(-1, 0)] * 2 + [(-1, 1)] * 2
    cases = [(own["group"], own["half"], own["graph"], own["k"]) for own in records]
    assert sorted(cases) == [
        *(("generated", "A", "grid4", 2), ("generated", "B", "grid8", 2)),
        *(("generated", "B", "grid8", 4), ("real", "A", "uk", 2), ("real", "A", "uk", 4)),
    ]
    expected = jetpy.partition(
        jetpy.generators.grid(8, 8), 4, seed=6, preset="fast", backend="cpu", threads=1
    )
    [grid8] = [own["runs"] for own in records if (own["graph"], own["k"]) == ("grid8", 4)]
    assert {run["cut"] for run in grid8["cpu fast"] if run["seed"] == 6} == {expected.cut}
    assert {run["cut"] for run in grid8["peer"]} == {25, 26}
    assert {run["seconds"] for run in grid8["peer"]} == {0.5, 1.0}
    rows = table_rows(output.out)
    assert [row[1:3] for row in rows if row[0] == "cpu fast"] == [
        *(["generated", "3"], ["real", "2"], ["all", "5"], ["half A", "3"], ["half B", "2"])
    ]
    monkeypatch.setattr(sys, "argv", ["", "--markdown", "--results", str(tmp_path / "results")])
    gpu.EXPERIMENT.main()
    assert capsys.readouterr().out == output.out


@pytest.mark.usefixtures("program")
def test_half_and_only_select_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(monkeypatch, tmp_path, "--half", "B", "--only", "grid8") == 0
    rows = table_rows(capsys.readouterr().out)
    assert [row[:4] for row in rows if row[0] == "generated"] == [
        ["generated", "grid8", "2", "B"],
        ["generated", "grid8", "4", "B"],
    ] * 2
    said = "--only: cube is not among the chosen graphs"
    assert measure(monkeypatch, tmp_path, "--only", "cube") == said


def test_wrong_cut_of_the_peer_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_jet(tmp_path / "jet", error=1)
    ended = measure(monkeypatch, tmp_path, "--only", "grid4", "--half", "A")
    assert str(ended).startswith("no results in")
    said = capfd.readouterr().err
    assert "reports cut 5, but the cut is 4" in said
    assert "grid4 2 cpu 1 2: gpu failed" in said


def test_missing_program_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "jet is not an executable file" in str(measure(monkeypatch, tmp_path))
    assert not (tmp_path / "cache").exists()


def record(case: Case, *own: tuple[float, float, int], peer: list[Any]) -> Record:
    def runs(found: Sequence[tuple[float, float, int]]) -> list[Record]:
        fields = ("seconds", "upload", "cut")
        return [{"seed": 0, "round": 0, **dict(zip(fields, run, strict=True))} for run in found]

    about = {"group": case.group, "half": case.half, "graph": case.graph}
    return {**about, "k": case.k, "runs": {FAST: runs(own), PEER: runs(peer)}}


GRID, CUBE, UK = (
    Case("generated", "A", "grid", 8),
    Case("generated", "B", "cube", 8),
    Case("real", "A", "uk", 8),
)
FAST = "cuda fast"
RECORDS = [
    record(GRID, (9, 0, 900), peer=[(1, 0, 1)]),
    record(GRID, (3, 1, 6), (5, 1, 8), (1, 0.5, 8), peer=[(2, 0, 16), (4, 0, 16)]),
    record(CUBE, (6, 4.5, 20), peer=[(1.5, 0, 10)]),
    record(UK, (1, 0, 5), peer=[(2, 0, 0)]),
]


def test_ratios_are_those_of_medians_of_the_last_call() -> None:
    ratios = {str(result.case): result.ratios for result in gpu.results_of(RECORDS)}
    assert ratios == {
        "grid/8": (1.0, 2 / 3, 0.5),
        "cube/8": (4.0, 1.0, 2.0),
        "uk/8": (0.5, 0.5, None),
    }


def test_means_and_worst_cases_by_group_and_half() -> None:
    rows = {row[1]: row[2:] for row in gpu.mean_rows(gpu.results_of(RECORDS))}
    assert list(rows) == ["generated", "real", "all", "half A", "half B"]
    assert rows["generated"] == [
        *("2", "2.000", "0.816", "1.000"),
        *("4.000 cube/8", "1.000 cube/8", "2.000 cube/8"),
    ]
    assert rows["real"] == ["1", "0.500", "0.500", "-", "0.500 uk/8", "0.500 uk/8", "-"]
    assert rows["half A"][1:] == [
        *("0.707", "0.577", "0.500"),
        *("1.000 grid/8", "0.667 grid/8", "0.500 grid/8"),
    ]


def test_different_cuts_of_a_seed_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    gpu.summarise(RECORDS, Namespace(markdown=True))
    assert "grid/8 cuda fast: seed 0 has several cuts: 6, 8" in capsys.readouterr().out
