"""`bench.small`: its table for tiny meshes."""

from __future__ import annotations

import sys

import pytest

import jetpy
from bench import small


@pytest.mark.usefixtures("compiled")
def test_table_has_each_back_end_preset_and_graph(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds: list[int] = []
    partition = jetpy.partition

    def counted(*arguments: object, seed: int, **options: object) -> jetpy.Partition:
        seeds.append(seed)
        return partition(*arguments, seed=seed, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(jetpy, "partition", counted)
    words = "small --vertices 60 90 -k 3 --backends cpu --threads 1 --rounds 3 --seeds 2 --markdown"
    monkeypatch.setattr(sys, "argv", words.split())
    small.main()
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    rows = [row for row in lines if row[0] == "cpu"]
    assert [(row[1], row[2]) for row in rows] == [
        (preset, f"delaunay-{n}-s0") for preset in ("fast", "default") for n in (60, 90)
    ]
    assert all(0 < float(row[3]) <= float(row[4]) <= float(row[5]) for row in rows)
    assert seeds == [0] * 4 + [0] * 4 + [1] * 4 + [0] * 4
