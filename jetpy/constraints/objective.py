"""Objectives of partitioning: edge cut and communication volume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from jetpy import choices
from jetpy.constraints.volume import degree_normalised, reduce_volume
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.errors import OptionError
from jetpy.graph.checks import one_of
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.multilevel.outcome import Outcome, all_seconds
from jetpy.problem.fixed import NO_PART, FixedVertices
from jetpy.problem.metrics import communication_volume, part_weights
from jetpy.problem.problem import Problem


def checked_objective(objective: str, graph: Graph, *, connected: bool) -> str:
    """Return an objective after checking it.

    Raises
    ------
    OptionError
        If it is unknown, or does not support connected parts or the size of the graph.
    """
    known = get_args(choices.Objective)
    one_of(known, "objective", objective)
    if connected and objective != "cut":
        raise OptionError("connected cannot be combined with an objective other than cut")
    if objective != "cut" and 2 * graph.m + graph.n > INT32_MAX:
        raise OptionError(
            "graphs of 2**31 vertices and directed edges have no objective other than cut"
        )
    return objective


def starts_of(graph: Graph, problem: Problem, places: FixedVertices | None) -> list[Graph]:
    """Return graphs whose partitions of small cut are starts for small volume.

    They are the graph itself and, unless vertices have homes, one with degree-normalised weights,
    which lead to smaller volume but do not match the migration cost.
    """
    if problem.k == 1 or graph.n <= problem.k or (places is not None and places.home is not None):
        return [graph]
    return [graph, degree_normalised(graph)]


def of_less_volume(graph: Graph, problem: Problem, found: Sequence[Outcome]) -> Outcome:
    """Return the outcome with the least excess above the limits, then the least volume."""
    return min(found, key=lambda one: _quality(graph, problem, one.parts))


def with_less_volume(
    backend: Backend,
    graph: Graph,
    problem: Problem,
    places: FixedVertices | None,
    found: Outcome,
    others: Sequence[Outcome] = (),
) -> Outcome:
    """Return an outcome of at most the same communication volume, using other outcomes.

    Fixed vertices stay, and so do vertices at home. The time is the total of all outcomes.
    """
    if problem.k == 1 or graph.n <= problem.k:
        return found
    with Stopwatch(backend, "refine") as watch:
        pinned = _pinned(graph, places, found.parts)
        helpers = [other.parts for other in others]
        parts = reduce_volume(backend, graph, problem, found.parts, helpers, pinned)
    improved = replace(
        found.with_parts(graph, parts),
        seconds=all_seconds([one.seconds for one in (found, *others)]),
        generations=sum(one.generations for one in (found, *others)),
    )
    return improved.with_more("refine", watch.seconds)


def _quality(graph: Graph, problem: Problem, parts: IntArray) -> tuple[int, int]:
    """Return the excess above the limits, and the volume; smaller is better."""
    above = part_weights(graph, parts, problem.k) - problem.limits
    return int(np.maximum(above, 0).sum()), communication_volume(graph, parts)


def _pinned(graph: Graph, places: FixedVertices | None, parts: IntArray) -> IntArray:
    """Return the parts of vertices that must stay, -1 for free vertices."""
    if places is None:
        return np.full(graph.n, NO_PART, np.int32)
    stay = places.fixed != NO_PART
    if places.home is not None:
        stay |= (places.home != NO_PART) & (places.home == parts)
    return np.where(stay, parts, NO_PART).astype(np.int32)
