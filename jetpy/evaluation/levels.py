"""Reports on the levels of a run, one by one and as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from jetpy.engines.stopwatch import Stopwatch
from jetpy.evaluation.rows import text_table

LEVEL_HEADERS = (
    *("level", "vertices", "edges", "cut before", "cut after"),
    *("imbalance", "iterations", "s"),
)
"""Columns of `level_rows`."""


@dataclass(frozen=True)
class Level:
    """One refined level of the multilevel hierarchy (0 is the input graph).

    `cut_before` and `cut_after` are the total weight of cut undirected edges before and after
    refinement on this level; `iterations` counts refinement iterations.
    """

    level: int
    n: int
    m: int
    cut_before: int
    cut_after: int
    imbalance: float
    iterations: int
    coarsen_seconds: float
    refine_seconds: float
    coarsen_launches: int
    refine_launches: int

    def timed(self, watch: Stopwatch) -> Level:
        """Return a copy with the time and launches of refinement from a stopwatch."""
        return replace(self, refine_seconds=watch.seconds, refine_launches=watch.launches)


class LevelTable(tuple[Level, ...]):
    """The levels of a hierarchy, finest first; prints as a table with one row per level.

    The columns are numbers of vertices and undirected edges, the weight of cut edges before and
    after refinement, imbalance, refinement iterations, and seconds of coarsening and refinement.

    Examples
    --------
    >>> LevelTable([Level(0, 9000, 17000, 253, 209, 0.0224, 40, 0.0, 0.011, 0, 792)])
    level  vertices   edges  cut before  cut after  imbalance  iterations      s
        0     9,000  17,000         253        209     0.0224          40  0.011
    """

    def __repr__(self) -> str:
        return text_table(LEVEL_HEADERS, level_rows(self)) if self else "no levels"


def level_rows(levels: Iterable[Level]) -> list[tuple[str, ...]]:
    """Describe levels in their order; `LEVEL_HEADERS` names the columns."""
    return [
        (
            f"{level.level}",
            f"{level.n:,}",
            f"{level.m:,}",
            f"{level.cut_before:,}",
            f"{level.cut_after:,}",
            f"{level.imbalance:.4f}",
            f"{level.iterations}",
            f"{level.coarsen_seconds + level.refine_seconds:.3f}",
        )
        for level in levels
    ]
