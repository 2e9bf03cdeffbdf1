"""Solvers find or refine a partition of one graph; constraints are solvers around others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.levels import GraphLevel
from jetpy.multilevel.driver import refine_uploaded
from jetpy.multilevel.evolution import evolve
from jetpy.multilevel.given_hierarchy import partition_levels, refine_from_level
from jetpy.multilevel.outcome import Outcome, trivial_outcome, trivial_partition
from jetpy.problem.metrics import edge_cut
from jetpy.problem.options import Effort
from jetpy.problem.problem import Problem
from jetpy.progress import Progress


class Solver(Protocol):
    """Partitions one graph, which it was made for."""

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Return a partition."""


class RefiningSolver(Solver, Protocol):
    """A solver that also improves a given partition."""

    def refine(self, engine: Backend, parts: IntArray, progress: Progress) -> Outcome:
        """Return a partition that is not worse than `parts` (int32, shape (n,))."""


class CostSolver(RefiningSolver, Protocol):
    """A solver that minimises a sum over edges and vertices, and can compute it."""

    def cost(self, parts: IntArray) -> int:
        """Return the cut, plus other costs, of parts (int32, shape (n,))."""


@dataclass(frozen=True, eq=False)
class CutSolver:
    """The multilevel method for a small cut.

    Attributes
    ----------
    graph : Graph
    problem : Problem
    pinned : int32, shape (n,), or None
        Part in which each vertex must be, -1 for free vertices.
    home : int32, shape (n,), or None
        Previous part of each vertex, -1 for none.
    keep_records : bool
        Whether outcomes have records.
    """

    graph: Graph
    problem: Problem
    pinned: IntArray | None = None
    home: IntArray | None = None
    keep_records: bool = False

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Return the best partition that an evolutionary search finds."""
        return self._trivial() or evolve(
            engine,
            self.graph,
            self.problem,
            effort,
            progress,
            self.pinned,
            self.home,
            keep_records=self.keep_records,
        )

    def refine(self, engine: Backend, parts: IntArray, progress: Progress) -> Outcome:
        """Return a partition of at most the cut of `parts`, found without coarsening."""
        if self.problem.k == 1 or self.graph.n == 0:
            return trivial_outcome(parts, 0)
        with Stopwatch(engine, "refine"):
            device = upload(engine, self.graph)
        return refine_uploaded(engine, device, parts, self.problem, progress, self.pinned)

    def cost(self, parts: IntArray) -> int:
        """Return the cut."""
        return edge_cut(self.graph, parts)

    def _trivial(self) -> Outcome | None:
        """Return the outcome if each vertex gets a part of its own, or there is one part."""
        if self.pinned is not None:
            return None
        graph, problem = self.graph, self.problem
        outcome = trivial_partition(graph.n, graph.total_edge_weight, problem.k)
        if outcome is None or problem.targets is None:
            return outcome
        from jetpy.refinement.packing import one_each

        bounds = problem.limits, problem.lower_limits
        parts = one_each(graph.vertex_weights, problem.targets, *bounds)
        return outcome.with_parts(graph, parts)


@dataclass(frozen=True, eq=False)
class HierarchySolver(CutSolver):
    """The multilevel method on a given hierarchy, without V-cycles and further hierarchies.

    Attributes
    ----------
    levels : sequence of GraphLevel
        Levels of the hierarchy of the graph, finest first, from the graph itself on.
    """

    levels: Sequence[GraphLevel] = ()

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Partition the coarsest graph, and refine on all levels."""
        return self._trivial() or partition_levels(engine, self.levels, self.problem, progress)

    def refine(self, engine: Backend, parts: IntArray, progress: Progress) -> Outcome:
        """Refine `parts` (int32), a partition of the last level, on all levels."""
        if self.problem.k == 1 or self.graph.n == 0:
            return trivial_outcome(np.zeros(self.graph.n, np.int32), 0)
        return refine_from_level(engine, self.levels, parts, self.problem, progress)
