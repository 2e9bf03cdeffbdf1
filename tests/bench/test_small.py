"""`bench.small`: its halves, recounted results, tables, figure, and a run on a tiny graph."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bench import small, small_cases
from bench.pareto import Point
from bench.records import Record
from bench.small_cases import CLASSES, HALVES, KS, classes_of
from bench.small_tables import (
    METIS,
    case_rows,
    comparisons,
    draw_front,
    mean_rows,
    points,
    without_ratio,
    worst_rows,
)
from jetpy import generators
from jetpy.problem.presets import preset
from jetpy.problem.problem import make_problem
from jetpy.study.tools import IMBALANCE, PACKAGES

FAST = "jetpy/cpu/fast"


def result(seconds: float, cut: float, above: int = 0) -> Record:
    return {"cpu_seconds": seconds, "seconds": 2 * seconds, "cut": cut, "above_limit": above}


def record(graph: str, k: int, **tools: Record) -> Record:
    half = next(half for half in HALVES if graph in classes_of(half))
    about = {"graph": graph, "half": half, "class": classes_of(half)[graph], "n": 1000, "m": 2000}
    return {**about, "k": k, "seeds": 2, "tools": {METIS: result(1.0, 100.0), **tools}}


RECORDS = [
    record("del4k", 8, **{FAST: result(9.0, 9.0)}),
    record("del4k", 8, **{FAST: result(2.0, 90.0, above=1)}),
    record("uk", 8, **{FAST: result(0.5, 40.0)}),
    record("add20", 2, **{FAST: result(4.0, 0.0)}),
    record("del1k", 8, **{FAST: result(3.0, 50.0)}, kaminpar=result(5.0, 70.0)),
]
FOUND = comparisons(RECORDS)


def test_halves_have_different_graphs_of_all_classes() -> None:
    first, second = map(classes_of, HALVES)
    assert not first.keys() & second.keys()
    assert (len(first), len(second)) == (10, 12)
    for classes in (first, second):
        assert set(classes.values()) == set(CLASSES)


def test_last_results_count_in_the_order_of_halves_and_graphs() -> None:
    assert list(FOUND[METIS]) == [("del1k", 8), ("del4k", 8), ("add20", 2), ("uk", 8)]
    about = ["mesh", "1,000", "8", "1000.00", "100.0"]
    assert case_rows(FOUND, lambda own: own.k == 8) == [
        ["A", "del1k", *about, "3.000; 0.500", "5.000; 0.700"],
        ["B", "del4k", *about, "2.000; 0.900", "-"],
        ["B", "uk", *about, "0.500; 0.400", "-"],
    ]


def test_means_have_a_row_per_group() -> None:
    rows = {row[0]: row[1:] for row in mean_rows(FOUND[FAST])}
    assert list(rows) == ["all", *(f"k = {k}" for k in KS), *CLASSES]
    assert rows["all"] == ["1", "3.000", "3.000", "0.500", "3", "1.587", "1.587", "0.600"]
    assert rows["mesh"][4:] == ["2", "1.000", "1.000", "0.600"]
    assert rows["circuit"][4:] == ["1", "4.000", "4.000", "-"]
    assert rows["k = 32"] == ["0", "-", "-", "-"] * 2


def test_worst_groups_are_means_of_a_class_and_k() -> None:
    assert worst_rows(FOUND) == [
        [METIS, "A", "-", "-", "0 of 2"],
        [METIS, "B", "-", "-", "0 of 6"],
        ["cpu/fast", "A", "3.000 (k = 8, mesh)", "0.500 (k = 8, mesh)", "0 of 2"],
        ["cpu/fast", "B", "4.000 (k = 2, circuit)", "0.600 (k = 8, mesh)", "1 of 6"],
        ["kaminpar", "A", "5.000 (k = 8, mesh)", "0.700 (k = 8, mesh)", "0 of 2"],
    ]


def test_cases_with_a_cut_of_0_are_named() -> None:
    assert without_ratio(FOUND) == [f"add20 k=2 ({FAST} 0, {METIS} 100)"]


def test_figure_has_the_cases_of_all_tools(tmp_path: Path) -> None:
    expected = [Point(METIS, 1, 1), Point(FAST, 3, 0.5), Point("kaminpar", 5, 0.7)]
    number, found = points(FOUND, "A")
    assert number == 1
    for own, other in zip(found, expected, strict=True):
        assert own.label == other.label
        assert own[1:] == pytest.approx(other[1:])
    assert points(FOUND, "B") == (0, [])
    file = tmp_path / "small.svg"
    assert draw_front(FOUND, file)
    assert "</svg>" in file.read_text(encoding="utf-8")
    assert not draw_front(comparisons(RECORDS[3:4]), file)


def arrays_of(rows: int, columns: int) -> small.Arrays:
    graph = generators.grid(rows, columns)
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)


def test_cut_and_limit_are_recounted() -> None:
    arrays = arrays_of(3, 2)
    assert small.recount(arrays, [0, 0, 0, 1, 1, 1], 2) == (3, False)
    assert small.recount(arrays, [0, 0, 0, 0, 1, 1], 2) == (2, True)
    with pytest.raises(SystemExit, match="are not 2 parts"):
        small.recount(arrays, [0, 0, 0, 0, 1, 2], 2)
    with pytest.raises(SystemExit, match="are not 2 parts"):
        small.recount(arrays, [0, 1], 2)


@pytest.mark.parametrize("n", [99, 100, 101, 1234])
def test_limit_is_that_of_jetpy(n: int) -> None:
    limit = make_problem(n, 3, IMBALANCE, 0, preset("default")).limit
    arrays = arrays_of(1, n)
    for size, is_above in ((limit, False), (limit + 1, True)):
        rest = np.arange(n - size) % 2 + 1
        parts = np.concatenate([np.zeros(size, np.int64), rest])
        assert small.recount(arrays, parts, 3)[1] is is_above


def test_seeds_run_by_turns_after_a_warm_up() -> None:
    calls: list[tuple[str, int, int]] = []

    def solve(name: str, k: int, seed: int) -> small.Answer:
        calls.append((name, k, seed))
        return [0, 0, 0, 1, 1, 1] if seed else [0, 0, 0, 0, 1, 1], None

    tools = {name: partial(solve, name) for name in ("a", "b")}
    found = small.measure(arrays_of(3, 2), tools, 2, seeds=2)
    assert calls == [(name, 2, seed) for seed in (2, 0, 1) for name in ("a", "b")]
    assert (found["b"]["cut"], found["b"]["above_limit"]) == (2.5, 1)
    assert found["b"]["seconds"] > 0


def test_wrong_cuts_are_an_error() -> None:
    tools: Mapping[str, small.Solve] = {"wrong": lambda k, seed: ([0, 0, 0, 1, 1, 1], 4)}
    with pytest.raises(SystemExit, match="wrong returns a cut of 4, but its parts cut 3"):
        small.measure(arrays_of(3, 2), tools, 2, seeds=1)


@pytest.mark.usefixtures("compiled")
def test_run_measures_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipes = {"tiny": ("mesh", 60, partial(generators.grid, 6, 10))}
    monkeypatch.setitem(small_cases.GENERATED, "A", recipes)
    monkeypatch.setitem(PACKAGES, "kaminpar", "no_such_module")
    words = "small --only tiny --ks 2 8 --seeds 2 --presets fast --also kaminpar --markdown"
    folders = ["--generated", str(tmp_path), "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*words.split(), *folders])
    small.main()
    path = tmp_path / small.FILE
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["graph"], line["k"], list(line["tools"])) for line in lines] == [
        ("tiny", k, [METIS, FAST]) for k in (2, 8)
    ]
    output = capsys.readouterr()
    assert "kaminpar is left out: No module named 'no_such_module'" in output.err
    assert "| A | tiny | mesh | 60 | 2 |" in output.out
    before = path.read_text()
    monkeypatch.delattr(small, "measure")
    small.main()
    assert path.read_text() == before


def test_unknown_graphs_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "small --halves A --only uk --generated"
    monkeypatch.setattr(sys, "argv", [*words.split(), str(tmp_path)])
    with pytest.raises(SystemExit):
        small.main()
    assert "the halves have no graph uk" in capsys.readouterr().err


def test_tables_need_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["small", "--results", str(tmp_path)])
    with pytest.raises(SystemExit, match="no results"):
        small.main()
