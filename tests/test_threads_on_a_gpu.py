"""Python threads that share a GPU; skipped without one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import jetpy
from tests.switching import switching_often

GRAPH = jetpy.generators.delaunay(60_000, seed=1)
K = 8


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return jetpy.partition(GRAPH, K, backend="cpu", threads=1).parts


@contextmanager
def meanwhile(work: Any) -> Iterator[list[str]]:
    """Let another thread repeat `work`; yield the list of its errors."""
    over, errors = threading.Event(), list[str]()

    def repeat() -> None:
        while not over.is_set():
            try:
                work()
            except Exception as error:
                errors.append(str(error))

    other = threading.Thread(target=repeat)
    other.start()
    try:
        yield errors
    finally:
        over.set()
        other.join()


def test_concurrent_runs_on_one_gpu_give_equal_parts(cupy: Any, expected: np.ndarray) -> None:
    rows = cupy.asarray(GRAPH.indptr), cupy.asarray(GRAPH.indices)

    def run(number: int) -> np.ndarray:
        backend: Any = "cuda" if number % 4 else "cpu"
        return jetpy.partition(rows, K, backend=backend).parts

    with switching_often(), ThreadPoolExecutor(6) as callers:
        for parts in callers.map(run, range(12)):
            assert np.array_equal(parts, expected)


def test_other_threads_may_use_the_default_stream(cupy: Any, expected: np.ndarray) -> None:
    numbers = cupy.ones(1 << 16, np.int32)
    with meanwhile(lambda: int(numbers.sum())) as errors:
        for _ in range(5):
            found = jetpy.partition(GRAPH, K, backend="cuda").parts
            assert np.array_equal(found, expected)
    assert not errors
