"""`bench.cudss`: the matrix, the calls of a stand-in for cuDSS, and the table."""

from __future__ import annotations

import argparse
import sys
from ctypes import c_int32, string_at
from enum import Enum, auto
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

import jetpy
from bench import cudss
from bench.child import Unavailable
from bench.cudss import CASES, Case, measured, poisson, rows_of

ReorderingAlg = Enum("ReorderingAlg", "DEFAULT NONE NESTED_DISSECTION")


class DataParam(Enum):
    USER_PERM = auto()
    USER_ND_PARTITION_TREE = auto()


class Solver:
    """The part of nvmath's DirectSolver that the benchmark calls."""

    def __init__(self, matrix: Any, right: Any, options: dict[str, Any]) -> None:
        assert options == {"sparse_system_type": "SPD"}
        self.matrix, self.right, self.calls = matrix, right, []  # type: ignore[var-annotated]
        self.plan_config = SimpleNamespace(reordering_algorithm=ReorderingAlg.DEFAULT)
        self.handle, self.data_ptr = 1, {}  # type: ignore[var-annotated]

    def __enter__(self) -> Solver:
        return self

    def __exit__(self, *error: object) -> None:
        assert self.calls == ["plan", "factorize", "factorize", "solve", "solve"]

    def plan(self) -> None:
        self.calls.append("plan")

    def factorize(self) -> SimpleNamespace:
        self.calls.append("factorize")
        return SimpleNamespace(lu_nnz=np.int64(len(self.calls)))

    def solve(self) -> Any:
        self.calls.append("solve")
        return spsolve(self.matrix.tocsc(), self.right)


@pytest.fixture
def solvers(monkeypatch: pytest.MonkeyPatch) -> list[Solver]:
    """Install a stand-in for nvmath-python, and return the list of its future solvers."""
    found = []

    def solver(*arguments: Any, **options: Any) -> Solver:
        sys.modules[solver.__module__]._check_cudss_version()  # type: ignore[attr-defined]
        found.append(Solver(*arguments, **options))
        return found[-1]

    def refuse() -> None:
        raise RuntimeError("nvmath-python requires cuDSS version 0.8")

    solver.__module__ = "nvmath.sparse.advanced.direct_solver"

    def data_set(handle: int, data: dict[DataParam, bytes], key: Any, at: int, size: int) -> None:
        assert handle == 1
        data[key] = string_at(at, size)

    modules: dict[str, dict[str, Any]] = {
        "nvmath": {},
        "nvmath.bindings": {},
        "nvmath.bindings.cudss": {
            "get_property": (1, 0, 0).__getitem__,
            "data_set": data_set,
            "DataParam": DataParam,
            "ReorderingAlg": ReorderingAlg,
        },
        "nvmath.sparse": {},
        "nvmath.sparse.advanced": {
            "DirectSolver": solver,
            "DirectSolverMatrixType": SimpleNamespace(SPD="SPD"),
        },
        solver.__module__: {"_check_cudss_version": refuse},
    }
    for name, values in modules.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    bindings: Any = sys.modules["nvmath.bindings"]
    bindings.cudss = sys.modules["nvmath.bindings.cudss"]
    return found


def test_poisson_problem_on_a_cubic_grid() -> None:
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(4, 4)).toarray()
    one = np.eye(4)
    expected = (
        np.kron(np.kron(line, one), one)
        + np.kron(np.kron(one, line), one)
        + np.kron(np.kron(one, one), line)
    )
    found = poisson(jetpy.generators.cube(4, 4, 4))
    assert np.array_equal(found.toarray(), expected)
    assert (found.has_sorted_indices, found.indices.dtype) == (True, np.int32)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.ordering} {case.levels}")
def test_cudss_gets_the_ordering_of_a_case(case: Case, solvers: list[Solver]) -> None:
    record = measured(case, 6, 1, "cpu")
    assert (record["cudss"], record["entries"]) == ("1.0.0", 3)
    assert record["residual"] < 1e-12
    _, solver = solvers
    data = {key: np.frombuffer(value, c_int32) for key, value in solver.data_ptr.items()}
    algorithm = solver.plan_config.reordering_algorithm
    if case.options is None:
        assert (data, record["ordering_seconds"]) == ({}, None)
        assert algorithm is ReorderingAlg.DEFAULT
        return
    order = jetpy.nested_dissection(jetpy.generators.cube(6, 6, 6), **case.options, threads=1)
    if case.levels is None:
        assert list(data) == [DataParam.USER_PERM]
        assert np.array_equal(data[DataParam.USER_PERM], order.perm)
        assert algorithm is ReorderingAlg.NONE
        return
    for array, expected in zip(data.values(), order.partition_tree(case.levels), strict=True):
        assert np.array_equal(array, expected)
    assert algorithm is ReorderingAlg.NESTED_DISSECTION
    assert solver.plan_config.nd_min_levels == case.levels
    assert 0 < record["largest_part"] <= 216


def test_library_that_does_not_load_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, solvers: list[Solver]
) -> None:
    def fails(part: int) -> int:
        raise RuntimeError("libcudss.so.0 is not there\n  and more")

    monkeypatch.setattr(sys.modules["nvmath.bindings.cudss"], "get_property", fails)
    with pytest.raises(Unavailable, match=r"^libcudss.so.0 is not there$"):
        measured(CASES[0], 6, 1, "cpu")
    assert solvers == []


def test_rows_have_the_order_of_the_cases() -> None:
    seconds = dict.fromkeys(("planning_seconds", "factorization_seconds"), 1.234)
    costs = {**seconds, "solution_seconds": 0.0123, "entries": 9.2e8, "residual": 2.5e-15}
    records = [
        {
            "ordering": case.ordering,
            "levels": case.levels,
            "ordering_seconds": None,
            "largest_part": None if case.levels is None else 12_345,
            **costs,
        }
        for case in CASES[2::-1]
    ]
    end = ["1.23", "1.23", "0.012", "920", "2e-15"]
    assert rows_of(records) == [
        ["cuDSS's own", "", "", "", *end],
        ["default, only its permutation", "", "", "", *end],
        ["default", "10", "12,345", "", *end],
    ]


def test_cases_have_the_setting_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDSS_THREADING_LIB", raising=False)
    options = argparse.Namespace(side=5, threads=2, backend="cpu")
    [cube] = cudss.EXPERIMENT.select(options)
    found = list(cudss.cases(options, cube))
    assert [(own["ordering"], own["levels"]) for own in found] == [
        (case.ordering, case.levels) for case in CASES
    ]
    assert {(own["side"], own["threading_library"]) for own in found} == {(5, False)}
