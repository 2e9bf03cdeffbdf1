"""Driver that makes the parts of a partition connected.

Components other than the heaviest of a part join adjacent parts, which lowers the cut. Then moves
that disconnect no component transfer weight until all parts keep their limits again. Refinement
recovers the increase in cut, but may disconnect parts again, so both alternate a few times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from jetpy.constraints.connected.bridges import bridge
from jetpy.constraints.connected.component_moves import PieceMoves
from jetpy.constraints.connected.contiguity import (
    ContiguityProblem,
    Pieces,
    find_components,
    gather,
    settle,
)
from jetpy.constraints.connected.reassignment import reassign_parts
from jetpy.constraints.connected.relocation import relocate
from jetpy.constraints.terminals import TerminalGraph
from jetpy.device.device_graph import DeviceGraph, upload
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import Graph, IntArray
from jetpy.lazy import cached_property
from jetpy.multilevel.driver import refine_uploaded
from jetpy.multilevel.outcome import Outcome
from jetpy.problem.fixed import NO_PART
from jetpy.problem.metrics import edge_cut
from jetpy.problem.problem import Problem

ROUNDS = 4
"""Maximum number of times that parts are made connected, with refinement in between."""
RELOCATIONS, FAILED_RELOCATIONS = 16, 2
"""Maximum number of relocations in a round, and of consecutive ones without success."""
Quality = tuple[int, int, int, int, int]


class Objective(Protocol):
    """The cost of a partition other than balance and connectedness, and its refinement."""

    def cost(self, parts: IntArray) -> int:
        """Return the cost of parts (int32, shape (n,)): the cut, plus further costs."""

    def refine(self, parts: IntArray) -> IntArray:
        """Return parts of smaller cost, not always connected; balanced if the input is."""


class Refining:
    """The objective of a run, cut and migration cost; refines without coarsening."""

    def __init__(
        self, backend: Backend, graph: Graph, problem: Problem, terminals: TerminalGraph | None
    ) -> None:
        self._backend, self._terminals = backend, terminals
        self._graph = graph if terminals is None else terminals.graph
        self._problem = problem if terminals is None else terminals.problem

    @cached_property
    def _device(self) -> DeviceGraph:
        return upload(self._backend, self._graph)

    def cost(self, parts: IntArray) -> int:
        """Return the cut plus the migration cost, in the units of refinement."""
        own = parts if self._terminals is None else self._terminals.start(parts)
        return edge_cut(self._graph, own)

    def refine(self, parts: IntArray) -> IntArray:
        """Return refined parts."""
        if self._terminals is None:
            return refine_uploaded(self._backend, self._device, parts, self._problem).parts
        start, pinned = self._terminals.start(parts), self._terminals.pinned
        return self._terminals.without(
            refine_uploaded(self._backend, self._device, start, self._problem, pinned=pinned)
        ).parts


def with_connected_parts(
    backend: Backend,
    graph: Graph,
    problem: Problem,
    terminals: TerminalGraph | None,
    outcome: Outcome,
) -> Outcome:
    """Return an outcome with connected parts; `disconnected` has the reasons for exceptions.

    Parameters
    ----------
    backend : Backend
    graph : Graph
    problem : Problem
        Problem for `graph`.
    terminals : TerminalGraph or None
        The graph with terminals, if vertices are fixed or have homes.
    outcome : Outcome
        Outcome for `graph`.
    """
    movable, limits = np.ones(graph.n, np.bool_), problem.limits
    if terminals is not None:
        movable = terminals.places.fixed == NO_PART
        held = np.bincount(outcome.parts[~movable], graph.vertex_weights[~movable], problem.k)
        limits = np.maximum(limits, held.astype(np.int64))
    contiguity = ContiguityProblem(graph, limits, movable)
    parts = outcome.parts
    with Stopwatch(backend, "refine") as watch:
        if problem.k > 1 and graph.n > 0:
            objective = Refining(backend, graph, problem, terminals)
            parts = connect(backend, contiguity, parts, objective, problem.seed)
        why = reasons(contiguity, parts)
    result = outcome.with_parts(graph, parts).with_more("refine", watch.seconds)
    return replace(result, disconnected=why)


def connect(
    backend: Backend,
    contiguity: ContiguityProblem,
    parts: IntArray,
    objective: Objective,
    seed: int,
) -> IntArray:
    """Return a partition whose parts are connected if possible.

    The maximum overload of a part does not increase. At equal overload, the number of disconnected
    parts does not increase or, if the graph has more components than parts, the number of pieces.

    Parameters
    ----------
    backend : Backend
    contiguity : ContiguityProblem
    parts : int32, shape (n,)
    objective : Objective
    seed : int
        Breaks ties between moves.

    Returns
    -------
    int32, shape (n,)
    """
    moves = PieceMoves(backend, contiguity, seed)
    best, quality = parts, _quality(contiguity, parts, objective)
    for number in range(ROUNDS):
        choices = _choices(contiguity, parts)
        tried = [_join(moves, *choice) for choice in choices] or [parts]
        qualities = [_quality(contiguity, joined, objective) for joined in tried]
        found = min(qualities)
        joined = tried[qualities.index(found)]
        if found < quality:
            best, quality = joined, found
        if not choices or number == ROUNDS - 1:
            break
        parts = objective.refine(joined)
    return best


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
    return settle(contiguity, moves.lower_cut(joined), parts)


def _excess(contiguity: ContiguityProblem, parts: IntArray) -> int:
    """Return the total weight of parts above their limits."""
    return int((contiguity.weigh(parts) - contiguity.limits).clip(0).sum())


def _quality(contiguity: ContiguityProblem, parts: IntArray, objective: Objective) -> Quality:
    """Return the sort key: overload, pieces, disconnected parts, their pieces, cost.

    The number of all pieces counts only if the graph has more components than parts. Otherwise it
    matters first that each part is connected.
    """
    overload = max(0, int((contiguity.weigh(parts) - contiguity.limits).max()))
    found = find_components(contiguity, parts)
    pieces = np.bincount(found.parts, minlength=contiguity.k)
    several = pieces[pieces > 1]
    has_more_components = int(contiguity.components.max()) >= contiguity.k
    total = len(found.parts) if has_more_components else 0
    return overload, total, len(several), int(several.sum()), objective.cost(parts)


def reasons(contiguity: ContiguityProblem, parts: IntArray) -> Mapping[int, str]:
    """Return, for each disconnected part, the reason why it is disconnected."""
    pieces = find_components(contiguity, parts)
    count = len(np.unique(pieces.components))
    result = {}
    for p in np.flatnonzero(np.bincount(pieces.parts, minlength=contiguity.k) > 1).tolist():
        own = pieces.parts == p
        if len(np.unique(pieces.components[own])) == own.sum():
            result[p] = (
                f"the graph is in {count:,} pieces, more than there are parts"
                if count > contiguity.k
                else f"the graph is in {count:,} pieces, which do not fit into parts of their own"
            )
        elif pieces.kept[own].sum() > 1:
            result[p] = "no way to join its fixed vertices was found"
        else:
            result[p] = "no way to connect it within the limits was found"
    return result
