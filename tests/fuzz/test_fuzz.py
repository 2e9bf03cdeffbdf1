"""A short run of the fuzzer, and tests that it finds defects."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.graph.csr import INT32_MAX
from tests.fuzz import oracles, recount
from tests.fuzz.calls import Calls
from tests.fuzz.checks import CHECKS, Finding
from tests.fuzz.choices import Random
from tests.fuzz.coverage import KNOWN, not_covered
from tests.fuzz.draws import WIDTHS, Engine, supporting
from tests.fuzz.mistakes import MISTAKES, Mistakes
from tests.fuzz.results import evaluated, subgraph
from tests.fuzz.runs import ENGINES, draw, run
from tests.fuzz.structures import WEIGHTS, graph

RUNS, PIECES = 150, 10
GRID = jetpy.generators.grid(6, 6)


@cache
def balanced() -> jetpy.Partition:
    return jetpy.partition(GRID, 4, imbalance=0.0, threads=1)


def wrong(findings: Any) -> set[str]:
    """Return the checks that found a defect."""
    return {finding.check for finding in findings if finding.wrong}


@pytest.mark.parametrize(
    "piece", [pytest.param(i, marks=pytest.mark.slow if i else ()) for i in range(PIECES)]
)
def test_random_problems_show_no_defect(piece: int) -> None:
    for number in range(piece, RUNS, PIECES):
        done = run(0, number)
        found = [finding for finding in done.findings if finding.wrong]
        assert not found, f"python -m tests.fuzz --seed 0 --case {number}: {done.problem}"


def test_runs_of_a_seed_are_reproducible() -> None:
    for number in range(40):
        assert str(draw(Random(3, number))) == str(draw(Random(3, number)))
    assert str(draw(Random(3, 0))) != str(draw(Random(4, 0)))


def test_all_choices_are_known_and_drawn() -> None:
    """Every choice is listed, and every listed choice is drawn, including every mistake."""
    chosen = set()
    for number in range(3000):
        rng = Random(1, number)
        draw(rng)
        chosen |= rng.chosen
    assert chosen <= set(KNOWN)
    assert [missing for missing in not_covered(chosen) if not missing.startswith("check=")] == []


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_refused(name: str) -> None:
    """Each mistake is made on a small graph."""
    assert not wrong(Mistakes(GRID, [name]).findings(ENGINES[:1]))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_fit_the_width(kind: str, width: str) -> None:
    most = WIDTHS[width]
    found = graph(Random(5, 0), "grid", 400, kind, kind, most=most)
    least = 0 if "zero" in kind else 1
    assert least <= found.vertex_weights.min() <= found.vertex_weights.max() <= INT32_MAX
    assert least <= found.edge_weights.min() <= found.edge_weights.max() <= INT32_MAX
    assert max(found.total_vertex_weight, 2 * found.total_edge_weight) <= most
    if kind == "full" and "just" in width:
        assert found.total_vertex_weight == most
        assert found.is_large == (width == "just wide")
    engines = [{"backend": name, "threads": 1} for name in ("cpu", "kokkos-openmp")]
    assert len(supporting(engines, found)) == (1 if found.is_large else 2)


IN_TWO = np.where(np.arange(36) % 36 < 18, 0, np.arange(36) % 2 + 1).astype(np.int32)
CHANGES: list[tuple[dict[str, object], str | None]] = [
    ({}, None),
    ({"cut": -1}, "cut"),
    ({"limits": np.full(4, 10, np.int64)}, "limits"),
    ({"ideals": np.full(4, 8, np.int64)}, "imbalance"),
    ({"ideals": np.full(4, 8, np.int64)}, "ideals"),
    ({"parts": np.arange(36) % 4}, "parts"),
    ({"parts": np.arange(36, dtype=np.int32)}, "parts"),
    ({"parts": np.zeros(35, np.int32)}, "parts"),
    ({"parts": np.zeros(36, np.int32)}, "cut"),
    ({"parts": np.zeros(36, np.int32)}, "feasible"),
    ({"parts": np.zeros(36, np.int32), "limits": np.full(4, 40, np.int64)}, "feasible is correct"),
    ({"parts": IN_TWO}, "disconnected"),
    ({"disconnected": {0: "a reason"}}, "disconnected"),
]


@pytest.mark.parametrize(("change", "check"), CHANGES)
def test_wrong_partitions_are_found(change: dict[str, Any], check: str | None) -> None:
    result, (ideals, limits) = replace(balanced(), **change), oracles.limits_of(36, 4, 0.0)
    found = wrong(recount.partition(GRID, result, 4, ideals, limits))
    if "parts" not in found:
        loads = oracles.weights_of(GRID, result.parts, 4)
        found |= wrong([recount.kept(GRID, loads, 9), recount.disconnected(result)])
    assert check in found if check else not found


@pytest.mark.parametrize("number", ["communication_volume", "pieces", "isolated_vertices"])
def test_wrong_numbers_of_a_result_are_found(number: str) -> None:
    """The cached numbers of a result differ from those of its parts."""
    result = replace(balanced())
    result.__dict__[number] = getattr(result, number) + 1
    found = wrong(recount.partition(GRID, result, 4, *oracles.limits_of(36, 4, 0.0)))
    assert found & {"volume", "pieces", "isolated"}


def test_wrong_subgraphs_and_evaluations_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    result = balanced()
    assert not wrong([*subgraph(result, 1, 1), *evaluated(GRID, result)])
    another, of_others = result.subgraph(0, 1), jetpy.evaluate(GRID, IN_TWO, 4)
    monkeypatch.setattr(jetpy.Partition, "subgraph", lambda *_: another)
    monkeypatch.setattr(jetpy, "evaluate", lambda *_: of_others)
    assert {"subgraph ids", "subgraph edges"} <= wrong(subgraph(result, 1, 1))
    assert wrong(evaluated(GRID, result)) == {"evaluated"}


def test_wrong_parts_of_concurrent_calls_are_found() -> None:
    """The problem returns different parts each time."""

    class Changing:
        answers: Iterator[int] = count()

        def parts(self, engine: Engine) -> oracles.Parts:
            return np.full(3, next(self.answers), np.int32)

        def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
            return iter(())

    interval = sys.getswitchinterval()
    assert wrong(Calls([Changing(), Changing()]).findings(ENGINES)) == {"alone and at once agree"}
    assert sys.getswitchinterval() == interval


def test_printing_and_exceptions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        os.write(1, b"a word")
        raise ZeroDivisionError

    monkeypatch.setattr("tests.fuzz.runs.draw", fails)
    assert wrong(run(0, 1).findings) == {"nothing printed", "no exception"}


def test_not_covered_lists_the_missing_choices() -> None:
    """After one covered choice, all others are missing."""
    assert "objective=volume" in not_covered([])
    assert "objective=volume" not in not_covered([("objective", "volume")])
    assert len(not_covered([("objective", "volume")])) == len(KNOWN) - 1
    assert {Finding(check).check for check in CHECKS} == {
        item for what, item in KNOWN if what == "check"
    }


def test_oracles_on_small_examples() -> None:
    weights = np.array([3, 3, 2, 2, 2], np.int32)
    assert oracles.packed(weights, 2).tolist() == [0, 1, 0, 1, 0]
    assert oracles.limit_of(12, 2, 0.1) == 6
    assert oracles.limit_of(10**9, 1, 0.03) == 1_030_000_000
    assert oracles.limit_of(2**32, 2, 3.0) == 2**32
    assert oracles.limit_of_pes(13, 2, 0.1) == 8
    assert [a.tolist() for a in oracles.limits_of(12, 2, 0.5, [1, 2])] == [[4, 8], [6, 12]]
    path = jetpy.generators.grid(5, 1)
    parts = np.array([0, 1, 0, 0, 1], np.int32)
    assert oracles.components_of(path, parts).tolist() == [0, 1, 2, 2, 4]
    assert oracles.pieces_of(path, parts, 3).tolist() == [2, 2, 0]
    assert oracles.sent(path, parts).tolist() == [[0, 1], [1, 0], [2, 1], [3, 1], [4, 0]]
