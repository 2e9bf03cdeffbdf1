"""Processes played by threads: all that several do, without a launcher."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import numpy as np

from jetpy.distributed.communicator import Communicator, Counts
from jetpy.engines.base import Array, Backend

T = TypeVar("T")
PATIENCE = 60
"""Seconds after which a thread that waits for others gives up."""


class ThreadCommunicator(Communicator):
    """One thread of several."""

    def __init__(self, rank: int, size: int, table: list[Any], barrier: Barrier) -> None:
        self.rank, self.size = rank, size
        self._table, self._barrier = table, barrier

    def allgather_objects(self, value: Any) -> list[Any]:
        """Return the values of all threads."""
        self._table[self.rank] = value
        self._barrier.wait(PATIENCE)
        found = list(self._table)
        self._barrier.wait(PATIENCE)
        return found

    def allreduce(self, backend: Backend, *arrays: Array) -> None:
        """Replace arrays, in place, by the sums of those of all threads."""
        for array in arrays:
            sums = self.allgather_objects(backend.to_host(array).copy())
            array[:] = backend.from_host(np.sum(sums, axis=0, dtype=array.dtype))

    def allgather(self, backend: Backend, array: Array, found: Array) -> None:
        """Put the arrays of all threads, of equal lengths, into one, one after the other."""
        found[:] = backend.from_host(np.concatenate(self._arrays_of_all(backend, array)))

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the arrays of all threads, one after the other."""
        return backend.from_host(np.concatenate(self._arrays_of_all(backend, array)))

    def alltoallv(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Hand each thread its share, and put what this one is handed into an array."""
        assert len(array) == sent.sum()
        shares = np.split(backend.to_host(array).copy(), np.cumsum(sent)[:-1])
        handed = [given[self.rank] for given in self.allgather_objects(shares)]
        assert [len(share) for share in handed] == list(received)
        found[:] = backend.from_host(np.concatenate(handed))

    def _arrays_of_all(self, backend: Backend, array: Array) -> list[Any]:
        return self.allgather_objects(backend.to_host(array).copy())

    def alltoall(self, sent: Counts) -> Counts:
        """Return how much each thread sends to this one."""
        return np.array([given[self.rank] for given in self.allgather_objects(sent)])

    def abort(self) -> None:
        """Let the others wait no longer."""
        self._barrier.abort()


def side_by_side(size: int, work: Callable[[Communicator], T]) -> list[T]:
    """Return what some work returns in each of so many threads."""
    table, barrier = [None] * size, Barrier(size)

    def run(rank: int) -> T:
        try:
            return work(ThreadCommunicator(rank, size, table, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(run, rank) for rank in range(size)]
        errors = [e for e in (future.exception() for future in futures) if e is not None]
        if errors:
            raise next((e for e in errors if "Barrier" not in type(e).__name__), errors[0])
        return [future.result() for future in futures]
