"""Arrays of workers: each has its own ranges of all arrays, for the levels of one graph at a time.

`jetpy.workloads.tasks.loading` has the tasks of workers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jetpy.engines.base import Backend
from jetpy.graph.csr import INT32_MAX

OF_VERTICES = (
    *("rows", "weights", "coarse_of", "sides", "internal", "external", "moved", "pinned"),
    *("heap", "positions"),
)
"""Arrays by vertex of all levels (`jetpy.workloads.initial.inner_levels`)."""
OF_ENTRIES = ("ends", "edge_weights")
MAX_ROOM_ON_GPU = 2**26
"""Maximum capacity of all workers on a GPU for vertices, and for entries: at most 5 GB."""

Wanted = tuple[Any, Iterable[str], int, Any]
"""An object, the names of its arrays, and their length and dtype."""


def allocate(backend: Backend, *wanted: Wanted) -> None:
    """Give objects uninitialised arrays that they lack, and that share memory while they live."""
    arrays = [
        (owner, name, length, kind)
        for owner, names, length, kind in wanted
        for name in names
        if not hasattr(owner, name)
    ]
    arena = backend.arena([(length, kind) for _, _, length, kind in arrays])
    for (owner, name, _, _), array in zip(arrays, arena.arrays, strict=True):
        setattr(owner, name, array)
        owner.arena = arena


def count_workers(backend: Backend, tasks: int, room: int) -> int:
    """Return the number of workers: one for each thread, or task that a GPU runs at the same time.

    `room` is the largest capacity of a worker. 32-bit indices can address the arrays of all.
    """
    at_once = backend.tasks_at_once
    most = (MAX_ROOM_ON_GPU if at_once else INT32_MAX) // max(room, 1)
    return max(1, min(at_once or backend.threads, tasks, most))
