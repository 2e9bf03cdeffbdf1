"""The processes that find one partition together. Each of them has the whole graph."""

from __future__ import annotations

from typing import Any, Protocol

from jetpy.engines.base import Array, Backend


class Processes(Protocol):
    """Several processes; `jetpy.distributed.communicator.Communicator` implements this.

    All processes call every method in the same order.

    Attributes
    ----------
    rank, size : int
        Rank of this process, and number of processes.
    """

    rank: int
    size: int

    def allgather_objects(self, value: Any) -> list[Any]:
        """Return the small objects of all processes, in rank order."""

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the concatenated arrays of all processes, in rank order. Lengths may differ."""


class OneProcess(Processes):
    """A single process."""

    rank, size = 0, 1

    def allgather_objects(self, value: Any) -> list[Any]:
        """Return a list of `value` alone."""
        return [value]

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return `array`."""
        return array


ALONE = OneProcess()
