"""The experiments of the papers give every cell of the papers' tables."""

from __future__ import annotations

import csv

import pytest

from bench.papers.__main__ import EXPERIMENTS, main
from bench.papers.experiment import numbers


def test_names_are_unique() -> None:
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(set(names)) == len(names)


def test_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    text = capsys.readouterr().out
    assert all(experiment.name in text for experiment in EXPERIMENTS)


def test_unknown_name_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"unknown: jet\.table99"):
        main(["jet.table99"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [experiment.name for experiment in EXPERIMENTS])
def test_quick_run_gives_every_cell(name: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    main([name, "--quick", "--backend", "cpu", "--threads", "2", "--results", str(tmp_path)])
    with open(tmp_path / f"{name}.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["row"], row["column"]) for row in rows} >= set(numbers(name))
    assert all(row["ours"] for row in rows)
