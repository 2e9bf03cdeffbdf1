"""Driver that makes the parts of a partition connected.

Components other than the heaviest of a part join adjacent parts, which lowers the cut. Then moves
that disconnect no component transfer weight until all parts keep their limits again. Refinement
recovers the increase in cut, but may disconnect parts again, so both alternate a few times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from jetpy.constraints.connected.bridges import bridge
from jetpy.constraints.connected.component_moves import PieceMoves
from jetpy.constraints.connected.contiguity import (
    ContiguityProblem,
    Pieces,
    assign_components,
    find_components,
    gather,
)
from jetpy.constraints.connected.reassignment import reassign_parts
from jetpy.constraints.connected.recombination import recombine, split
from jetpy.constraints.connected.relocation import relocate
from jetpy.constraints.connected.tree_cuts import TreeCuts
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import Graph, IntArray
from jetpy.multilevel.outcome import Outcome
from jetpy.multilevel.solver import CostSolver
from jetpy.problem.fixed import NO_PART, FixedVertices
from jetpy.problem.options import Effort
from jetpy.problem.problem import Problem
from jetpy.progress import Progress, no_progress

ROUNDS = 4
"""Maximum number of times that parts are made connected, with refinement in between."""
RELOCATIONS, FAILED_RELOCATIONS = 16, 2
"""Maximum number of relocations in a round, and of consecutive ones without success."""
EFFORT_SHARE, MIN_EFFORT, MAX_EFFORT, MIN_EFFORT_SHARE = 1 << 10, 1 << 21, 1 << 25, 4
"""Effort of recombination per vertex and edge, its limits, and the least per vertex and edge."""
Quality = tuple[int, int, int, int, int]


class ConnectedSolver:
    """Makes the parts of another solver's partitions connected.

    Parameters
    ----------
    graph, problem : Graph, Problem
    places : FixedVertices or None
        Fixed vertices, which stay.
    solver : CostSolver
        Partitions the same graph; its refinement alternates with connecting parts.
    """

    def __init__(
        self, graph: Graph, problem: Problem, places: FixedVertices | None, solver: CostSolver
    ) -> None:
        self._graph, self._problem, self._solver = graph, problem, solver
        self._fixed = None if places is None else places.fixed

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Return a partition of connected parts; its `disconnected` has the exceptions.

        It is the best that comes from a generation that was better than all before. More
        generations are therefore never worse.
        """
        return self._connect(engine, self._solver.solve(engine, effort, progress))

    def refine(self, engine: Backend, parts: IntArray, progress: Progress) -> Outcome:
        """Return connected parts, whose cut may be larger than that of `parts`."""
        return self._connect(engine, self._solver.refine(engine, parts, progress))

    def _connect(self, engine: Backend, outcome: Outcome) -> Outcome:
        graph, k, limits = self._graph, self._problem.k, self._problem.limits
        movable = np.ones(graph.n, np.bool_)
        if self._fixed is not None:
            movable = self._fixed == NO_PART
            held = np.bincount(outcome.parts[~movable], graph.vertex_weights[~movable], k)
            limits = np.maximum(limits, held.astype(np.int64))
        contiguity = ContiguityProblem(graph, limits, self._problem.lower_limits, movable)
        parts = outcome.parts
        with Stopwatch(engine, "refine"):
            if k > 1 and graph.n > 0:
                starts = outcome.records or [parts]
                found = [
                    connect(engine, contiguity, start, self._solver, self._problem.seed)
                    for start in reversed(starts)
                ]
                parts = min(found, key=lambda parts: _quality(contiguity, parts, self._solver))
            why = reasons(contiguity, parts)
        return replace(outcome.with_parts(graph, parts), disconnected=why, records=())


def connect(
    backend: Backend,
    contiguity: ContiguityProblem,
    parts: IntArray,
    solver: CostSolver,
    seed: int,
) -> IntArray:
    """Return a partition whose parts are connected if possible.

    The maximum violation of the limits does not increase. At equal violation, the number of
    disconnected parts does not increase or, if the graph has more components than parts, the number
    of pieces.

    Parameters
    ----------
    backend : Backend
    contiguity : ContiguityProblem
    parts : int32, shape (n,)
    solver : CostSolver
        Measures the cost of partitions, and lowers it between rounds.
    seed : int
        Breaks ties between moves.

    Returns
    -------
    int32, shape (n,)
    """
    moves = PieceMoves(backend, contiguity, seed)
    best, quality = parts, _quality(contiguity, parts, solver)
    for number in range(ROUNDS):
        choices = _choices(contiguity, parts)
        tried = [_join(moves, *choice) for choice in choices] or [parts]
        qualities = [_quality(contiguity, joined, solver) for joined in tried]
        found = min(qualities)
        joined = tried[qualities.index(found)]
        if found < quality:
            best, quality = joined, found
        if not choices or number == ROUNDS - 1:
            break
        parts = solver.refine(backend, joined, no_progress).parts
    for joined in _recombined(moves, best, seed):
        found = _quality(contiguity, joined, solver)
        if found < quality:
            best, quality = joined, found
        if _is_valid(contiguity, joined):
            break
    return best


def _is_valid(contiguity: ContiguityProblem, parts: IntArray) -> bool:
    """Return whether all parts keep their limits, and are as connected as the graph allows."""
    violations = contiguity.violations(contiguity.weigh(parts))
    return not violations.any() and _is_whole(find_components(contiguity, parts))


