"""Several weights per vertex: all processes find one partition.

Large levels are in pieces, which have the weights of owned vertices. Small graphs, and those with
groups or lower limits, are gathered on every process, and the processes share out generations,
tries and V-cycles (`jetpy.constraints.multiconstraint`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jetpy.constraints.level_weights import carried
from jetpy.constraints.multiconstraint import Found as FoundSeveral
from jetpy.constraints.multiconstraint import best_generation, partition_level
from jetpy.distributed.arguments import CollectiveArguments
from jetpy.distributed.block import Block, UploadedRows
from jetpy.distributed.communicator import starts_of
from jetpy.distributed.faults import agreed, run_collectively
from jetpy.distributed.gathering import SEVERAL_SECONDS, check_memory, gathering_of
from jetpy.distributed.levels import PieceLevel, finest_of
from jetpy.distributed.multiconstraint_levels import PieceLevels, owned_of, summed
from jetpy.distributed.piece import Blocks
from jetpy.distributed.run import Found, checked_parts, measure_rows, part_sizes
from jetpy.distributed.terminals import Places
from jetpy.distributed.together import group_names
from jetpy.engines.stopwatch import Stopwatch
from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, Graph, IntArray, column_sums
from jetpy.graph.validate import Naming, checked_columns
from jetpy.multilevel.evolution import of_generation
from jetpy.multilevel.outcome import Outcome
from jetpy.problem.bounds import bounded_columns
from jetpy.problem.fixed import NO_PART
from jetpy.problem.multiconstraint import (
    MultiConstraint,
    divisors_of,
    in_one,
    limits_of_columns,
    loads,
    pose_several,
)
from jetpy.problem.problem import Problem
from jetpy.progress import Progress

if TYPE_CHECKING:
    from jetpy.api.request import Request


@dataclass(frozen=True, eq=False)
class Columns:
    """The rows of a process, with several weights of each vertex.

    Attributes
    ----------
    rows : list of UploadedRows
        The only entry; all vertices have weight 1. `in_pieces` takes it out, so that its memory is
        free once the finest level is made.
    blocks : Blocks
        Those of the rows, with a communicator for arrays on the host.
    weights : int32, shape (n_owned, c)
    totals : int64, shape (c,)
        Sum of each weight over all vertices.
    arguments : CollectiveArguments
    """

    rows: list[UploadedRows]
    blocks: Blocks
    weights: IntArray
    totals: npt.NDArray[np.int64]
    arguments: CollectiveArguments

    def gather(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the rows of all processes, given those of owned vertices. Collective."""
        host, flat = self.rows[0].backend.host, np.ascontiguousarray(values).ravel()
        return host.to_host(self.blocks.comm.gather(host, flat)).reshape(-1, *values.shape[1:])

    def owned(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the rows of owned vertices, given those of all."""
        return values[self.blocks.first : self.blocks.end].copy()

    def graph(self) -> Graph:
        """Return the whole graph. Collective.

        Raises
        ------
        GraphError, OutOfMemoryError
            If it needs 64-bit kernels, or more memory than a machine has.
        """
        [rows] = self.rows
        if rows.backend.is_wide:
            raise agreed(
                GraphError(
                    "partition with several vertex weights needs a graph with fewer than 2**31 "
                    "directed edges and sums of weights below 2**31"
                )
            )
        check_memory(self.blocks.comm, rows.global_n, rows.global_nnz // 2)
        arrays = map(rows.backend.to_host, (rows.indptr, rows.indices, rows.edge_weights))
        indptr, indices, edge_weights = arrays
        starts = starts_of(self.gather(np.diff(indptr))).astype(np.int32)
        whole = starts, self.gather(indices), self.gather(edge_weights)
        ones = np.ones(self.blocks.n, np.int32)
        return Graph(*whole, ones, constraint_weights=self.gather(self.weights))

    def request(self, places: Places) -> Request:
        """Return the request that every process carries out. Collective.

        Raises
        ------
        GraphError, OptionError, OutOfMemoryError
            As `Asked.request` and the method `graph` do.
        """
        arguments, blocks = self.arguments, self.blocks
        checked = places.checked(blocks, arguments.k)
        names = group_names(blocks, places.together)
        graph = self.graph()
        own: dict[str, Any] = {
            "fixed": None if checked is None else self.gather(checked.fixed),
            "home": places.home,  # refused
            "together": None if names is None else self.gather(names),
        }
        asked = arguments.asked(places.migration, own)
        request = run_collectively(blocks.comm, lambda: asked.request(graph, arguments.k))
        return replace(request, processes=blocks.comm)

    def posed(self, vertex_weight: int) -> tuple[Problem, MultiConstraint]:
        """Return the problem of the combined weight, and the constraints. Collective.

        `vertex_weight` is the total of the combined weight.

        Raises
        ------
        OptionError
            As `make_request` does.
        """
        arguments, columns = self.arguments, self.arguments.columns
        assert columns is not None

        def pose() -> tuple[Problem, MultiConstraint]:
            problem = arguments.problem(vertex_weight, arguments.targets, fill=arguments.fill)
            weights = self.weights, self.totals
            several = pose_several(*weights, columns.imbalances, problem.shares)
            keeps = arguments.keeps_imbalance
            return bounded_columns(problem, arguments.bounds, several, keeps_imbalance=keeps)

        return run_collectively(self.blocks.comm, pose)

    def in_pieces(self, places: Places) -> InPieces | None:
        """Return the problem in pieces; None if the whole graph suits a process. Collective.

        `places` are those of owned vertices.

        Raises
        ------
        GraphError, OptionError
            As `make_request` does.
        """
        [rows], arguments, comm = self.rows, self.arguments, self.blocks.comm
        others = places.home is not None or places.together is not None
        if comm.totals(others)[0] or not 1 < arguments.k < rows.global_n:
            return None
        options = replace(arguments.preset_options, branches=())  # no second hierarchies
        small = gathering_of(options, rows.blocks.comm, arguments.small, SEVERAL_SECONDS)
        if rows.backend.is_wide or small.includes(rows):
            return None
        combined = in_one(self.weights, self.totals, rows.global_n)
        [total] = comm.totals(int(combined.sum(dtype=np.int64)))
        problem, several = self.posed(total)
        if several.lower_limits.any():
            return None
        given = places.checked(self.blocks, arguments.k)
        fixed = None if given is None else given.fixed
        if fixed is not None and not comm.totals(int((fixed == NO_PART).sum()))[0]:
            return None
        weights = rows.backend.from_host(combined)
        self.rows.clear()
        level = finest_of(replace(rows, vertex_weights=weights, vertex_weight=total), small)
        assert isinstance(level, PieceLevel)
        if fixed is not None:
            level = replace(level, pinned=level.backend.from_host(fixed))
        return InPieces(self, level, problem, several)

    def found(self, request: Request, outcome: Outcome) -> tuple[Found, MultiConstraint]:
        """Return the parts of owned vertices and the limits, given the outcome of a request."""
        weights, k = request.graph.constraint_weights, request.problem.k
        assert weights is not None
        assert request.several is not None
        empty = int((np.bincount(outcome.parts, minlength=k) == 0).sum())
        held = loads(weights, outcome.parts, k)
        parts = self.owned(outcome.parts)
        found = Found(parts, outcome.cut, held, empty, generations=outcome.generations)
        return found, request.several


@dataclass(frozen=True, eq=False)
class InPieces:
    """A problem with several weights per vertex, in pieces.

    Attributes
    ----------
    columns : Columns
    finest : PieceLevel
        With a combined weight; fixed vertices are pinned.
    problem : Problem
        That of the combined weight.
    several : MultiConstraint
    """

    columns: Columns
    finest: PieceLevel
    problem: Problem
    several: MultiConstraint

    def partition(self, progress: Progress) -> tuple[Found, MultiConstraint]:
        """Partition the graph from scratch. Collective."""
        several, arguments = self._on_level(), self.columns.arguments

        def find(numbers: range, progress: Progress) -> FoundSeveral:
            own = of_generation(self.problem, numbers[0])
            return partition_level(self.finest, own, several, progress, PieceLevels)

        comm = self.columns.blocks.comm
        best, done = best_generation(arguments.effort, comm, 1, find, progress)
        return self._found(best.parts, best.quality[1], done)

    def refine(self, parts: IntArray) -> tuple[Found, MultiConstraint]:
        """Refine a partition, given the parts of owned vertices. Collective."""
        backend, pinned = self.finest.backend, self.finest.pinned
        levels = PieceLevels([self.finest], [self._on_level()], self.problem)
        if pinned is not None:
            fixed = backend.to_host(pinned)
            parts = np.where(fixed == NO_PART, parts, fixed)
        with Stopwatch(backend, "refine"):
            found = levels.filled(levels.refined(0, parts, self.problem.seed))
        return self._found(found, levels.quality(0, found)[1])

    def _on_level(self) -> MultiConstraint:
        """Return the constraints in units, with the weights on the level's back end. Collective."""
        backend, comm = self.finest.backend, self.columns.blocks.comm
        own = comm.allgather_objects(divisors_of(self.several.weights).tolist())
        divisors = np.gcd.reduce(np.array(own, np.int64), axis=0)
        return carried(self.several.in_units(divisors), backend.host, backend)

    def _found(
        self, parts: IntArray, cut: int, generations: int = 1
    ) -> tuple[Found, MultiConstraint]:
        """Return the parts of owned vertices, what they weigh, and the limits. Collective.

        `parts` are those of owned vertices, or of all.
        """
        columns, blocks, k = self.columns, self.columns.blocks, self.problem.k
        parts = owned_of(blocks, parts)
        held = summed(blocks.comm, loads(columns.weights, parts, k))
        empty = part_sizes(blocks, parts, k).count(0)
        return Found(parts, cut, held, empty, generations=generations), self.several


def checked_table(blocks: Blocks, block: Block) -> tuple[IntArray, npt.NDArray[np.int64]]:
    """Return several weights of owned vertices, int32, and the totals of all. Collective.

    Raises
    ------
    GraphError
        As `checked_columns` does, with global ids.
    """
    naming = Naming()
    naming.base = blocks.first
    weights = run_collectively(
        blocks.comm, lambda: checked_columns(block.vertex_weights, block.n, naming)
    )
    totals = np.array(blocks.comm.totals(*column_sums(weights).tolist()), np.int64)
    if (totals > INT32_MAX).any():
        raise agreed(
            GraphError(
                f"the {naming.vertex_weights} overflow: the sum of weight {int(totals.argmax())} "
                "over all vertices is 2**31 or more"
            )
        )
    return weights, totals


def partition_columns(
    columns: Columns, places: Places, progress: Progress
) -> tuple[Found, MultiConstraint]:
    """Partition a graph from scratch; `places` are those of owned vertices. Collective."""
    pieces = columns.in_pieces(places)
    if pieces is not None:
        return pieces.partition(progress)
    request = columns.request(places)
    solver = run_collectively(columns.blocks.comm, lambda: request.solver)
    outcome = solver.solve(columns.rows[0].backend, request.effort, progress)
    return columns.found(request, outcome)


def refine_columns(
    columns: Columns, parts: npt.ArrayLike, places: Places, progress: Progress
) -> tuple[Found, MultiConstraint]:
    """Refine a partition, given the parts of owned vertices. Collective."""
    own = checked_parts(columns.blocks, parts, columns.arguments.k)
    pieces = columns.in_pieces(places)
    if pieces is not None:
        return pieces.refine(own)
    request = columns.request(places)
    solver = run_collectively(columns.blocks.comm, lambda: request.refining_solver)
    outcome = solver.refine(columns.rows[0].backend, columns.gather(own), progress)
    return columns.found(request, outcome)


def measure_columns(columns: Columns, parts: npt.ArrayLike) -> tuple[Found, MultiConstraint]:
    """Return the parts of owned vertices, after checks, and what they weigh. Collective."""
    arguments, comm, k = columns.arguments, columns.blocks.comm, columns.arguments.k
    assert arguments.columns is not None
    found = measure_rows(columns.rows, arguments.problem_of(columns.blocks.n), parts)
    own = loads(columns.weights, found.parts, k)
    held = summed(comm, own)
    shares = np.ones(k, np.int64)
    ideals, limits = limits_of_columns(columns.totals, arguments.columns.imbalances, shares)
    lower = np.zeros_like(limits)
    empty = part_sizes(columns.blocks, found.parts, k).count(0)
    measured = found._replace(part_weights=held, empty_parts=empty)
    return measured, MultiConstraint(columns.weights, ideals, limits, lower, columns.totals)
