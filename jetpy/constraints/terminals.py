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

from jetpy.constraints.home import keep_numbers
from jetpy.device.device_graph import with_required_width
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.graph.csr import INT32_MAX, MAX_WEIGHT, Graph, IntArray
from jetpy.graph.edges import Edges
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


@dataclass(frozen=True, eq=False)
class Terminals:
    """The terminals of a graph, which follow its free vertices.

    Attributes
    ----------
    first : int
        Number of free vertices.
    parts : int32, shape (terminals,)
        Parts with fixed vertices or homes, ascending; each has a terminal.
    held : int64, shape (k,)
        Fixed weight of each part.
    have_fixed : bool, shape (k,)
        Whether a vertex is fixed in each part.
    """

    first: int
    parts: IntArray
    held: Weights
    have_fixed: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, first: int, tallies: Weights) -> Terminals:
        """Return the terminals of a graph with `first` free vertices, given its tallies (`tally`).

        Tallies of the blocks of a graph add up.
        """
        held, fixed, at_home = tallies
        parts = np.flatnonzero((fixed > 0) | (at_home > 0)).astype(np.int32)
        return cls(first, parts, held, fixed > 0)

    @property
    def n(self) -> int:
        """Number of free vertices and terminals."""
        return self.first + len(self.parts)

    @property
    def of_parts(self) -> IntArray:
        """The terminal of each part, int32, shape (k,); -1 for none."""
        terminals = np.full(len(self.held), NO_PART, np.int32)
        terminals[self.parts] = self.first + np.arange(len(self.parts), dtype=np.int32)
        return terminals

    @property
    def weights(self) -> Weights:
        """Weights of the terminals, at least 1."""
        return np.maximum(self.held[self.parts], 1)

    def pose(self, problem: Problem) -> Problem:
        """Return the problem for the graph with terminals."""
        bare, placeholders = np.zeros((2, problem.k), np.int64)
        bare[self.parts] = self.held[self.parts] == 0
        placeholders[self.parts] = ~self.have_fixed[self.parts]
        lower = problem.part_lower_limits
        return replace(
            problem,
            part_limits=np.maximum(problem.limits, self.held) + bare,
            part_lower_limits=None if lower is None else lower + bare,
            placeholders=placeholders,
        )

    def numbers(self, fixed: IntArray, before: int = 0) -> IntArray:
        """Return the vertex or terminal (int32) for each original vertex of a block.

        `fixed` are their fixed parts, -1 for free vertices; `before` free vertices are in blocks
        before.
        """
        free = fixed == NO_PART
        return np.where(free, before + np.cumsum(free) - 1, self.of_parts[fixed]).astype(np.int32)


def tally(places: FixedVertices, weights: IntArray, k: int) -> Weights:
    """Return fixed weight, fixed vertices and vertices that may leave home of each part.

    int64, shape (3, k).
    """
    fixed, home = places.fixed, places.left
    held = fixed != NO_PART
    return np.stack(
        [
            np.bincount(fixed[held], weights[held], k).astype(np.int64),
            np.bincount(fixed[held], minlength=k),
            np.bincount(home[home != NO_PART], minlength=k),
        ]
    )


def with_terminals(graph: Graph, problem: Problem, places: FixedVertices) -> TerminalGraph:
    """Return a graph with terminals, whose cut is the original cut plus the migration cost.

    Raises
    ------
    OptionError
        If both together may exceed 2**46.
    """
    free = places.fixed == NO_PART
    terminals = Terminals.of(int(free.sum()), tally(places, graph.vertex_weights, problem.k))
    numbers, n = terminals.numbers(places.fixed), terminals.n
    tails, heads = numbers[graph.sources(0, graph.n)], numbers[graph.indices]
    given = Edges(tails, heads, graph.edge_weights)
    edges = edges_with_terminals(
        given, numbers, graph.vertex_weights, places, terminals, problem.unit
    )
    check_total(int(edges.weights.sum()))
    indptr, indices, weights = edges.rows(0, n, n)
    pinned = np.full(n, NO_PART, np.int32)
    pinned[terminals.first :] = terminals.parts
    vertex_weights = np.concatenate(
        [graph.vertex_weights[free].astype(np.int64), terminals.weights]
    )
    return TerminalGraph(
        graph,
        places,
        Graph(indptr, indices, _compact(weights), _compact(vertex_weights), graph.name),
        terminals.pose(problem),
        pinned,
        numbers,
        problem.kinds,
    )


def edges_with_terminals(
    given: Edges,
    numbers: IntArray,
    vertex_weights: IntArray,
    places: FixedVertices,
    terminals: Terminals,
    unit: int,
) -> Edges:
    """Return the edges of a block in the graph with terminals, for both directions of homes.

    `given` are the edges of the block with the numbers of their ends; edges between terminals are
    omitted, because they are always cut. `numbers`, `vertex_weights` and `places` are those of the
    block's vertices; `unit` is that of the vertex weights.
    """
    migration, first, home = places.migration, terminals.first, places.left
    kept = (given.tails < first) | (given.heads < first)
    movable = np.flatnonzero(home != NO_PART) if migration else np.zeros(0, np.intp)
    movers, homes = numbers[movable], terminals.of_parts[home[movable]]
    costs = vertex_weights[movable].astype(np.int64) * (unit * migration.numerator)
    weights = given.weights[kept].astype(np.int64) * migration.denominator
    return Edges(
        np.concatenate([given.tails[kept], movers, homes]),
        np.concatenate([given.heads[kept], homes, movers]),
        np.concatenate([weights, costs, costs]),
    )


def check_total(total: int) -> None:
    """Check the cost if all edges were cut and all vertices left home.

    Raises
    ------
    OptionError
        If it exceeds 2**46.
    """
    if total > MAX_WEIGHT:
        raise OptionError(
            f"the cost of cut and migration may reach {total}, but must be at most 2**46; choose "
            "a smaller migration, or a fraction with a smaller denominator"
        )


def _compact(weights: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return weights as int32 if all fit."""
    return weights.astype(np.int32) if weights.max(initial=0) <= INT32_MAX else weights
