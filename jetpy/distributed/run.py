"""A run of all processes: from pieces of a graph to the parts of their vertices."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Backend
from jetpy.distributed.levels import PieceLevel, gather_size
from jetpy.distributed.piece import Piece
from jetpy.hierarchy import HierarchyLevel
from jetpy.multilevel import solve_level
from jetpy.outcome import Solution
from jetpy.problem import Problem, in_units
from jetpy.progress import Progress, no_progress
from jetpy.stopwatch import Stopwatch


def partition_piece(
    backend: Backend,
    piece: Piece,
    problem: Problem,
    small: int,
    progress: Progress = no_progress,
) -> tuple[npt.NDArray[np.int32], Solution, int]:
    """Return the parts of own vertices (int32), what was found in all, and its unit of weight.

    Levels of at most `small` vertices and directed edges together are gathered on every process.
    """
    unit = gcd(*piece.blocks.comm.gather_objects(_unit(backend, piece)))
    if unit > 1:
        piece = replace(piece, vertex_weights=piece.vertex_weights // unit)
    steps = [in_units(problem, unit)]
    finest = _finest(backend, piece, gather_size(problem.options, small))
    solution = solve_level(finest, steps, progress)
    parts = backend.to_host(solution.refined.parts)[: piece.own].copy()
    return parts, solution, unit


def _finest(backend: Backend, piece: Piece, gather: float) -> HierarchyLevel:
    level = PieceLevel(backend, piece, None, Stopwatch(backend, "coarsen", 0), gather=gather)
    return level if piece.all_size > gather else level.alone()


def _unit(backend: Backend, piece: Piece) -> int:
    """Return the greatest common divisor of the weights of own vertices; 0 if there are none."""
    weights = piece.vertex_weights[: piece.own]
    return int(np.gcd.reduce(backend.to_host(weights))) if len(weights) else 0
