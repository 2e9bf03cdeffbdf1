"""A distributed run: from the pieces of a graph to the parts of owned vertices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

import numpy as np
import numpy.typing as npt

from jetpy.distributed.levels import GatheredLevel, PieceLevel, gather_size
from jetpy.distributed.piece import Piece
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.multilevel.driver import improve_level, solve_level
from jetpy.multilevel.evolution import GenerationBudget, evolve_uploaded
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.multilevel.outcome import Solution
from jetpy.problem.options import Effort
from jetpy.problem.problem import Problem, in_units
from jetpy.progress import Progress, no_progress


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a process.

    Attributes
    ----------
    parts : int32, shape (n_owned,)
        Parts of owned vertices.
    solution : Solution
        Its measures are the same in all processes.
    part_weights : int64, shape (k,)
    """

    parts: npt.NDArray[np.int32]
    solution: Solution
    part_weights: npt.NDArray[np.int64]


def partition_piece(
    backend: Backend,
    piece: Piece,
    problem: Problem,
    small: int | None,
    progress: Progress = no_progress,
) -> Found:
    """Partition the graph from scratch. Collective.

    Levels of at most `small` vertices and directed edges together are gathered on every process;
    None means the default.
    """
    piece, problem = _in_units(backend, piece, problem)
    finest = _finest(backend, piece, problem, small)
    if problem.options.generations > 1:
        assert isinstance(finest, GatheredLevel)
        solution = _evolve(finest, problem, progress)
    else:
        solution = solve_level(finest, [problem], progress)
    return _found(backend, piece, problem, solution)


def _evolve(whole: GatheredLevel, problem: Problem, progress: Progress) -> Solution:
    """Return the best of a population that every process computes; all find the same."""
    pace = GenerationBudget(Effort(problem.options.generations))
    best, _ = evolve_uploaded(whole.backend, whole.graph, problem, pace, progress)
    return replace(best, refined=whole.given_out(best.refined))


def refine_piece(
    backend: Backend,
    piece: Piece,
    parts: npt.NDArray[np.int32],
    problem: Problem,
    small: int | None,
    progress: Progress = no_progress,
) -> Found:
    """Refine a partition without coarsening, given the parts (int32) of owned vertices.

    Collective; other arguments as for `partition_piece`.
    """
    piece, problem = _in_units(backend, piece, problem)
    finest = _finest(backend, piece, problem, small)
    start = finest.taken(backend.from_host(parts.copy()))
    return _found(backend, piece, problem, improve_level(finest, start, problem, progress))


def _in_units(backend: Backend, piece: Piece, problem: Problem) -> tuple[Piece, Problem]:
    """Divide vertex weights and limits by the greatest common divisor of the weights."""
    weights = piece.vertex_weights[: piece.n_owned]
    own = int(np.gcd.reduce(backend.to_host(weights))) if len(weights) else 0
    unit = gcd(*piece.blocks.comm.allgather_objects(own))
    if unit > 1:
        piece = replace(piece, vertex_weights=piece.vertex_weights // unit)
    return piece, in_units(problem, unit)


def _finest(
    backend: Backend, piece: Piece, problem: Problem, small: int | None
) -> PieceLevel | HierarchyLevel:
    gather = gather_size(problem.options, piece.blocks.comm, small)
    level = PieceLevel(backend, piece, None, Stopwatch(backend, "coarsen", 0), gather=gather)
    return level if piece.global_size > gather else level.alone()


def _found(backend: Backend, piece: Piece, problem: Problem, solution: Solution) -> Found:
    parts = backend.to_host(solution.refined.parts)[: piece.n_owned].copy()
    return Found(parts, solution, solution.refined.measures.part_weights * problem.unit)
