"""Tasks for one thread each that a GPU and the threads of its host share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Backend
from jetpy.graph.ranges import Integers

SLOWDOWN = 18
"""A GPU takes about this number of times as long for a task as a thread of its host."""
MIN_GAIN = 3000
"""Minimum time that a GPU must gain to take tasks, in addition to the time of the copies.

The unit is the time of a thread for a vertex of a planar mesh, about a microsecond.
"""
COPIED = 5000
"""Numbers of 32 bits that are copied to a GPU in a unit of time."""
SIZE_OF_VERTEX = 7
"""Vertices and entries, per vertex, in a planar mesh."""


def gpu_tasks(
    backend: Backend,
    host: Backend,
    costs: Integers,
    lengths: Integers,
    most_at_once: Integers | int,
    copied: int,
) -> npt.NDArray[np.bool_]:
    """Return which tasks a GPU takes while its host takes the others; bool, shape (tasks,).

    A GPU runs thousands of tasks at the same time, but each of them slowly. It takes the shortest
    ones: the number with which it finishes at about the same time as the host.

    Parameters
    ----------
    backend, host : Backend
        The same back end, which takes no tasks, or one on a GPU and one on CPUs.
    costs : int64, shape (tasks,)
        Time of each task on a thread of the host, in the unit of `MIN_GAIN`.
    lengths : int64, shape (tasks,)
        Time of each task on a GPU, divided by `SLOWDOWN`.
    most_at_once : int64, shape (tasks,), or int
        Maximum number of tasks at the same time if all of them need as much memory as this one.
    copied : int
        Numbers of 32 bits that are copied to the GPU if it takes any task.
    """
    if not backend.tasks_at_once:
        return np.zeros(len(costs), np.bool_)
    order = np.argsort(lengths, kind="stable")
    limits = np.broadcast_to(most_at_once, costs.shape)[order]
    at_once = np.minimum.accumulate(np.append(backend.tasks_at_once, limits))
    # for each number of tasks that the GPU may take
    before = np.append(0, np.cumsum(costs[order]))
    longest = np.append(0, lengths[order])
    there = SLOWDOWN * np.maximum(longest, before / at_once)
    here = (before[-1] - before) / host.threads
    times = np.maximum(there, here)
    least = MIN_GAIN + copied // COPIED
    count = int(times.argmin()) if times.min() + least < times[0] else 0
    found = np.zeros(len(costs), np.bool_)
    found[order[:count]] = True
    return found
