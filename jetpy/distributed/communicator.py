"""What processes say to each other: sums, exchanges and gathers of arrays of a back end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Array, Backend
from jetpy.lazy import cached_property

Counts = npt.NDArray[np.int64]


class Communicator(ABC):
    """The processes of a run, each with a piece of the graph.

    Every method is called by all of them, in the same order. Arrays are one-dimensional, of the
    back end that they are given with.

    Attributes
    ----------
    rank : int
        Number of this process.
    size : int
        How many there are.
    is_between_gpus : bool
        Whether all processes have a GPU, and `allreduce`, `allgather` and `alltoallv` go there
        as launches do, so that they can be recorded among these (`Backend.perform`).
    transport : {"nccl", "mpi", "none"}
        What arrays go through.
    """

    rank: int
    size: int
    is_between_gpus: bool = False
    transport: str = "none"

    @abstractmethod
    def allreduce(self, backend: Backend, *arrays: Array) -> None:
        """Replace arrays, in place, by the sums of those of all processes."""

    @abstractmethod
    def allgather(self, backend: Backend, array: Array, found: Array) -> None:
        """Put the arrays of all processes, of equal lengths, into one, one after the other."""

    @abstractmethod
    def alltoallv(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Hand `sent[0]` entries to process 0, the next `sent[1]` to process 1, and so on.

        What this one is handed is in `found` then, in order of the processes; `received` says how
        much.
        """

    def exchange(self, backend: Backend, array: Array, sent: Counts, received: Counts) -> Array:
        """Do what `alltoallv` does, and return what this process is handed."""
        found = backend.xp.empty(int(received.sum()), array.dtype)
        self.alltoallv(backend, backend.xp.ascontiguousarray(array), found, sent, received)
        return found

    @abstractmethod
    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the arrays of all processes, one after the other."""

    @abstractmethod
    def alltoall(self, sent: Counts) -> Counts:
        """Return how much each process sends to this one, given what this one does to each."""

    @abstractmethod
    def allgather_objects(self, value: Any) -> list[Any]:
        """Return the small objects of all processes."""

    @abstractmethod
    def abort(self) -> None:
        """End all processes at once, if there are others."""

    @property
    def neighbours(self) -> tuple[int, int]:
        """Number of this process among those on its machine, and how many these are."""
        return 0, 1

    def totals(self, *numbers: int) -> list[int]:
        """Return the sum of each number over all processes."""
        return [sum(column) for column in zip(*self.allgather_objects(numbers), strict=True)]

    def send(self, backend: Backend, array: Array, sent: Counts) -> tuple[Array, Counts]:
        """Do what `exchange` does where nobody knows yet how much is received; return that, too."""
        received = self.alltoall(sent)
        return self.exchange(backend, array, sent, received), received


class SelfCommunicator(Communicator):
    """A single process."""

    rank, size = 0, 1

    def allreduce(self, backend: Backend, *arrays: Array) -> None:
        """Leave them as they are."""

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return it."""
        return array

    def allgather(self, backend: Backend, array: Array, found: Array) -> None:
        """Copy it."""
        found[:] = array

    def alltoallv(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Copy it."""
        found[:] = array

    def alltoall(self, sent: Counts) -> Counts:
        """Return them."""
        return sent

    def allgather_objects(self, value: Any) -> list[Any]:
        """Return it alone."""
        return [value]

    def abort(self) -> None:
        """Do nothing."""


class MpiCommunicator(Communicator):
    """Processes that MPI has started; arrays of GPUs go through their hosts.

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
        """Replace arrays, in place, by the sums of those of all processes."""
        for array in arrays:
            host = backend.to_host(array)
            self.mpi_comm.Allreduce(self._mpi.IN_PLACE, host, op=self._mpi.SUM)
            _hand_back(backend, host, array)

    def allgather(self, backend: Backend, array: Array, found: Array) -> None:
        """Put the arrays of all processes, of equal lengths, into one, one after the other."""
        handed = _room_for(backend, found)
        self.mpi_comm.Allgather(backend.to_host(array), handed)
        _hand_back(backend, handed, found)

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the arrays of all processes, one after the other."""
        host = backend.to_host(array)
        counts = np.array(self.mpi_comm.allgather(len(host)))
        gathered = np.empty(counts.sum(), host.dtype)
        self.mpi_comm.Allgatherv(np.ascontiguousarray(host), [gathered, counts])
        return backend.from_host(gathered)

    def alltoallv(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Hand each process its share, and put what this one is handed into an array."""
        handed = _room_for(backend, found)
        self.mpi_comm.Alltoallv([backend.to_host(array), sent], [handed, received])
        _hand_back(backend, handed, found)

    def alltoall(self, sent: Counts) -> Counts:
        """Return how much each process sends to this one."""
        received = np.empty_like(sent)
        self.mpi_comm.Alltoall(sent, received)
        return received

    def allgather_objects(self, value: Any) -> list[Any]:
        """Return the small objects of all processes."""
        found: list[Any] = self.mpi_comm.allgather(value)
        return found

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
        """Number of this process among those on its machine, and how many these are."""
        local = self.mpi_comm.Split_type(self._mpi.COMM_TYPE_SHARED)
        found = local.Get_rank(), local.Get_size()
        local.Free()
        return found


def _room_for(backend: Backend, array: Array) -> npt.NDArray[Any]:
    """Return an array of the host for the contents of one: the same, if that is of the host."""
    return np.empty(len(array), array.dtype) if backend.copies else array


def _hand_back(backend: Backend, host: npt.NDArray[Any], array: Array) -> None:
    if backend.copies:
        array[:] = backend.from_host(host)


def starts_of(counts: Sequence[int] | Counts) -> Counts:
    """Return where each of some counts begins, and their sum at the end (int64).

    >>> starts_of([3, 0, 2]).tolist()
    [0, 3, 3, 5]
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
