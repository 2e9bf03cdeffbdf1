"""Terminals: one vertex for all fixed vertices of a part, which never moves.

Fixed vertices of a part stay together, so they can be one vertex from the start. Coarsening then
has at most k terminals to avoid, and no edge is lost. An edge between a vertex and the terminal of
its home models the migration cost. Sources: Aykanat, Cambazoglu, Uçar, "Multi-level direct k-way
hypergraph partitioning with multiple constraints and fixed vertices", JPDC 68 (2008), section 4.2;
Catalyurek et al., "Hypergraph-based dynamic load balancing for adaptive scientific computations",
IPDPS 2007, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from jetpy.constraints.home import keep_numbers
from jetpy.device.device_graph import with_required_width
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.graph.csr import INT32_MAX, MAX_WEIGHT, Graph, IntArray
from jetpy.multilevel.outcome import Outcome
from jetpy.multilevel.solver import CutSolver
from jetpy.problem.fixed import NO_PART, FixedVertices
from jetpy.problem.options import Effort
from jetpy.problem.problem import Problem
from jetpy.progress import Progress

Weights = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TerminalGraph:
    """A graph in which terminals replace the fixed vertices.

    Attributes
    ----------
    origin : Graph
        The original graph.
    places : FixedVertices
    graph : Graph
        The free vertices, in their order, then the terminals.
    problem : Problem
        Problem for `graph`; the limit of a part is at least its fixed weight.
    pinned : int32, shape (graph.n,)
        Parts of the terminals; -1 for other vertices.
    numbers : int32, shape (origin.n,)
        Vertex of `graph` for each original vertex.
    kinds : int64, shape (k,)
        `Problem.kinds` of the original problem.
    """

    origin: Graph
    places: FixedVertices
    graph: Graph
    problem: Problem
    pinned: IntArray
    numbers: IntArray
    kinds: Weights

    @property
    def home(self) -> IntArray | None:
        """Previous parts of the vertices of `graph`, int32, shape (graph.n,), -1 for none."""
        return None if self.places.home is None else self.start(self.places.home)

    def start(self, parts: IntArray) -> IntArray:
        """Return parts of the vertices of `graph`, given those of the original graph."""
        started = self.pinned.copy()
        free = self.places.fixed == NO_PART
        started[self.numbers[free]] = parts[free]
        return started

    def without(self, outcome: Outcome) -> Outcome:
        """Return the outcome for the original graph; parts keep their numbers if possible."""
        records = [self._expand(parts) for parts in outcome.records]
        outcome = replace(outcome, records=records)
        return outcome.with_parts(self.origin, self._expand(outcome.parts))

    def _expand(self, parts: IntArray) -> IntArray:
        parts = parts[self.numbers]
        return keep_numbers(parts, self.places, self.origin.vertex_weights, self.kinds)


class TerminalSolver:
    """Partitions a graph with fixed vertices and homes, through the graph with terminals.

    Raises
    ------
    OptionError
        If cut and migration together may exceed 2**46.
    """

    def __init__(
        self,
        graph: Graph,
        problem: Problem,
        places: FixedVertices,
        *,
        keep_records: bool = False,
    ) -> None:
        self._with = with_terminals(graph, problem, places)
        self._solver = CutSolver(
            self._with.graph,
            self._with.problem,
            self._with.pinned,
            self._with.home,
            keep_records,
        )

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Return a partition of small cut and migration cost."""
        engine = with_required_width(engine, self._with.graph)
        return self._with.without(self._solver.solve(engine, effort, progress))

    def refine(self, engine: Backend, parts: IntArray, progress: Progress) -> Outcome:
        """Return a partition that costs at most as much as `parts`; fixed vertices are in place."""
        engine = with_required_width(engine, self._with.graph)
        return self._with.without(self._solver.refine(engine, self._with.start(parts), progress))

    def cost(self, parts: IntArray) -> int:
        """Return the cut plus the migration cost, in units of `FixedVertices.migration`."""
        return self._solver.cost(self._with.start(parts))


def with_terminals(graph: Graph, problem: Problem, places: FixedVertices) -> TerminalGraph:
    """Return a graph with terminals, whose cut is the original cut plus the migration cost.

    Raises
    ------
    OptionError
        If both together may exceed 2**46.
    """
    fixed, home = places.fixed, places.left
    free = fixed == NO_PART
    count = int(free.sum())
    parts = np.unique(np.concatenate([fixed[~free], home[home != NO_PART]]))
    place = np.full(problem.k, NO_PART, np.int32)
    place[parts] = count + np.arange(len(parts), dtype=np.int32)
    numbers = np.where(free, np.cumsum(free) - 1, place[fixed]).astype(np.int32)
    held = np.bincount(fixed[~free], graph.vertex_weights[~free], problem.k).astype(np.int64)
    bare, placeholders = np.zeros((2, problem.k), np.int64)
    bare[parts] = held[parts] == 0
    placeholders[np.setdiff1d(parts, fixed[~free])] = 1
    weights = np.concatenate(
        [graph.vertex_weights[free].astype(np.int64), np.maximum(held[parts], 1)]
    )
    n = count + len(parts)
    rows = _rows(graph, places, numbers, place, n, problem.unit)
    pinned = np.full(n, NO_PART, np.int32)
    pinned[count:] = parts
    return TerminalGraph(
        graph,
        places,
        Graph(rows.indptr, rows.indices, rows.data, _compact(weights), graph.name),
        replace(_with_terminals_in(problem, held, bare), placeholders=placeholders),
        pinned,
        numbers,
        problem.kinds,
    )


def _with_terminals_in(problem: Problem, held: Weights, bare: Weights) -> Problem:
    """Return the problem for the graph with terminals.

    `held` (int64, shape (k,)) is the fixed weight of each part, `bare` the weight of its terminal
    beyond that.
    """
    lower = problem.part_lower_limits
    return replace(
        problem,
        part_limits=np.maximum(problem.limits, held) + bare,
        part_lower_limits=None if lower is None else lower + bare,
    )


def _rows(
    graph: Graph, places: FixedVertices, numbers: IntArray, place: IntArray, n: int, unit: int
) -> coo_array:
    """Return the adjacency of n vertices, given the terminal of each part (-1: none).

    Edges between terminals are omitted, because they are always cut.
    """
    home, migration = places.left, places.migration
    terminals = int(place[place != NO_PART].min(initial=n))
    u, v = numbers[graph.sources(0, graph.n)], numbers[graph.indices]
    kept = (u < terminals) | (v < terminals)
    movable = np.flatnonzero(home != NO_PART) if migration else np.zeros(0, np.intp)
    movers, homes = numbers[movable], place[home[movable]]
    costs = graph.vertex_weights[movable].astype(np.int64) * (unit * migration.numerator)
    edges: npt.NDArray[np.int64] = graph.edge_weights[kept].astype(np.int64)
    edges *= migration.denominator
    total = int(edges.sum() + 2 * costs.sum())
    if total > MAX_WEIGHT:
        raise OptionError(
            f"the cost of cut and migration may reach {total}, but must be at most 2**46; choose "
            "a smaller migration, or a fraction with a smaller denominator"
        )
    entries = np.concatenate([edges, costs, costs])
    tails = np.concatenate([u[kept], movers, homes])
    heads = np.concatenate([v[kept], homes, movers])
    rows = coo_array((entries, (tails, heads)), shape=(n, n)).tocsr()
    rows.sum_duplicates()
    rows.data = _compact(rows.data)
    return rows


def _compact(weights: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return weights as int32 if all fit."""
    return weights.astype(np.int32) if weights.max(initial=0) <= INT32_MAX else weights
