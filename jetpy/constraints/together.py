"""Vertices that must share a part, contracted before anything else."""

from __future__ import annotations

from dataclasses import replace

from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.multilevel.outcome import Outcome
from jetpy.multilevel.solver import RefiningSolver
from jetpy.problem.metrics import components_per_part
from jetpy.problem.options import Effort
from jetpy.problem.together import APART, Groups
from jetpy.progress import Progress


class TogetherSolver:
    """Partitions a graph through the graph in which each group is one vertex.

    Parameters
    ----------
    graph : Graph
    groups : Groups
    solver : RefiningSolver
        Solver of the contracted graph.
    k : int
    connected : bool
        Whether parts should be connected. A group that is not connected in itself connects its
        vertices in the contracted graph, but not in `graph`.
    """

    def __init__(
        self, graph: Graph, groups: Groups, solver: RefiningSolver, k: int, *, connected: bool
    ) -> None:
        self._graph, self._groups, self._solver = graph, groups, solver
        self._k, self._connected = k, connected

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Return a partition in which no group is split."""
        return self._expanded(self._solver.solve(engine, effort, progress))

    def refine(self, engine: Backend, parts: IntArray, progress: Progress) -> Outcome:
        """Refine `parts`, in which each group first goes to the part with most of its weight."""
        start = self._groups.common_parts(parts, self._graph.vertex_weights)
        return self._expanded(self._solver.refine(engine, start, progress))

    def _expanded(self, outcome: Outcome) -> Outcome:
        parts = outcome.parts[self._groups.coarse_of]
        found = replace(outcome, parts=parts)
        if not self._connected:
            return found
        several = components_per_part(self._graph, parts, self._k) > 1
        apart = dict.fromkeys(several.nonzero()[0].tolist(), APART)
        return replace(found, disconnected={**apart, **outcome.disconnected})
