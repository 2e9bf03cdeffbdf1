"""`bench.determinism`: hashes of all cases, and runs that differ."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jetpy
from bench import determinism
from bench.determinism import WEIGHTS, cases, digest
from jetpy.study.arrays import save_arrays

GRID = jetpy.generators.grid(30, 40)
OPTIONS = Namespace(
    ks=["3"],
    presets=["fast"],
    modifiers=["5"],
    batches=2,
    hierarchies=["2:2"],
    methods=["im"],
    orderings=["fast", "default"],
    separators=["fast"],
    weights=["unit", "random"],
)
CASES = [
    *(("3", "fast"), ("3", "5 modifiers"), ("2:2", "im")),
    *(("ordering", "fast"), ("ordering", "default"), ("separator", "fast")),
]


def hashes(weights: str, threads: int) -> dict[tuple[str, str], str]:
    engine = {"backend": "cpu", "threads": threads, "seed": 1}
    graph = WEIGHTS[weights].apply(GRID, "g")
    return {case: digest(solve(graph, engine)) for case, solve in cases(OPTIONS, weights).items()}


def test_hashes_of_all_cases() -> None:
    unit, random = (hashes(weights, 1) for weights in OPTIONS.weights)
    assert list(unit) == CASES
    assert list(random) == [case for case in CASES if case[0] != "ordering"]
    assert len({*unit.values(), *random.values()}) == len(unit) + len(random)
    assert hashes("unit", 2) == unit


def answering(differing: str) -> Callable[..., Iterator[dict[str, Any]]]:
    """Return `bench.child.apart` without a child; a run has another hash in one case."""

    def answers(hashes: Any, folder: str, backend: str, *_: Any, **__: Any) -> Iterator[Any]:
        for task in ("ordering", "separator"):
            is_equal = task == "ordering" or backend != differing
            yield {"case": ("g", "unit", task, "fast"), "hash": "same" if is_equal else "other"}

    return answers


@pytest.mark.parametrize(("differing", "equal"), [("none", 2), ("kokkos-openmp", 1)])
def test_runs_that_differ_are_found(
    differing: str,
    equal: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    jetpy.write_graph(tmp_path / "g.npz", GRID)
    monkeypatch.setattr(determinism, "apart", answering(differing))
    command = ["", "--graphs", str(tmp_path), "--presets", "--runs", "cpu:2", "kokkos-openmp"]
    monkeypatch.setattr(sys, "argv", [*command, "--orderings", "fast", "--separators", "fast"])
    with pytest.raises(SystemExit) as end:
        determinism.main()
    assert end.value.code == (equal < 2)
    assert f"{equal} of 2 cases equal in 2 runs: cpu:2, kokkos-openmp" in capsys.readouterr().out


def test_child_answers_with_a_hash_for_each_graph_and_case(tmp_path: Path) -> None:
    save_arrays(tmp_path / "g", GRID)
    options = {**vars(OPTIONS), "seed": 1, "ks": ["3"], "weights": ["unit"]}
    found = {
        tuple(own["case"][2:]): own["hash"]
        for own in determinism.hashes(str(tmp_path), "cpu", 1, options)
    }
    assert found == hashes("unit", 1)
