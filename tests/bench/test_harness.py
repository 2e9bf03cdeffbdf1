"""The harness: types of options, and what it measures, leaves out and counts as failed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest

from bench import harness
from bench.child import apart
from bench.harness import Experiment, Option, among
from bench.instances import Instance
from bench.records import Record
from jetpy import generators
from jetpy.study.arrays import load_arrays

OPTIONS = {
    "ks": (2, 8),
    "share": 0.5,
    "quick": Option(False, "a switch"),
    "tools": among(("a", "missing", "broken")),
    "empty": Option((), type=int),
    "folders": harness.LIBRARIES,
    "presets": Option(("default",), may_be_empty=True),
}


def parsed(*words: str) -> argparse.Namespace:
    return harness.parser("example", "About.", OPTIONS).parse_args(words)


def test_defaults_are_those_of_the_table() -> None:
    found = vars(parsed())
    assert found.pop("markdown") is False
    assert found == {name: getattr(own, "default", own) for name, own in OPTIONS.items()}


def test_defaults_give_the_types_of_options() -> None:
    words = "--ks 3 --share 1 --quick --tools a --empty 4 5 --folders /tmp --presets"
    found = vars(parsed(*words.split()))
    assert found["ks"] == [3]
    assert found["share"] == 1.0
    assert found["quick"] is True
    assert (found["empty"], found["folders"], found["presets"]) == ([4, 5], [Path("/tmp")], [])
    with pytest.raises(SystemExit):
        parsed("--tools", "other")


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    for tool in options.tools:
        for k in options.ks:
            yield {"tool": tool, "k": k}


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    first = cases[0]
    if first["tool"] == "missing":
        raise ImportError("not here")
    for case in cases:
        if first["tool"] == "broken" and case["k"] > 2:
            raise SystemExit(3)
        yield {"size": case["k"] * load_arrays(Path(folder)).n, "other": settings["other"]}


def experiment(shown: list[Record]) -> Experiment:
    graph = Instance("grid", "mesh", "generated", 6, partial(generators.grid, 2, 3))
    return Experiment(
        name="example",
        doc="About.",
        options=OPTIONS,
        cases=cases,
        measure=measure,
        show=lambda records, options: shown.extend(records),
        key=("graph", "tool", "k"),
        together=["k"],
        file_of=lambda record: record["tool"] if record["tool"] == "broken" else "",
        select=lambda options: [graph],
        has_graphs=False,
    )


def options(folder: Path, *ks: int) -> argparse.Namespace:
    names = {"tools": ["a", "missing", "broken"], "ks": ks, "results": folder, "other": "x"}
    return argparse.Namespace(**names)


def test_missing_cases_are_measured_in_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    own, started = experiment([]), []

    def counted(function: object, folder: str, cases: list[Record], *rest: object, **how: int):  # type: ignore[no-untyped-def]
        started.append((cases[0]["tool"], [case["k"] for case in cases]))
        return apart(measure, folder, cases, *rest, **how)

    monkeypatch.setattr(harness, "apart", counted)
    assert own.run(options(tmp_path, 2, 3)) == 1
    assert started == [("a", [2, 3]), ("missing", [2, 3]), ("broken", [2, 3])]
    found = {(r["tool"], r["k"]): (r["size"], r["n"], r["other"]) for r in own.records(tmp_path)}
    assert found == {("broken", 2): (12, 6, "x"), ("a", 2): (12, 6, "x"), ("a", 3): (18, 6, "x")}
    assert {path.name for path in tmp_path.glob("*.jsonl")} == {
        *("example.jsonl", "example-broken.jsonl")
    }
    said = capfd.readouterr().err
    assert "missing is left out: not here" in said
    assert "grid 2: broken failed with exit status 3" in said
    started.clear()
    own.run(options(tmp_path, 2, 4))
    assert started == [("a", [4]), ("missing", [2, 4]), ("broken", [4])]


def test_without_graphs_and_records_there_are_no_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Record] = []
    monkeypatch.setattr("sys.argv", ["example", "--results", str(tmp_path)])
    own = experiment(shown)
    monkeypatch.setattr(Experiment, "run", lambda self, options: 0)
    with pytest.raises(SystemExit, match="no results"):
        own.main()
    (tmp_path / "example.jsonl").write_text('{"tool": "a"}\n')
    own.main()
    assert shown == [{"tool": "a"}]
    monkeypatch.setattr(Experiment, "run", lambda self, options: 2)
    with pytest.raises(SystemExit, match="2 processes failed"):
        own.main()


def test_several_processes_run_at_once() -> None:
    both = Barrier(2, timeout=60)

    def work(item: int) -> bool:
        both.wait()
        return item > 2

    assert list(harness.in_turn(work, [1, 2, 3, 4], 2)) == [False, False, True, True]
    assert list(harness.in_turn(lambda item: item > 2, [1, 3], 1)) == [False, True]
