"""Uncoarsening: every level is refined, from the coarsest to the finest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jetpy.engines.base import Array
from jetpy.engines.stopwatch import Stopwatch
from jetpy.multilevel.hierarchy import HierarchyLevel, project
from jetpy.progress import Progress, no_progress

Refine = Callable[[HierarchyLevel, Sequence[HierarchyLevel], Array], Array]
"""Called with a level, the finer levels, and parts of the level; returns refined parts."""


def uncoarsen(
    hierarchy: list[HierarchyLevel],
    parts: Array,
    refine: Refine,
    progress: Progress = no_progress,
    first: int = 0,
) -> tuple[Array, list[Stopwatch]]:
    """Refine a partition on every level, from the coarsest to the finest.

    Parameters
    ----------
    hierarchy : list of HierarchyLevel
        Finest level first. It is emptied, which frees coarse levels early.
    parts : int32, shape (n,)
        Parts of the coarsest level.
    refine : callable
        See `Refine`.
    progress : callable
        Called with the stage "refine" and the number of vertices of the finished levels.
    first : int
        Depth of the finest level.

    Returns
    -------
    parts : int32, shape (n,)
        Parts of the finest level.
    watches : list of Stopwatch
        Time and launches of each level, the finest level first.
    """
    work, done = sum(level.graph.global_n for level in hierarchy), 0
    watches: list[Stopwatch] = []
    while hierarchy:
        level = hierarchy.pop()
        with Stopwatch(level.backend, "refine", first + len(hierarchy)) as watch:
            parts = project(level, refine(level, hierarchy, parts), hierarchy)
        watches.insert(0, watch)
        done += level.graph.global_n
        progress("refine", done, work)
    return parts, watches
