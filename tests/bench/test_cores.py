"""`bench.cores`: its tables and figure, and a run on a tiny graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench import cores, harness, speedups
from bench.records import Record
from bench.speedups import by_threads
from jetpy import generators, write_graph

FAST, KAMINPAR = "jetpy/cpu/fast", "kaminpar/default"
GROUPS = {"known": ("a",), "unseen": ("b", "small")}


@pytest.fixture(autouse=True)
def groups(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cores, speedups):
        monkeypatch.setattr(module, "GROUPS", GROUPS)


def record(tool: str, threads: int, graph: str, cut: int, seconds: float, **more: object) -> Record:
    stages: Mapping[str, object] = {
        "coarsen": [seconds / 2] * 2,
        "initial": [0.25] * 2,
        "refine": [seconds / 4] * 2,
    }
    return {
        "graph": graph,
        "condition": "plain",
        "k": 8,
        "tool": f"{tool}/{threads}",
        "cuts": [cut] * 2,
        "balanced": [True, True],
        "seconds": [seconds] * 2,
        **(stages if tool == FAST else {}),
        **more,
    }


RECORDS = [
    record(FAST, 4, "a", 90, 1.0),
    record(FAST, 1, "a", 90, 2.0),
    record(FAST, 4, "b", 60, 1.0),
    record(FAST, 1, "b", 60, 8.0),
    record(KAMINPAR, 1, "a", 100, 1.0),
    record(KAMINPAR, 4, "a", 100, 0.5),
    record(KAMINPAR, 1, "b", 50, 4.0),
    record(KAMINPAR, 4, "b", 50, 2.0, balanced=[True, False]),
    record(speedups.METIS, 1, "a", 100, 4.0),
    record(speedups.METIS, 1, "b", 100, 1.0),
]
FOUND = by_threads(RECORDS)


def test_ratios_compare_the_same_number_of_threads() -> None:
    assert speedups.ratio_rows([FAST], KAMINPAR, FOUND) == [
        [FAST, "1", "known", "1", "2.000", "2.000 a k=8", "0.900", "0.900 a k=8"],
        [FAST, "1", "unseen", "1", "2.000", "2.000 b k=8", "1.200", "1.200 b k=8"],
        [FAST, "1", "all", "2", "2.000", "2.000 a k=8", "1.039", "1.200 b k=8"],
        [FAST, "4", "known", "1", "2.000", "2.000 a k=8", "0.900", "0.900 a k=8"],
        [FAST, "4", "unseen", "1", "0.500", "0.500 b k=8", "1.200", "1.200 b k=8"],
        [FAST, "4", "all", "2", "1.000", "2.000 a k=8", "1.039", "1.200 b k=8"],
    ]


def test_metis_has_one_thread_in_all_rows() -> None:
    rows = speedups.ratio_rows([FAST, KAMINPAR], speedups.METIS, FOUND)
    assert [[row[0], row[1], row[4], row[5]] for row in rows if row[2] == "all"] == [
        [FAST, "1", "2.000", "8.000 b k=8"],
        [FAST, "4", "0.500", "1.000 b k=8"],
        [KAMINPAR, "1", "1.000", "4.000 b k=8"],
        [KAMINPAR, "4", "0.500", "2.000 b k=8"],
    ]


def test_speedups_have_the_stages_of_jetpy() -> None:
    rows = speedups.speedup_rows(FOUND)
    assert [row for row in rows if row[2] == "all"] == [
        [FAST, "total", "all", "4", "2", "4.00", "2.000 a k=8"],
        [FAST, "coarsen", "all", "4", "2", "4.00", "2.000 a k=8"],
        [FAST, "initial", "all", "4", "2", "1.00", "1.000 a k=8"],
        [FAST, "refine", "all", "4", "2", "4.00", "2.000 a k=8"],
        [KAMINPAR, "total", "all", "4", "2", "2.00", "2.000 a k=8"],
    ]
    assert [row[2] for row in rows if row[:2] == [FAST, "total"]] == ["known", "unseen", "all"]


def test_infeasible_runs_are_counted() -> None:
    assert speedups.infeasible(FOUND) == [f"{KAMINPAR} threads=4 b k=8: 1 of 2"]


def test_curves_contain_the_cases_of_all_tools(tmp_path: Path) -> None:
    cases, lines = speedups.curves(FOUND, "known")
    assert cases == 1
    assert lines[FAST] == pytest.approx({1: 0.5, 4: 0.25})
    assert lines[KAMINPAR] == pytest.approx({1: 0.25, 4: 0.125})
    assert lines[speedups.METIS] == pytest.approx({1: 1.0})
    lacking = by_threads([*RECORDS, record(KAMINPAR, 8, "a", 100, 0.5)])
    assert speedups.curves(lacking, "unseen") == (0, {})
    file = tmp_path / "cores.svg"
    assert speedups.draw(FOUND, file)
    assert "</svg>" in file.read_text(encoding="utf-8")
    without_metis = by_threads(RECORDS[:-2])
    assert not speedups.draw(without_metis, tmp_path / "none.svg")


def test_run_measures_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_graph(tmp_path / "small.npz", generators.grid(30, 20))
    words = "--tools pymetis jetpy/cpu --presets fast --threads 1 2 --ks 2 4 --seeds 0 1"
    folders = ["--graphs", str(tmp_path), "--results", str(tmp_path)]
    cores.EXPERIMENT.main([*words.split(), *folders])
    path = tmp_path / "cores.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["tool"], line["k"]) for line in lines] == [
        (tool, k) for tool in (f"{speedups.METIS}/1", f"{FAST}/1", f"{FAST}/2") for k in (2, 4)
    ]
    for line in lines[2:]:
        stages = zip(line["coarsen"], line["initial"], line["refine"], strict=True)
        for total, parts in zip(line["seconds"], stages, strict=True):
            assert 0 < sum(parts) <= total + 1e-5
    assert lines[2]["cuts"] == lines[4]["cuts"]
    output = capsys.readouterr()
    assert f"divided by those of {speedups.METIS} on one thread" in output.out
    assert "the folders lack a, b" in output.err
    before = path.read_text()
    monkeypatch.delattr(harness, "apart")
    cores.EXPERIMENT.main([*words.split(), *folders])
    assert path.read_text() == before


def test_unknown_graphs_are_an_error(tmp_path: Path) -> None:
    words = ["--generated", str(tmp_path), "--results", str(tmp_path), "--only", "c"]
    with pytest.raises(SystemExit, match="--only: c is not among the chosen graphs"):
        cores.EXPERIMENT.main(words)