def _may_be_valid(contiguity: ContiguityProblem) -> bool:
    """Return whether the sum of the weights and the largest one fit the limits."""
    weights = contiguity.graph.vertex_weights
    total = int(weights.sum(dtype=np.int64))
    fits = contiguity.lower_limits.sum() <= total <= contiguity.limits.sum()
    return bool(fits and weights.max(initial=0) <= contiguity.limits.max())


def _recombined(moves: PieceMoves, parts: IntArray, seed: int) -> Iterator[IntArray]:
    """Yield partitions found by recombination, unless `parts` (int32, shape (n,)) is valid.

    It starts from `parts` with all pieces joined, then from a split of the whole graph.
    """
    contiguity = moves.contiguity
    graph = contiguity.graph
    if _is_valid(contiguity, parts) or not _may_be_valid(contiguity):
        return
    fixed_to = np.where(contiguity.movable, NO_PART, parts)
    size = graph.n + graph.m
    effort = min(max(EFFORT_SHARE * size, MIN_EFFORT), MAX_EFFORT)
    trees = TreeCuts(fixed_to, seed, max(effort, MIN_EFFORT_SHARE * size))
    choices = _choices(contiguity, parts)
    joined = [moves.balance(gather(contiguity, *choice, crowd=True)) for choice in choices]
    for start in joined or [parts]:
        yield _finish(moves, recombine(contiguity, start, trees), parts)
    whole = split(contiguity, trees)
    if whole is not None:
        yield _finish(moves, recombine(contiguity, whole, trees), parts)


def _choices(contiguity: ContiguityProblem, parts: IntArray) -> list[tuple[IntArray, Pieces]]:
    """Return candidate partitions with the pieces to keep; empty if no piece can join another.

    The first is the current one, with bridges; a second one has reassigned parts, if possible.
    """
    pieces = find_components(contiguity, parts)
    is_whole = _is_whole(pieces)
    if np.bincount(pieces.parts[pieces.kept]).max(initial=0) > 1:
        parts = bridge(contiguity, parts)
        pieces = find_components(contiguity, parts)
    choices = [] if is_whole else [(parts, pieces)]
    reassigned = reassign_parts(contiguity, parts, pieces)
    return choices if reassigned is None else [*choices, reassigned]


def _is_whole(pieces: Pieces) -> bool:
    """Return whether each part keeps one piece, and all others are components of the graph."""
    if np.bincount(pieces.parts[pieces.kept]).max(initial=0) > 1:
        return False
    loose = pieces.components[~pieces.kept]
    return bool(pieces.adrift[~pieces.kept].all()) and len(np.unique(loose)) == len(loose)


def _join(moves: PieceMoves, parts: IntArray, pieces: Pieces) -> IntArray:
    """Return balanced, connected parts or, if that fails, parts with few pieces."""
    contiguity = moves.contiguity
    joined = moves.balance(gather(contiguity, parts, pieces, crowd=True))
    excess, tries, failed = _excess(contiguity, joined), 0, 0
    while excess and tries < RELOCATIONS and failed < min(FAILED_RELOCATIONS, contiguity.k):
        tries += 1
        moved = relocate(contiguity, joined, failed)
        failed += 1
        if moved is not None:
            moved = moves.balance(moved)
            if _excess(contiguity, moved) < excess:
                joined, excess, failed = moved, _excess(contiguity, moved), 0
    if excess:
        joined = moves.balance(joined, anywhere=True)
    if _excess(contiguity, joined):
        joined = gather(contiguity, parts, pieces, crowd=False)
    return _finish(moves, joined, parts)


def _finish(moves: PieceMoves, joined: IntArray, parts: IntArray) -> IntArray:
    """Return connected parts after their cut was lowered, and adrift pieces got a part."""
    return assign_components(moves.contiguity, moves.lower_cut(joined), parts)


def _excess(contiguity: ContiguityProblem, parts: IntArray) -> int:
    """Return the total weight of parts above their limits."""
    return int((contiguity.weigh(parts) - contiguity.limits).clip(0).sum())


def _quality(contiguity: ContiguityProblem, parts: IntArray, solver: CostSolver) -> Quality:
    """Return the sort key: violation, pieces, disconnected parts, their pieces, cost.

    The violation is the largest weight of a part above its limit or below its lower limit. The
    number of all pieces counts only if the graph has more components than parts. Otherwise it
    matters first that each part is connected.
    """
    violation = int(contiguity.violations(contiguity.weigh(parts)).max())
    found = find_components(contiguity, parts)
    pieces = np.bincount(found.parts, minlength=contiguity.k)
    several = pieces[pieces > 1]
    has_more_components = int(contiguity.components.max()) >= contiguity.k
    total = len(found.parts) if has_more_components else 0
    return violation, total, len(several), int(several.sum()), solver.cost(parts)


def reasons(contiguity: ContiguityProblem, parts: IntArray) -> Mapping[int, str]:
    """Return, for each disconnected part, the reason why it is disconnected."""
    pieces = find_components(contiguity, parts)
    count = len(np.unique(pieces.components))
    result = {}
    for p in np.flatnonzero(np.bincount(pieces.parts, minlength=contiguity.k) > 1).tolist():
        own = pieces.parts == p
        if len(np.unique(pieces.components[own])) == own.sum():
            result[p] = (
                f"the graph has {count:,} components, more than there are parts"
                if count > contiguity.k
                else f"the graph has {count:,} components, and they do not fit into separate parts"
            )
        elif pieces.kept[own].sum() > 1:
            result[p] = "jetpy found no way to connect the fixed vertices of the part"
        else:
            result[p] = "jetpy found no way to connect the part within the limits"
    return result
