"""`bench.small`: its halves, results, tables and figure, and a run on a tiny graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from bench import small, small_cases
from bench.figures import Point
from bench.records import Record
from bench.small_cases import CLASSES, HALVES, KS, classes_of
from jetpy import generators
from jetpy.problem.presets import preset
from jetpy.problem.problem import make_problem
from jetpy.study.tools import IMBALANCE, Job

FAST = "jetpy/cpu/fast"


def result(seconds: float, cut: float, above: int = 0) -> Record:
    return {"cpu_seconds": seconds, "seconds": 2 * seconds, "cut": cut, "above_limit": above}


def record(graph: str, k: int, tool: str, *own: float) -> Record:
    half = next(half for half in HALVES if graph in classes_of(half))
    about = {"graph": graph, "half": half, "class": classes_of(half)[graph], "n": 1000, "m": 2000}
    return {**about, "k": k, "seeds": 2, "tool": tool, **result(*own), "metis": result(1.0, 100.0)}


RECORDS = [
    record("del4k", 8, FAST, 9.0, 9.0),
    record("del4k", 8, FAST, 2.0, 90.0, 1),
    record("uk", 8, FAST, 0.5, 40.0),
    record("add20", 2, FAST, 4.0, 0.0),
    record("del1k", 8, FAST, 3.0, 50.0),
    record("del1k", 8, "kaminpar", 5.0, 70.0),
]
FOUND = small.results(RECORDS)


def test_halves_have_different_graphs_of_all_classes() -> None:
    first, second = map(classes_of, HALVES)
    assert not first.keys() & second.keys()
    assert (len(first), len(second)) == (10, 12)
    for classes in (first, second):
        assert set(classes.values()) == set(CLASSES)


def test_last_results_count_in_the_order_of_halves_and_graphs() -> None:
    about = ["mesh", "1,000", "8", "1000.00", "100.0"]
    assert small.case_rows(FOUND) == [
        ["A", "del1k", *about, "3.000; 0.500", "5.000; 0.700"],
        ["B", "del4k", *about, "2.000; 0.900", "-"],
        ["B", "add20", "circuit", "1,000", "2", "1000.00", "100.0", "4.000; -", "-"],
        ["B", "uk", *about, "0.500; 0.400", "-"],
    ]


def test_means_have_a_row_per_group() -> None:
    rows = {row[0]: row[1:] for row in small.mean_rows(FOUND[FAST].values())}
    assert list(rows) == ["all", *(f"k = {k}" for k in KS), *CLASSES]
    assert rows["all"] == ["1", "3.000", "0.500", "3", "1.587", "0.600"]
    assert rows["mesh"][3:] == ["2", "1.000", "0.600"]
    assert rows["circuit"][3:] == ["1", "4.000", "-"]
    assert rows["k = 32"] == ["0", "-", "-"] * 2


def test_figure_has_the_cases_of_all_tools(tmp_path: Path) -> None:
    expected = [Point("metis", 1, 1), Point(FAST, 3, 0.5), Point("kaminpar", 5, 0.7)]
    number, found = small.points(FOUND, "A")
    assert number == 1
    for own, other in zip(found, expected, strict=True):
        assert own.label == other.label
        assert own[1:] == pytest.approx(other[1:])
    assert small.points(FOUND, "B") == (0, [])
    file = tmp_path / "small.svg"
    assert small.draw(FOUND, file)
    assert "</svg>" in file.read_text(encoding="utf-8")
    assert not small.draw(small.results(RECORDS[3:4]), file)


@pytest.mark.parametrize("n", [99, 100, 101, 1234])
def test_limit_of_other_tools_is_that_of_jetpy(n: int) -> None:
    limit = make_problem(n, 3, IMBALANCE, 0, preset("default")).limit
    assert Job(generators.grid(1, n), Path(), "default", 1, IMBALANCE).limit(3) == limit


def test_seeds_run_by_turns_after_a_warm_up() -> None:
    calls: list[tuple[str, int, int]] = []

    def solve(name: str, k: int, seed: int) -> small.Answer:
        calls.append((name, k, seed))
        return [0, 0, 0, 1, 1, 1] if seed else [0, 0, 0, 0, 1, 1], None

    job = Job(generators.grid(3, 2), Path(), "default", 1, IMBALANCE)
    found = small.by_turns(job, {name: partial(solve, name) for name in ("a", "b")}, 2, seeds=2)
    assert calls == [(name, 2, seed) for seed in (2, 0, 1) for name in ("a", "b")]
    assert (found["b"]["cut"], found["b"]["above_limit"]) == (2.5, 1)
    assert found["b"]["seconds"] > 0
    tools: Mapping[str, small.Solve] = {"wrong": lambda k, seed: ([0, 0, 0, 1, 1, 1], 4)}
    with pytest.raises(SystemExit, match="wrong returns a cut of 4, but its parts cut 3"):
        small.by_turns(job, tools, 2, seeds=1)


def test_run_measures_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipes = {"tiny": ("mesh", 60, partial(generators.grid, 6, 10))}
    monkeypatch.setitem(small_cases.GENERATED, "A", recipes)
    words = "--only tiny --ks 2 8 --seeds 2 --presets fast --markdown"
    folders = ["--generated", str(tmp_path), "--results", str(tmp_path)]
    small.EXPERIMENT.main([*words.split(), *folders])
    path = tmp_path / "small.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["graph"], line["k"], line["tool"]) for line in lines] == [
        ("tiny", k, FAST) for k in (2, 8)
    ]
    assert all(0 < line["metis"]["cut"] <= 104 for line in lines)
    assert "| A | tiny | mesh | 60 | 2 |" in capsys.readouterr().out
    unknown = [*words.replace("tiny", "uk").split(), *folders, "--halves", "A"]
    with pytest.raises(SystemExit, match="--only: uk is not among"):
        small.EXPERIMENT.main(unknown)
