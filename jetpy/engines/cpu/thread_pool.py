"""Threads of a back end: started when first needed, dismissed with the back end."""

from __future__ import annotations

import ctypes
import struct
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

import numpy as np

from jetpy.engines.cpu import FOR
from jetpy.engines.cpu.compiling import scheduler
from jetpy.engines.cpu.scheduler import LINE, WORD, bytes_of
from jetpy.engines.threads import after_fork, available_threads, fork_safe_lock

_pools: WeakSet[ThreadPool] = WeakSet()
_is_lost = False
"""Whether a fork left this process without the threads of its parent's pools."""


@after_fork
def _lose_pools() -> None:
    global _is_lost
    _is_lost = _is_lost or any(pool.is_at_work for pool in _pools)
    if _is_lost:
        for pool in _pools:
            pool.threads = pool.width = 1
    _runs.clear()


class ThreadPool:
    """Threads that share launches (`scheduler`). The thread that launches is one of them.

    Parameters
    ----------
    threads : int

    Attributes
    ----------
    threads : int
        Number of threads; 1 in a child forked from a process with a pool at work.
    width : int
        Maximum threads of a launch: fewer while other runs use the processors, too.
    address : int
        Address of the shared words.
    is_at_work : bool
        Whether threads have been started.
    """

    def __init__(self, threads: int) -> None:
        self.threads = self.width = 1 if _is_lost else threads
        self._words = np.zeros((bytes_of(threads) + LINE) // WORD, np.int64)
        self.address = -(-self._words.ctypes.data // LINE) * LINE
        self._workers: list[threading.Thread] = []
        self._starting = fork_safe_lock()
        _pools.add(self)

    @property
    def is_at_work(self) -> bool:
        """Whether threads have been started."""
        return bool(self._workers)

    def call(self) -> None:
        """Start threads until there are `width` of them, or the system starts no more."""
        if len(self._workers) + 1 < self.width:
            with self._starting:
                self._start()

    def fill(self, address: int, count: int, word: int) -> None:
        """Store a word in `count` words from `address` on; threads share them like indices.

        Most memory is thus first written by the thread that uses it in launches, which decides the
        socket that it is on.
        """
        self.call()
        functions, block = scheduler(), struct.pack("3q", count, address, word)
        function = ctypes.cast(functions["fill"], ctypes.c_void_p).value
        functions["launch"](self.address, self.width, function, FOR, block)

    def _start(self) -> None:
        functions, workers = scheduler(), self._workers
        if not workers:
            functions["found"](self.address, self.threads)
            dismiss = functions["dismiss"]
            weakref.finalize(self, _dismiss, dismiss, self.address, workers, self._words)
        for number in range(len(workers) + 1, self.width):
            given = self.address, number
            worker = threading.Thread(target=functions["serve"], args=given, daemon=True)
            try:
                worker.start()
            except RuntimeError:
                self.threads = self.width = number
                break
            workers.append(worker)


def _dismiss(
    function: ctypes._FuncPointer, address: int, workers: list[threading.Thread], words: object
) -> None:
    """Dismiss the threads in the process that owns them; `words` must live until they end."""
    if all(worker.is_alive() for worker in workers):
        function(address, 1 + len(workers))
        for worker in workers:
            worker.join()


_runs: Counter[ThreadPool] = Counter()
"""The pools of current runs, and how many times each has been entered."""
_counting = fork_safe_lock()


@contextmanager
def in_a_run(pool: ThreadPool) -> Iterator[None]:
    """Reserve a share of the processors for the launches of a pool within the context.

    A single run has all threads that it requested. Several runs divide the processors in proportion
    to their requests, so that they do not wait for each other's threads.
    """
    _enter(pool, 1)
    try:
        yield
    finally:
        _enter(pool, -1)


def _enter(pool: ThreadPool, times: int) -> None:
    with _counting:
        _runs[pool] = max(0, _runs[pool] + times)
        if not _runs[pool]:
            del _runs[pool]
            pool.width = pool.threads
        wanted = sum(one.threads for one in _runs)
        for one in _runs:
            one.width = share_of(one.threads, wanted, available_threads())


def share_of(threads: int, wanted: int, processors: int) -> int:
    """Return the number of threads of a run that requests `threads` of the `wanted` of all runs.

    >>> share_of(4, 4, 2), share_of(2, 32, 16), share_of(16, 17, 16), share_of(1, 17, 16)
    (4, 1, 15, 1)
    """
    if threads == wanted:
        return threads
    return max(1, min(threads, processors * threads // wanted))
