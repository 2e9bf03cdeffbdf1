"""The processes that work on one graph together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Array, Backend

Costs = npt.NDArray[np.int64]


class Processes:
    """A single process; `jetpy.distributed.communicator.Communicator` has several.

    All processes call every method in the same order.

    Attributes
    ----------
    rank, size : int
        Rank of this process, and number of processes.
    have_whole : bool
        Whether each of them has the whole graph.
    """

    rank, size = 0, 1
    have_whole = True

    def allgather_objects(self, value: Any) -> list[Any]:
        """Return the small objects of all processes, in rank order."""
        return [value]

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the concatenated arrays of all processes, in rank order. Lengths may differ."""
        return array

    def share(self, costs: Costs) -> slice:
        """Return the tasks of this process, given the cost of each task (int64, shape (tasks,)).

        The tasks of a process are consecutive, and all processes have about equal costs.
        """
        starts = shares(costs, self.size)
        return slice(int(starts[self.rank]), int(starts[self.rank + 1]))

    def publish(self, backend: Backend, values: Array, places: Array) -> None:
        """Copy the entries of `values` at the `places` of each process to all others, in place.

        The places of two processes are disjoint.
        """
        if self.size > 1:
            all_values = self.gather(backend, values[places])
            values[self.gather(backend, places)] = all_values


ALONE = Processes()


def shares(costs: Costs, size: int) -> Costs:
    """Return the first task of each process, and the number of tasks: int64, shape (size + 1,).

    A task belongs to the process in whose share of the total cost its middle lies.

    >>> shares(np.array([1, 1, 1, 1, 4]), 2).tolist()
    [0, 4, 5]
    >>> shares(np.array([7]), 3).tolist()
    [0, 0, 1, 1]
    """
    ends = np.cumsum(costs, dtype=np.int64)
    total = int(ends[-1]) if len(costs) else 0
    firsts = [-(-2 * total * rank // size) for rank in range(size)]
    return np.append(np.searchsorted(2 * ends - costs, firsts), len(costs))
