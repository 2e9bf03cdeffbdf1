"""A distributed run: from the pieces of a graph to the parts of owned vertices."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.distributed.faults import run_collectively
from jetpy.distributed.levels import GatheredLevel, PieceLevel, gathering_of
from jetpy.distributed.piece import Piece
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.errors import GraphError
from jetpy.multilevel.driver import improve_level, solve_level
from jetpy.multilevel.evolution import GenerationBudget, evolve_uploaded
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.multilevel.outcome import Solution, stage_seconds, trivial_partition
from jetpy.problem.options import Effort
from jetpy.problem.problem import EDGE_CUT, Problem, as_even_as, in_units
from jetpy.progress import Progress, no_progress
from jetpy.refinement.filling import count_vertices
from jetpy.refinement.jet import Refined
from jetpy.refinement.measures import measure, upload_metric


class Found(NamedTuple):
    """Parts of owned vertices (int32), the solution, the weights of all parts (int64), and how many
    parts have no vertex.
    """

    parts: npt.NDArray[np.int32]
    solution: Solution
    part_weights: npt.NDArray[np.int64]
    empty_parts: int


def partition_piece(
    backend: Backend,
    piece: Piece,
    problem: Problem,
    progress: Progress = no_progress,
    small: int | None = None,
) -> Found:
    """Partition the graph from scratch. Collective.

    Levels of at most `small` vertices and directed edges together, and dense levels, are gathered
    on every process; None means the default.
    """
    trivial = trivial_partition(piece.global_n, piece.edge_weight // 2, problem.k)
    if trivial is not None:
        own = trivial.parts[piece.blocks.first : piece.blocks.end]
        return measure_piece(backend, piece, problem, own)
    reduced, problem, unit = _in_units(backend, piece, problem)
    finest = _finest(backend, reduced, problem, small)
    if problem.options.generations > 1:
        assert isinstance(finest, GatheredLevel)
        solution = _evolve(finest, problem, progress)
    else:
        solution = solve_level(finest, [problem], progress)
    return _found(backend, reduced, unit, solution)


def _evolve(whole: GatheredLevel, problem: Problem, progress: Progress) -> Solution:
    """Return the best of a population that every process computes; all find the same."""
    pace = GenerationBudget(Effort(problem.options.generations))
    best, _ = evolve_uploaded(whole.backend, whole.graph, problem, pace, progress)
    return replace(best, refined=whole.given_out(best.refined))


def refine_piece(
    backend: Backend,
    piece: Piece,
    problem: Problem,
    progress: Progress,
    parts: npt.ArrayLike,
    small: int | None,
) -> Found:
    """Refine a partition without coarsening, given the parts of owned vertices. Collective.

    Other arguments as for `partition_piece`.
    """
    own = _checked_parts(piece, parts, problem.k)
    if problem.k == 1 or piece.global_n == 0:
        return measure_piece(backend, piece, problem, own)
    sizes = count_vertices(backend, piece, backend.from_host(own), problem.k)
    problem = as_even_as(problem, backend.to_host(sizes))
    reduced, problem, unit = _in_units(backend, piece, problem)
    finest = _finest(backend, reduced, problem, small)
    start = finest.taken(backend.from_host(own))
    return _found(backend, reduced, unit, improve_level(finest, start, problem, progress))


def measure_piece(backend: Backend, piece: Piece, problem: Problem, parts: npt.ArrayLike) -> Found:
    """Return the parts of owned vertices, after checks, with cut and part weights. Collective."""
    own = _checked_parts(piece, parts, problem.k)
    everywhere = backend.full(piece.n_with_ghosts, 0)
    everywhere[: piece.n_owned] = backend.from_host(own)
    piece.halo.exchange_ghosts(everywhere)
    metric = upload_metric(backend, piece, EDGE_CUT, problem.k)
    measures = measure(backend, piece, everywhere, metric)
    refined = Refined(everywhere, measures, measures.cut, 0)
    return _found(backend, piece, 1, Solution(refined, [], stage_seconds()))


def _checked_parts(piece: Piece, parts: npt.ArrayLike, k: int) -> npt.NDArray[np.int32]:
    """Return the parts of owned vertices as int32; a GraphError on any rank is one on all."""

    def check() -> npt.NDArray[np.int32]:
        given, own = np.asarray(parts), piece.n_owned
        if given.shape != (own,) or (own and given.dtype.kind not in "iu"):
            raise GraphError(f"parts must be {own} integers, one for each owned vertex")
        if own and not (given.min() >= 0 and given.max() < k):
            raise GraphError(f"parts must be in 0..{k - 1}")
        return given.astype(np.int32)

    return run_collectively(piece.blocks.comm, check)


def _in_units(backend: Backend, piece: Piece, problem: Problem) -> tuple[Piece, Problem, int]:
    """Divide vertex weights and limits by the greatest common divisor of the weights; return it.

    If all weights are 0, they become 1 instead (`in_units`).
    """
    weights = piece.vertex_weights[: piece.n_owned]
    own = int(np.gcd.reduce(backend.to_host(weights))) if len(weights) else 0
    unit = gcd(*piece.blocks.comm.allgather_objects(own))
    if unit != 1:
        weights = piece.vertex_weights
        equal = backend.full(len(weights), 1, weights.dtype)
        piece = replace(piece, vertex_weights=weights // unit if unit else equal)
    return piece, in_units(problem, unit, piece.global_n), unit


def _finest(backend: Backend, piece: Piece, problem: Problem, small: int | None) -> HierarchyLevel:
    gathering = gathering_of(problem.options, piece.blocks.comm, small)
    watch = Stopwatch(backend, "coarsen", 0)
    return PieceLevel(backend, piece, None, watch, gathering=gathering).gathered_if_due()


def _found(backend: Backend, piece: Piece, unit: int, solution: Solution) -> Found:
    """Return a solution whose vertex weights were divided by `unit`. Collective."""
    refined = solution.refined
    weights, parts = refined.measures.part_weights, refined.parts
    sizes = count_vertices(backend, piece, parts, len(weights))
    empty = int((backend.to_host(sizes) == 0).sum())
    own = backend.to_host(parts)[: piece.n_owned].copy()
    return Found(own, solution, weights * unit, empty)
