"""Tasks for one thread each that a GPU and the threads of its host share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Backend

SLOWDOWN = 18
"""A GPU takes about this number of times as long for a task as a thread of its host."""
MIN_GAIN = 4000
"""Minimum time that a GPU must gain to take tasks, because copies take some milliseconds.

The unit is the time of a thread for a vertex, about a microsecond.
"""


def is_there(
    backend: Backend, host: Backend, lengths: npt.NDArray[np.int64], costs: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which tasks the back end takes while the host takes the others; bool, shape (tasks,).

    A GPU runs very many tasks at the same time, but each of them slowly. It takes the shortest
    ones, up to the number with which it is done at about the same time as the host.

    Parameters
    ----------
    backend, host : Backend
        The same back end, or one on a GPU and one on CPUs.
    lengths : int64, shape (tasks,)
        Time of each task on a GPU, divided by `SLOWDOWN`, in the unit of `MIN_GAIN`.
    costs : int64, shape (tasks,)
        Time of each task on a thread of the host, in the same unit.
    """
    if not backend.tasks_at_once:
        return np.zeros(len(costs), np.bool_)
    order = np.argsort(lengths, kind="stable")
    # for each number of tasks that the back end may take
    before = np.append(0, np.cumsum(costs[order]))
    longest = np.append(0, lengths[order])
    there = SLOWDOWN * np.maximum(longest, before / backend.tasks_at_once)
    here = (before[-1] - before) / host.threads
    times = np.maximum(there, here)
    count = int(times.argmin()) if times.min() + MIN_GAIN < times[0] else 0
    found = np.zeros(len(costs), np.bool_)
    found[order[:count]] = True
    return found
