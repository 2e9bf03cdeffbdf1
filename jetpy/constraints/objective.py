"""What partitions are for: a small cut, or a small communication volume."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np

from jetpy import names
from jetpy.backends.base import Backend
from jetpy.constraints.fixed import NO_PART, Places
from jetpy.errors import OptionError
from jetpy.graph import Graph
from jetpy.metrics import edge_cut
from jetpy.outcome import Outcome
from jetpy.problem import Problem
from jetpy.refinement.volume import shrink_volume
from jetpy.stopwatch import Stopwatch


def checked_objective(objective: str, *, connected: bool) -> str:
    """Return an objective.

    Raises
    ------
    OptionError
        If there is none of that name, or it goes without connected parts.
    """
    known = get_args(names.Objective)
    if objective not in known:
        raise OptionError(f"unknown objective {objective!r}; choose from {', '.join(known)}")
    if connected and objective != "cut":
        raise OptionError("connected goes without an objective other than cut")
    return objective


def with_less_volume(
    backend: Backend, graph: Graph, problem: Problem, places: Places | None, found: Outcome
) -> Outcome:
    """Return an outcome whose communication volume is no larger; fixed vertices stay.

    Vertices with homes move for the volume only where no one has them.
    """
    if problem.k == 1 or graph.n <= problem.k:
        return found
    pinned = np.zeros(graph.n, np.bool_)
    if places is not None:
        pinned = places.fixed != NO_PART
        if places.home is not None:
            pinned |= (places.home != NO_PART) & (places.home == found.parts)
    with Stopwatch(backend, "refine") as watch:
        parts = shrink_volume(backend, graph, found.parts, problem.limits, pinned, problem.seed)
    return replace(found, parts=parts, cut=edge_cut(graph, parts)).with_more(
        "refine", watch.seconds
    )
