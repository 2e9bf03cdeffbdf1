"""The thread pool, and captured programs of launches that run without the interpreter."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from jetpy.device.selfcheck import Tallies
from jetpy.engines.base import Count
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.cpu.scheduler import GRAIN, LARGEST, MAX_PIECES, SMALLEST
from jetpy.workloads.common import selfcheck

SIZES = (
    GRAIN,
    2 * GRAIN - 1,
    2 * GRAIN,
    7 * SMALLEST + 1,
    SMALLEST * MAX_PIECES,
    SMALLEST * MAX_PIECES + 1,
    1_000_003,
    LARGEST * MAX_PIECES + 1,
)


def check_totals(backend: CpuBackend, n: int) -> None:
    numbers = np.arange(n, dtype=np.int32) % 71 - 30
    starts = backend.empty(n, np.int64)
    assert backend.reduce(n, selfcheck.add_up, numbers=numbers) == numbers.sum()
    assert backend.scan(n, selfcheck.offset, numbers=numbers, starts=starts) == numbers.sum()
    assert (starts == np.cumsum(numbers) - numbers).all()


@pytest.mark.parametrize("threads", [2, 5, 64])
def test_totals_at_sizes_around_the_thresholds(threads: int) -> None:
    backend = CpuBackend(threads)
    for n in SIZES:
        check_totals(backend, n)


def test_sleeping_workers_are_woken() -> None:
    backend = CpuBackend(3)
    for _ in range(4):
        check_totals(backend, 100_000)
        time.sleep(0.02)


def test_concurrent_callers_get_correct_totals() -> None:
    """One caller uses the pool; the others run serially meanwhile."""
    backend = CpuBackend(2)
    with ThreadPoolExecutor(4) as leaders:
        for done in [leaders.submit(check_totals, backend, 300_000) for _ in range(40)]:
            done.result()


def test_pool_ends_with_its_back_end() -> None:
    gc.collect()
    before = threading.active_count()
    backend = CpuBackend(4)
    assert threading.active_count() == before
    check_totals(backend, 5 * GRAIN)
    assert threading.active_count() == before + 3
    del backend
    gc.collect()
    assert threading.active_count() == before


def test_process_exits_while_workers_wait() -> None:
    code = (
        "import sys, numpy as np\n"
        "from jetpy.device.backends import get_backend\n"
        "from jetpy.workloads.common import selfcheck\n"
        "backend = get_backend('cpu', 4)\n"
        "numbers = np.ones(10**5, np.int32)\n"
        "sys.exit(backend.reduce(10**5, selfcheck.add_up, numbers=numbers) - 99_995)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 5


def test_pool_continues_with_the_threads_that_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []

    def start(
        thread: threading.Thread, begin: Callable[..., None] = threading.Thread.start
    ) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    backend = CpuBackend(6)
    check_totals(backend, 100_000)
    assert backend.threads == 3


# Captured launches


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("most", [1, 2, 100])
def test_captured_program_reads_counts_at_launch_and_repeats(threads: int, most: int) -> None:
    """The program repeats until the end flag is set."""
    backend, length = CpuBackend(threads), 5000
    state = np.zeros(3, np.int64)
    state[0] = length
    count, total, end = (Count(state, place) for place in range(3))
    numbers, starts = np.ones(length, np.int32), np.zeros(length, np.int64)

    def launch() -> None:
        backend.scan_into(total, count, selfcheck.offset, numbers=numbers, starts=starts)
        backend.scan_into(end, total, selfcheck.offset, numbers=numbers, starts=starts)

    play = backend.capture(launch, end, most)
    assert state.tolist() == [length, 0, 0]
    before = backend.launches
    play()
    assert state.tolist() == [length] * 3
    assert starts.tolist() == list(range(length))
    assert backend.launches == before + 2
    numbers[:] = 0
    play()
    assert state.tolist() == [length, 0, 0]
    assert backend.launches == before + 2 + 2 * most


@pytest.mark.parametrize("n", [0, 1, 2, 3, 40, MAX_PIECES + 5])
def test_run_tasks_runs_every_index(n: int) -> None:
    """Even a few indices are shared among threads."""
    for threads in (1, 2, 5):
        backend = CpuBackend(threads)
        numbers, sums = np.arange(n, dtype=np.int32), np.zeros(7, np.int64)
        doubled, least, most = (np.zeros(max(n, 7), np.int32) for _ in range(3))
        tallies = Tallies(doubled, sums, least, most)
        backend.run_tasks(n, selfcheck.tally, numbers=numbers, tallies=tallies, buckets=7)
        assert doubled[:n].tolist() == (2 * numbers).tolist()
        assert backend.launches == 1
