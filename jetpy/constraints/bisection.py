"""Recursive bisection with several weights per vertex, for the coarsest level.

A partition that balances one combined weight may be far from balance in each weight. To restore it,
refinement would have to move many vertices, which cuts many edges. Halves that balance all weights
need few such moves. Source: Karypis, Kumar, "Multilevel algorithms for multi-constraint graph
partitioning", SC 1998, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.device.processes import Processes
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.initial.subgraphs import subgraphs
from jetpy.problem.fixed import NO_PART
from jetpy.problem.limits import limits_of
from jetpy.problem.multiconstraint import MultiConstraint
from jetpy.problem.problem import SEEDS, Problem, make_problem, slack
from jetpy.problem.targets import ideals

Parts = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Block:
    """Vertices that get the parts from `first` on, as a graph.

    Attributes
    ----------
    graph : Graph
        With a combined weight.
    problem : Problem
        That of the combined weight.
    several : MultiConstraint
    pinned : int32, shape (n,)
        Parts of pinned vertices, counted from `first`; -1 for free vertices.
    first : int
    """

    graph: Graph
    problem: Problem
    several: MultiConstraint
    pinned: IntArray
    first: int = 0

    @property
    def half(self) -> int:
        """Number of parts of the first half."""
        return self.problem.k // 2

    def halves(self) -> Block:
        """Return the block with two parts; each stands for half of the parts."""
        if self.problem.k == 2:
            return self
        sides = np.where(self.pinned == NO_PART, NO_PART, self.pinned >= self.half)
        bounds = _halves(self.graph, self.problem, self.several, self.half)
        return Block(self.graph, *bounds, sides.astype(np.int32))

    def side(self, side: int, members: npt.NDArray[np.intp], graph: Graph) -> Block:
        """Return the block of the vertices of a half, given their induced subgraph."""
        own, problem, pinned = self.several, self.problem, self.pinned[members]
        first, end = (0, self.half) if side == 0 else (self.half, problem.k)
        bounds = (rows[first:end] for rows in (own.ideals, own.limits, own.lower_limits))
        return Block(
            graph,
            make_problem(
                graph.total_vertex_weight,
                end - first,
                problem.imbalance,
                (2 * problem.seed + 1 + side) % SEEDS,
                problem.options,
                problem.shares[first:end],
            ),
            MultiConstraint.of(own.weights[members], *bounds),
            np.where(pinned == NO_PART, NO_PART, pinned - first).astype(np.int32),
            self.first + first,
        )


def bisect_recursively(
    whole: Block, bisect: Callable[[Block], Parts], host: Backend, processes: Processes
) -> Parts:
    """Return the parts (int32, shape (n,)) of a block.

    `bisect` returns the two sides of the vertices of a block. Both halves of k parts get the
    imbalance with which all later bisections can keep the limits. Each half of the processes
    divides one side; a single process alone divides all that is left to it.
    """

    def divided(block: Block, ranks: range) -> Parts:
        """Return the parts of a block that `ranks` divide; 0 in all but one of the processes."""
        n = block.graph.n
        parts = np.zeros(n, np.int32)
        if processes.rank not in ranks or n == 0:
            return parts
        if block.problem.k == 1:
            return parts if processes.rank > ranks[0] else parts + np.int32(block.first)
        sides = bisect(block.halves())
        middle = ranks.start + len(ranks) // 2
        shares = (ranks, ranks)
        if len(ranks) > 1:
            shares = range(ranks.start, middle), range(middle, ranks.stop)
        for side, members, graph in subgraphs(block.graph, sides, 2):
            parts[members] = divided(block.side(side, members, graph), shares[side])
        return parts

    own = divided(whole, range(processes.size))
    every = host.to_host(processes.gather(host, own)).reshape(processes.size, len(own))
    return np.asarray(every.sum(axis=0, dtype=np.int32))


def _halves(
    graph: Graph, problem: Problem, several: MultiConstraint, half: int
) -> tuple[Problem, MultiConstraint]:
    """Return the problem and the constraints of the first `half` parts and of the others."""
    sums = (several.ideals, several.lower_limits, several.limits)
    wanted, lower, upper = (np.add.reduceat(rows, [0, half]) for rows in sums)
    cuts_left = (problem.k - 1).bit_length()
    totals, rooms = several.totals.tolist(), upper.sum(axis=0).tolist()
    imbalances = [slack(*each, cuts_left) for each in zip(rooms, totals, strict=True)]
    shares = np.maximum(wanted, 1).T
    columns = [ideals(*each) for each in zip(totals, shares, strict=True)]
    limits = [limits_of(*each) for each in zip(columns, imbalances, strict=True)]
    tables = np.stack(columns, axis=1), np.stack(limits, axis=1)
    own = make_problem(
        graph.total_vertex_weight,
        2,
        max(imbalances),
        problem.seed,
        problem.options,
        np.add.reduceat(problem.shares, [0, half]),
    )
    return own, MultiConstraint(several.weights, *tables, lower, several.totals)
