"""`bench.many`: its table for a few small graphs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import jetpy
from bench import many


def test_each_variant_has_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--graphs", "5", "--batch", "2", "--vertices", "60", "-k", "3"]
    how = ["--presets", "fast", "--threads", "2", "--rounds", "2", "--markdown"]
    monkeypatch.setattr(sys, "argv", ["many", *sizes, *how])
    many.main()
    table, _ = capsys.readouterr().out.split("**partition_many")
    rows = [line.split(" | ") for line in table.splitlines() if "| fast" in line]
    assert [row[1] for row in rows] == [
        many.METIS,
        many.LOOP,
        f"{many.LOOP}, 64-bit arrays",
        "partition_many, threads=2",
        "partition_many, threads=2, 64-bit arrays",
    ]
    assert all(float(row[2]) > 0 for row in rows)


@pytest.mark.usefixtures("compiled")
def test_back_end_is_compared_with_all_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(many, "available_threads", lambda: 3)
    words = "many --graphs 4 --vertices 60 -k 3 --presets fast --threads 1 --rounds 1 --markdown"
    monkeypatch.setattr(
        sys, "argv", [*words.split(), "--backend", "cpu", "--results", str(tmp_path)]
    )
    many.main()
    _, table = capsys.readouterr().out.split("**partition_many")
    rows = [line.split(" | ") for line in table.splitlines() if "| fast" in line]
    names = [
        "partition_many, threads=1",
        "partition_many, threads=3",
        "partition_many, backend=cpu",
    ]
    assert [row[1] for row in rows] == [
        f"{name}{kind}" for name in names for kind in ("", many.WIDE)
    ]
    assert all(float(cell.strip(" |")) > 0 for row in rows for cell in row[2:])


def test_times_are_compared_with_metis_one_thread_and_the_most_threads() -> None:
    seconds = {
        many.METIS: 10.0,
        many.LOOP: 9.0,
        "partition_many, threads=1": 8.0,
        "partition_many, threads=1, 64-bit arrays": 6.0,
        "partition_many, threads=2": 4.0,
        "partition_many, threads=2, 64-bit arrays": 5.0,
        "partition_many, backend=cuda": 1.0,
    }
    records = [{"preset": "fast", "variant": v, "seconds": s} for v, s in seconds.items()]
    assert [row[2:] for row in many.thread_rows(records, [1, 2])] == [
        ["0.80", "1.00", "2.00"],
        ["0.60", "1.00", "1.20"],
        ["0.40", "2.00", "1.00"],
        ["0.50", "1.20", "1.00"],
        ["0.10", "8.00", "0.25"],
    ]
    assert many.thread_rows(records[:2] + records[4:5], [2])[0][2:] == ["0.40", "-", "1.00"]


def test_different_cuts_are_an_error() -> None:
    graph = jetpy.generators.grid(4, 4)
    todo = {many.LOOP: lambda: many.loop([graph], 2, "fast"), "wrong": lambda: [0]}
    with pytest.raises(SystemExit, match="wrong finds other cuts than loop of partition"):
        many.measure(todo, 1, {}, {})
