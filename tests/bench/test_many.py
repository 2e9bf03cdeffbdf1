"""`bench.many`: its table for a few small graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

import jetpy
from bench import many


@pytest.mark.parametrize("backend", [None, "cpu"])
def test_each_variant_has_a_row(
    backend: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(many, "available_threads", lambda: 3)
    words = "--graphs 5 --vertices 60 -k 3 --presets fast --threads 2 --rounds 2"
    own = ["--backend", backend] if backend else []
    many.EXPERIMENT.main([*words.split(), *own, "--results", str(tmp_path), "--markdown"])
    table = capsys.readouterr().out
    rows = [line.split(" | ") for line in table.splitlines() if "| fast" in line]
    names = ["partition_many, threads=2"]
    names += ["partition_many, threads=3", "partition_many, backend=cpu"] if backend else []
    assert [row[1] for row in rows] == [
        *(many.METIS, many.LOOP, f"{many.LOOP}{many.WIDE}"),
        *(f"{name}{kind}" for name in names for kind in ("", many.WIDE)),
    ]
    assert all(float(row[2]) > 0 for row in rows)


def test_times_are_divided_by_those_of_metis_and_of_the_loop() -> None:
    seconds = {many.METIS: 10.0, many.LOOP: 9.0, "partition_many, threads=2": 4.0}
    record = {"preset": "fast", "graphs": 100, "cut_ratio": 0.9, "seconds": seconds}
    record["cpu_seconds"] = {name: 2 * own for name, own in seconds.items()}
    assert [row[2:] for row in many.rows_of(record)] == [
        ["100.00", "200.00", "1.00", "1.00", "0.90", "1"],
        ["90.00", "180.00", "0.90", "0.90", "1.00", "0.900"],
        ["40.00", "80.00", "0.40", "0.40", "2.25", "0.900"],
    ]


def test_different_cuts_are_an_error() -> None:
    graph = jetpy.generators.grid(4, 4)
    todo = {many.LOOP: lambda: many.loop([graph], 2, "fast"), "wrong": lambda: [0]}
    with pytest.raises(SystemExit, match="wrong finds other cuts than loop of partition"):
        many.measured(todo, 1)
