"""Forked and other processes, started before and after jetpy's threads."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import jetpy
from jetpy.device.backends import get_backend
from jetpy.device.selfcheck import Tallies
from jetpy.engines.base import Backend
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.workloads.common import selfcheck as kernels
from tests.children import ensure, run_in_child, run_python
from tests.device_backend import DeviceBackend

GRID = jetpy.generators.grid(240, 240)  # large enough for several threads on its finest levels


def partition(seed: int) -> tuple[int, int]:
    """Return the number of threads of a run and its cut."""
    result = jetpy.partition(GRID, 4, seed=seed, backend="cpu", threads=2)
    return result.threads, result.cut


@pytest.fixture(scope="module")
def cuts() -> list[int]:
    """Return the cuts of the first three seeds with two threads in this process."""
    found = [partition(seed) for seed in range(3)]
    assert [used for used, _ in found] == [2, 2, 2]
    return [cut for _, cut in found]


@pytest.mark.parametrize(
    ("pool", "method"),
    [
        ("multiprocessing", "fork"),
        ("concurrent", "fork"),
        ("multiprocessing", "spawn"),
        ("concurrent", "forkserver"),
    ],
)
def test_process_pools_find_the_same_cuts(
    cuts: list[int], pool: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # new processes import this module
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    context = multiprocessing.get_context(method)
    if pool == "multiprocessing":
        with context.Pool(1) as workers:
            found = workers.map_async(partition, range(3)).get(timeout=100)
    else:
        with ProcessPoolExecutor(1, mp_context=context) as executor:
            found = list(executor.map(partition, range(3), timeout=100))
    used = 1 if method == "fork" else 2
    assert found == [(used, cut) for cut in cuts]


def test_session_continues_in_a_forked_process(cuts: list[int]) -> None:
    before = jetpy.IncrementalPartitioner(GRID, 4, backend="cpu", threads=2)
    copy = jetpy.IncrementalPartitioner(GRID, 4, backend="cpu", threads=2)
    edges = [(i, 8099 - i) for i in range(400)]
    expected = copy.insert_edges(edges)

    def child() -> None:
        update = before.insert_edges(edges)
        assert (update.cut, update.action) == (expected.cut, expected.action)
        assert (before.partition == copy.partition).all()
        assert partition(1) == (1, cuts[1])
        run_in_child(lambda: ensure(partition(2) == (1, cuts[2])))

    run_in_child(child)
    assert partition(1) == (2, cuts[1])


@pytest.mark.parametrize("make", [CpuBackend, DeviceBackend])
def test_captured_launches_continue_in_a_forked_process(make: type[CpuBackend]) -> None:
    n, backend = 50_000, make(2)
    numbers = backend.from_host(jetpy.generators.grid(n, 1).vertex_weights)
    sums = backend.full(7, 0, np.int64)
    tallies = Tallies(backend.full(n, 0), sums, backend.full(7, 0), backend.full(7, 0))

    def launch() -> None:
        backend.parallel_for(n, kernels.tally, numbers=numbers, tallies=tallies, buckets=7)

    play = backend.capture(launch)
    play()

    def child() -> None:
        play()
        assert backend.to_host(sums).sum() == 2 * n
        assert backend.threads == 1

    run_in_child(child)
    assert backend.threads == 2


def test_back_ends_of_a_forked_process_have_one_thread(cuts: list[int]) -> None:
    def child() -> None:
        engines: list[Backend] = [get_backend("cpu", count) for count in (None, 2, 5)]
        assert [engine.threads for engine in engines] == [1, 1, 1]
        assert CpuBackend(3).threads == 1

    run_in_child(child)


BEFORE = """
import os
import jetpy
from jetpy.device.backends import get_backend
backend = get_backend("cpu", 2)  # makes no launches
if os.fork() == 0:
    result = jetpy.partition(jetpy.generators.grid(240, 240), 4, backend="cpu", threads=2)
    print(result.threads, result.cut, flush=True)
    if os.fork() == 0:
        result = jetpy.partition(jetpy.generators.grid(240, 240), 4, backend="cpu", threads=2)
        print(result.threads, result.cut, flush=True)
        os._exit(0)
print(os.wait()[1])
"""


def test_fork_before_the_first_launch(cuts: list[int]) -> None:
    done = run_python(BEFORE, check=False)
    assert done.stdout.split() == f"2 {cuts[0]} 1 {cuts[0]} 0 0".split(), done.stderr
