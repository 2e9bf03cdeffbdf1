"""`bench.timing`: its table of stages for a tiny graph."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import timing
from jetpy import generators, write_graph


@pytest.mark.usefixtures("compiled")
def test_stages_add_up_to_the_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pymetis")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    write_graph(tmp_path / "tiny.npz", generators.grid(60, 60))
    words = "timing --ks 2 4 --seeds 0 --min-n 0 --threads 1 --backend cpu --markdown"
    monkeypatch.setattr(
        sys, "argv", [*words.split(), "--graphs", str(tmp_path), "--results", str(tmp_path)]
    )
    timing.EXPERIMENT.main()
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    rows = [row for row in lines if row[0] == "tiny"][2:]
    assert [row[1] for row in rows] == ["2", "4"]
    for row in rows:
        total, *stages = map(float, row[2:])
        assert 0 < sum(stages) <= total + 0.03
