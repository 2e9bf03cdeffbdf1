"""The communication volume as the objective of partitioning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from jetpy.constraints.volume import degree_normalised, reduce_volume
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import Graph, IntArray
from jetpy.multilevel.outcome import Outcome
from jetpy.multilevel.solver import RefiningSolver
from jetpy.problem.fixed import NO_PART, FixedVertices
from jetpy.problem.metrics import communication_volume, part_weights
from jetpy.problem.options import Effort
from jetpy.problem.problem import Problem
from jetpy.progress import Progress, no_progress


class VolumeSolver:
    """Partitions for a small communication volume, from partitions of small cuts.

    Parameters
    ----------
    graph, problem : Graph, Problem
    places : FixedVertices or None
        Fixed vertices and homes; both stay.
    solver_of : callable
        Makes a solver for a small cut, given a graph that differs from `graph` in edge weights.
    """

    def __init__(
        self,
        graph: Graph,
        problem: Problem,
        places: FixedVertices | None,
        solver_of: Callable[[Graph], RefiningSolver],
    ) -> None:
        self._graph, self._problem, self._places = graph, problem, places
        self._solver_of, self._solver = solver_of, solver_of(graph)

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Return a partition of small volume, starting from one or two of small cut.

        The second has degree-normalised edge weights, which lead to smaller volume. It is not for
        vertices with homes, because these weights do not match the migration cost.
        """
        solvers = [self._solver]
        if not self._is_trivial and (self._places is None or self._places.home is None):
            solvers.append(self._solver_of(degree_normalised(self._graph)))
        effort = effort.shared(len(solvers))
        found = [solvers[0].solve(engine, effort, progress)]
        found += [other.solve(engine, effort, no_progress) for other in solvers[1:]]
        best = of_less_volume(self._graph, self._problem, found)
        return self._reduce(engine, best, [one for one in found if one is not best])

    def refine(self, engine: Backend, parts: IntArray, progress: Progress) -> Outcome:
        """Return a partition of at most the volume of `parts`."""
        found = self._solver.refine(engine, parts, progress)
        if self._places is not None:
            parts = np.where(self._places.fixed == NO_PART, parts, self._places.fixed)
        candidates = [found]
        if not self._problem.fill or len(np.unique(parts)) == self._problem.k:
            candidates.append(found.with_parts(self._graph, parts))
        best = of_less_volume(self._graph, self._problem, candidates)
        return self._reduce(engine, best, [])

    @property
    def _is_trivial(self) -> bool:
        return self._problem.k == 1 or self._graph.n <= self._problem.k

    def _reduce(self, engine: Backend, found: Outcome, others: Sequence[Outcome]) -> Outcome:
        """Return an outcome of at most the same volume; its generations are those of all."""
        if self._is_trivial:
            return found
        with Stopwatch(engine, "refine"):
            pinned = _pinned(self._graph, self._places, found.parts)
            helpers = [other.parts for other in others]
            parts = reduce_volume(engine, self._graph, self._problem, found.parts, helpers, pinned)
        generations = sum(one.generations for one in (found, *others))
        return replace(found.with_parts(self._graph, parts), generations=generations)


def of_less_volume(graph: Graph, problem: Problem, found: Sequence[Outcome]) -> Outcome:
    """Return the outcome with the least weight outside the limits, then the least volume."""
    return min(found, key=lambda one: _quality(graph, problem, one.parts))


def _quality(graph: Graph, problem: Problem, parts: IntArray) -> tuple[int, int]:
    """Return the weight outside the limits, and the volume; smaller is better."""
    outside = problem.excess_of(part_weights(graph, parts, problem.k))
    return int(outside.sum()), communication_volume(graph, parts)


def _pinned(graph: Graph, places: FixedVertices | None, parts: IntArray) -> IntArray:
    """Return the parts of vertices that must stay, -1 for free vertices."""
    if places is None:
        return np.full(graph.n, NO_PART, np.int32)
    stay = places.fixed != NO_PART
    if places.home is not None:
        stay |= (places.home != NO_PART) & (places.home == parts)
    return np.where(stay, parts, NO_PART).astype(np.int32)
