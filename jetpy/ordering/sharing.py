"""Tasks for one thread each that a GPU and the threads of its host share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Backend

SLOWDOWN = 18
"""A GPU takes about this number of times as long for a task as a thread of its host."""
LEAST_SAVED = 4000
"""A GPU takes no tasks if that saves less time than this, because copies take some milliseconds.

The unit is the time of a thread for a vertex, about a microsecond.
"""


def is_there(
    backend: Backend, host: Backend, lengths: npt.NDArray[np.int64], costs: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which tasks the back end takes while the host takes the others; bool, shape (tasks,).

    A GPU runs very many tasks at the same time, but each of them slowly. So it takes the shortest
    ones, and so many that both are done at about the same time.

    Parameters
    ----------
    backend, host : Backend
        The same back end, or one on a GPU and one on CPUs.
    lengths : int64, shape (tasks,)
        Time of each task on a GPU, in units of `LEAST_SAVED` times `SLOWDOWN`.
    costs : int64, shape (tasks,)
        Time of each task on a thread of the host, in units of `LEAST_SAVED`.
    """
    if not backend.tasks_at_once:
        return np.zeros(len(costs), np.bool_)
    order = np.argsort(lengths, kind="stable")
    before = np.append(0, np.cumsum(costs[order]))
    longest = np.append(0, lengths[order])
    there = SLOWDOWN * np.maximum(longest, before / backend.tasks_at_once)
    here = (before[-1] - before) / host.threads
    times = np.maximum(there, here)
    count = int(times.argmin()) if times.min() + LEAST_SAVED < times[0] else 0
    found = np.zeros(len(costs), np.bool_)
    found[order[:count]] = True
    return found
