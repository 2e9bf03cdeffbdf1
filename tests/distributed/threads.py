"""A communicator between threads, which stand in for processes without a launcher."""

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
"""Timeout of a waiting thread in seconds."""


class ThreadCommunicator(Communicator):
    """Communicator of one thread of a group."""

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

    def allgather_on_machine(self, value: T) -> list[T]:
        """Return the values of all threads."""
        return self.allgather_objects(value)

    def allreduce(self, backend: Backend, *arrays: Array) -> None:
        """Replace arrays, in place, by their sums over all threads."""
        for array in arrays:
            sums = self.allgather_objects(backend.to_host(array).copy())
            array[:] = backend.from_host(np.sum(sums, axis=0, dtype=array.dtype))

    def allgather(self, backend: Backend, array: Array, found: Array) -> None:
        """Concatenate the arrays of all threads, which have equal lengths, into `found`."""
        found[:] = backend.from_host(np.concatenate(self._arrays_of_all(backend, array)))

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the concatenated arrays of all threads."""
        return backend.from_host(np.concatenate(self._arrays_of_all(backend, array)))

    def alltoallv(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Send each thread its share of `array`, and put the received shares into `found`."""
        assert len(array) == sent.sum()
        shares = np.split(backend.to_host(array).copy(), np.cumsum(sent)[:-1])
        handed = [given[self.rank] for given in self.allgather_objects(shares)]
        assert [len(share) for share in handed] == list(received)
        found[:] = backend.from_host(np.concatenate(handed))

    def _arrays_of_all(self, backend: Backend, array: Array) -> list[Any]:
        return self.allgather_objects(backend.to_host(array).copy())

    def alltoall(self, sent: Counts) -> Counts:
        """Return the count that each thread sends to this thread."""
        return np.array([given[self.rank] for given in self.allgather_objects(sent)])

    def abort(self) -> None:
        """Release all waiting threads."""
        self._barrier.abort()


def run_on_threads(size: int, work: Callable[[Communicator], T]) -> list[T]:
    """Run `work` on `size` threads and return the results by rank."""
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
