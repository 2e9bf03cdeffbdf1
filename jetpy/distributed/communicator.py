"""Communication between processes: sums, exchanges and gathers of back-end arrays."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from jetpy.device.processes import Processes
from jetpy.engines.base import Array, Backend
from jetpy.lazy import cached_property

Counts = npt.NDArray[np.int64]
T = TypeVar("T")
NAP, SHARE_OF_NAP = 0.02, 0.1
"""A process that sleeps looks at the barrier after NAP seconds, or earlier in the beginning: after
this share of the time that it has waited."""


class Communicator(Processes, ABC):
    """The processes of a run, each with a piece of the graph.

    Every method is collective: all processes call it, in the same order. Arrays have one dimension
    and are stored on the back end given as the first argument.

    Attributes
    ----------
    is_between_gpus : bool
        Whether all processes have a GPU, and `allreduce`, `allgather` and `alltoallv` run there in
        launch order, so that they can be captured among launches (`Backend.perform`).
    transport : {"nccl", "mpi", "none"}
        Library that transfers the arrays.
    """

    is_between_gpus: bool = False
    transport: str = "none"

    @abstractmethod
    def allreduce(self, backend: Backend, *arrays: Array) -> None:
        """Replace arrays of one type, in place, by their sums over all processes."""

    @abstractmethod
    def allgather(self, backend: Backend, array: Array, found: Array) -> None:
        """Write the arrays of all processes, of equal length, to `found`, in rank order."""

    @abstractmethod
    def alltoallv(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Send ``sent[0]`` entries of `array` to rank 0, the next ``sent[1]`` to rank 1, and so on.

        Write the received entries to `found`, ``received[r]`` from rank r, in rank order.
        """

    def exchange(self, backend: Backend, array: Array, sent: Counts, received: Counts) -> Array:
        """Exchange entries as in `alltoallv`, and return the received ones."""
        found = backend.xp.empty(int(received.sum()), array.dtype)
        self.alltoallv(backend, backend.xp.ascontiguousarray(array), found, sent, received)
        return found

    @abstractmethod
    def alltoall(self, sent: Counts) -> Counts:
        """Return the number of entries from each rank, given the number `sent` to each rank."""

    @abstractmethod
    def abort(self) -> None:
        """End all processes at once; do nothing if there is only one."""

    @property
    def neighbours(self) -> tuple[int, int]:
        """Rank of this process among those on its machine, and their number."""
        return 0, 1

    def allgather_on_machine(self, value: T) -> list[T]:
        """Return the small objects of the processes on this machine, in rank order."""
        return [value]

    def sleep_until_all(self) -> None:
        """Wait until all processes call this method, without taking a processor."""

    def totals(self, *numbers: int) -> list[int]:
        """Return the sum of each number over all processes."""
        return [sum(column) for column in zip(*self.allgather_objects(numbers), strict=True)]

    def send(self, backend: Backend, array: Array, sent: Counts) -> tuple[Array, Counts]:
        """Exchange entries as in `exchange`; return the received ones and their counts by rank."""
        received = self.alltoall(sent)
        return self.exchange(backend, array, sent, received), received


class SelfCommunicator(Communicator):
    """A single process."""

    def allreduce(self, backend: Backend, *arrays: Array) -> None:
        """Do nothing: the sum over one process is its array."""

    def allgather(self, backend: Backend, array: Array, found: Array) -> None:
        """Copy `array` to `found`."""
        found[:] = array

    def alltoallv(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Copy `array` to `found`."""
        found[:] = array

    def alltoall(self, sent: Counts) -> Counts:
        """Return `sent`."""
        return sent

    def abort(self) -> None:
        """Do nothing."""


class MpiCommunicator(Communicator):
    """Processes started by MPI; arrays on GPUs are copied through the host.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    """

    transport = "mpi"

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI

        self._mpi, self.mpi_comm = MPI, comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()

    def allreduce(self, backend: Backend, *arrays: Array) -> None:
        """Replace arrays, in place, by their sums over all processes."""
        hosts = [backend.to_host(array) for array in arrays]
        sums = hosts[0] if len(hosts) == 1 else np.concatenate(hosts)
        self.mpi_comm.Allreduce(self._mpi.IN_PLACE, sums, op=self._mpi.SUM)
        if len(hosts) == 1:
            _hand_back(backend, sums, arrays[0])
            return
        for array, own in zip(arrays, np.split(sums, np.cumsum([*map(len, hosts)])), strict=False):
            array[:] = backend.from_host(own)

    def allgather(self, backend: Backend, array: Array, found: Array) -> None:
        """Write the arrays of all processes, of equal length, to `found`, in rank order."""
        on_host = _room_for(backend, found)
        self.mpi_comm.Allgather(backend.to_host(array), on_host)
        _hand_back(backend, on_host, found)

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the concatenated arrays of all processes, in rank order. Lengths may differ."""
        host = backend.to_host(array)
        counts = np.array(self.mpi_comm.allgather(len(host)))
        gathered = np.empty(counts.sum(), host.dtype)
        self.mpi_comm.Allgatherv(np.ascontiguousarray(host), [gathered, counts])
        return backend.from_host(gathered)

    def alltoallv(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Send each rank its entries, and write the received ones to `found`."""
        on_host = _room_for(backend, found)
        self.mpi_comm.Alltoallv([backend.to_host(array), sent], [on_host, received])
        _hand_back(backend, on_host, found)

    def alltoall(self, sent: Counts) -> Counts:
        """Return the number of entries from each rank."""
        received = np.empty_like(sent)
        self.mpi_comm.Alltoall(sent, received)
        return received

    def allgather_objects(self, value: Any) -> list[Any]:
        """Return the small objects of all processes, in rank order."""
        objects: list[Any] = self.mpi_comm.allgather(value)
        return objects

    def totals(self, *numbers: int) -> list[int]:
        """Return the sum of each number over all processes."""
        sums = np.array(numbers, np.int64)
        self.mpi_comm.Allreduce(self._mpi.IN_PLACE, sums, op=self._mpi.SUM)
        found: list[int] = sums.tolist()
        return found

    def abort(self) -> None:
        """End all processes at once."""
        self.mpi_comm.Abort(1)

    @cached_property
    def neighbours(self) -> tuple[int, int]:
        """Rank of this process among those on its machine, and their number."""
        ranks = self.allgather_on_machine(self.rank)
        return ranks.index(self.rank), len(ranks)

    def allgather_on_machine(self, value: T) -> list[T]:
        """Return the small objects of the processes on this machine, in rank order."""
        local = self.mpi_comm.Split_type(self._mpi.COMM_TYPE_SHARED)
        values: list[T] = local.allgather(value)
        local.Free()
        return values

    def sleep_until_all(self) -> None:
        """Wait until all processes call this method, without taking a processor."""
        barrier, began = self.mpi_comm.Ibarrier(), time.perf_counter()
        while not barrier.Test():
            time.sleep(min(NAP, SHARE_OF_NAP * (time.perf_counter() - began)))


def _room_for(backend: Backend, array: Array) -> npt.NDArray[Any]:
    """Return a host array for the content of `array`, or `array` itself if it is on the host."""
    return np.empty(len(array), array.dtype) if backend.copies else array


def _hand_back(backend: Backend, host: npt.NDArray[Any], array: Array) -> None:
    if backend.copies:
        array[:] = backend.from_host(host)


def starts_of(counts: Sequence[int] | Counts) -> Counts:
    """Return the exclusive prefix sums of counts, then the total, int64.

    >>> starts_of([3, 0, 2]).tolist()
    [0, 3, 3, 5]
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
