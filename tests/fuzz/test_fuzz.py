"""A short run of the fuzzer, and that it sees what is wrong."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

import jetpy
from tests.fuzz import oracles
from tests.fuzz.runs import draw, run

RUNS, PIECES = 150, 10


@pytest.mark.parametrize("piece", range(PIECES))
def test_random_problems_show_no_defect(piece: int) -> None:
    for number in range(piece, RUNS, PIECES):
        done = run(0, number)
        wrong = [finding for finding in done.findings if finding.wrong]
        assert not wrong, f"python -m tests.fuzz --seed 0 --case {number}: {done.problem}"


def test_runs_of_a_seed_are_always_the_same() -> None:
    for number in range(40):
        assert str(draw(3, number)) == str(draw(3, number))
    assert str(draw(3, 0)) != str(draw(4, 0))


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({}, None),
        ({"cut": -1}, "cut"),
        ({"limits": np.full(4, 10, np.int32)}, "limit"),
        ({"parts": np.arange(36) % 4}, "parts"),
        ({"parts": np.arange(36, dtype=np.int32)}, "parts"),
        ({"parts": np.zeros(35, np.int32)}, "parts"),
        ({"parts": np.zeros(36, np.int32)}, "feasible"),
        ({"parts": np.zeros(36, np.int32), "limits": np.full(4, 40, np.int32)}, "feasible tells"),
    ],
)
def test_what_is_wrong_is_seen(change: dict[str, object], check: str | None) -> None:
    grid = jetpy.generators.grid(6, 6)
    result = replace(jetpy.partition(grid, 4, imbalance=0.0, threads=1), **change)
    found = {check for check, wrong in oracles.partition(grid, result, 4, 9) if wrong}
    assert check in found if check else not found


def test_printing_and_exceptions_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        os.write(1, b"a word")
        raise ZeroDivisionError

    monkeypatch.setattr("tests.fuzz.runs.draw", fails)
    wrong = {check for check, wrong in run(0, 1).findings if wrong}
    assert wrong == {"nothing printed", "no exception"}


def test_greedy_packing() -> None:
    weights = np.array([3, 3, 2, 2, 2], np.int32)
    assert oracles.packed(weights, 2).tolist() == [0, 1, 0, 1, 0]
    assert oracles.limit_of(12, 2, 0.1) == 6
    assert oracles.limit_of(10**9, 1, 0.03) == 1_030_000_000
    assert oracles.limit_of_pes(13, 2, 0.1) == 8
