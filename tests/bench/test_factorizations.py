"""`bench.factorizations`: the matrix, its factorization (if CHOLMOD is installed) and the table."""

from __future__ import annotations

from ctypes import CDLL

import numpy as np
import pytest

import jetpy
from bench import factorizations
from bench.child import Unavailable
from bench.factorizations import factorized, laplacian, measured, rows_of
from bench.ordering_tools import BASELINE, Job


def test_laplacian_in_an_order() -> None:
    graph = jetpy.as_graph(([0, 1, 3, 4], [1, 0, 2, 1]))
    dense = laplacian(graph, np.array([2, 0, 1], np.int32)).toarray()
    assert dense.tolist() == [[2, 0, -1], [0, 2, -1], [-1, -1, 3]]


def test_factor_solves_a_system() -> None:
    pytest.importorskip("sksparse.cholmod")
    graph = jetpy.generators.cube(5, 6, 7)
    seconds, residual = factorized(laplacian(graph, np.arange(graph.n, dtype=np.int32)))
    assert seconds > 0
    assert residual < 1e-12


@pytest.mark.usefixtures("compiled")
def test_records_of_available_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []

    def fake(matrix: object) -> tuple[float, float]:
        shapes.append(matrix.shape)  # type: ignore[attr-defined]
        return 0.5, 0.0

    def missing(name: str, mode: int) -> CDLL:
        raise OSError(f"{name} is not there")

    monkeypatch.setattr(factorizations, "factorized", fake)
    monkeypatch.setattr("bench.libraries.CDLL", missing)
    job = Job(jetpy.generators.grid(4, 4), 1, "cpu", ())
    with pytest.raises(Unavailable, match=r"libkahip\.so is not there"):
        measured("kahip", job)
    found = measured("jetpy/minimum_degree", job)
    assert shapes == [(16, 16)]
    assert found["fill"] == jetpy.minimum_degree(job.graph).fill
    assert found["seconds"] == 0.5


def test_rows_divide_by_metis() -> None:
    fixed = {"half": "A", "operations": 12_345_678, "ordering_seconds": 1.234}
    records = [
        {**fixed, "graph": "b", "tool": "amd", "seconds": 3.0},
        {**fixed, "graph": "a", "tool": "amd", "seconds": 3.0},
        {**fixed, "graph": "a", "tool": BASELINE, "seconds": 2.0},
    ]
    assert rows_of(records) == [
        ["a", "A", "amd", "1.235e+07", "1.23", "3.00", "1.500"],
        ["a", "A", BASELINE, "1.235e+07", "1.23", "2.00", "1.000"],
        ["b", "A", "amd", "1.235e+07", "1.23", "3.00", "-"],
    ]
