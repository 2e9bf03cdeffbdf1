"""`bench.many`: its table for a few small graphs."""

from __future__ import annotations

import sys

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
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if "| fast" in line]
    assert [row[1] for row in rows] == [
        many.METIS,
        many.LOOP,
        f"{many.LOOP}, 64-bit arrays",
        "partition_many, threads=2",
        "partition_many, threads=2, 64-bit arrays",
    ]
    assert all(float(row[2]) > 0 for row in rows)


def test_different_cuts_are_an_error() -> None:
    graph = jetpy.generators.grid(4, 4)
    todo = {many.LOOP: lambda: many.loop([graph], 2, "fast"), "wrong": lambda: [0]}
    with pytest.raises(SystemExit, match="wrong finds other cuts than loop of partition"):
        many.measure(todo, 1, {}, {})
