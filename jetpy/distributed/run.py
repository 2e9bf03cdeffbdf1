"""A distributed run: from the pieces of a graph to the parts of owned vertices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.device.divisor import common_divisor_on, divided_by
from jetpy.distributed.block import UploadedRows
from jetpy.distributed.faults import run_collectively
from jetpy.distributed.gathering import gathering_of
from jetpy.distributed.levels import GatheredLevel, finest_of
from jetpy.distributed.piece import Blocks
from jetpy.distributed.terminals import Places, replace_fixed
from jetpy.distributed.together import DistributedGroups, Ids, contract_groups, group_names
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.errors import GraphError
from jetpy.evaluation.levels import Level
from jetpy.graph.dlpack import on_host
from jetpy.multilevel.driver import improve_level
from jetpy.multilevel.evolution import GenerationBudget, evolve_level
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.multilevel.outcome import Solution, trivial_partition
from jetpy.problem.fixed import NO_PART, FixedVertices
from jetpy.problem.options import ONCE, Effort
from jetpy.problem.problem import EDGE_CUT, Problem, as_even_as, in_units
from jetpy.progress import Progress, no_progress
from jetpy.refinement.jet import Refined
from jetpy.refinement.measures import measure, upload_metric
from jetpy.refinement.packing import one_each

NOWHERE = Places()


class Found(NamedTuple):
    """A partition, as each process has it.

    Attributes
    ----------
    parts : int32, shape (n_owned,)
        Parts of owned vertices.
    cut : int
    part_weights : int64, shape (k,), or (k, c) for several weights of each vertex
        Weights of all parts.
    empty_parts : int
        Number of parts without a vertex.
    levels : sequence of Level
        Finest first.
    moved : tuple of int, or None
        With homes, the number and the weight of all vertices that have left their homes.
    generations : int
        Number of partitions found or recombined.
    disconnected : mapping of int to str
        Reason for each part that is not connected, if connected parts were requested.
    communication_volume : int or None
        If it was the objective.
    """

    parts: npt.NDArray[np.int32]
    cut: int
    part_weights: npt.NDArray[np.int64]
    empty_parts: int
    levels: Sequence[Level] = ()
    moved: tuple[int, int] | None = None
    generations: int = 1
    disconnected: Mapping[int, str] = {}
    communication_volume: int | None = None


def partition_rows(
    rows: list[UploadedRows],
    problem: Problem,
    progress: Progress = no_progress,
    effort: Effort = ONCE,
    small: int | None = None,
    places: Places = NOWHERE,
) -> Found:
    """Partition the graph of the only entry of a list from scratch. Collective.

    `places` are the fixed and home parts of owned vertices. Levels of at most `small` vertices and
    directed edges together, and dense levels, are gathered on every process; None means that jetpy
    predicts when gathering saves time. Empties `rows`, so that their memory is free once the finest
    level is made.
    """
    blocks = rows[0].blocks
    fixed, names = places.checked(blocks, problem.k), group_names(blocks, places.together)
    if names is None:
        return _partition(rows, problem, progress, effort, small, fixed)
    [own] = rows
    coarse, groups, of_groups = _grouped(own, names, fixed, problem)
    found = _partition(coarse, problem, progress, effort, small, of_groups)
    return _ungrouped(own, groups, found, problem, fixed)


def _grouped(
    rows: UploadedRows, names: Ids, fixed: FixedVertices | None, problem: Problem
) -> tuple[list[UploadedRows], DistributedGroups, FixedVertices | None]:
    """Return the rows in which each group is one vertex, the groups and their places. Collective.

    The rows are in a list, as for `partition_rows`.
    """
    coarse, groups = contract_groups(rows, names)
    of_groups = None if fixed is None else groups.of_places(fixed)
    groups.check_weights(problem, of_groups)
    if fixed is not None and of_groups is not None:
        groups.check_fixed(fixed, of_groups, names)
    return [coarse], groups, of_groups


def _ungrouped(
    rows: UploadedRows,
    groups: DistributedGroups,
    found: Found,
    problem: Problem,
    fixed: FixedVertices | None,
) -> Found:
    """Return what was found for groups as found for their vertices. Collective."""
    parts = groups.expanded(found.parts)
    return _measured(rows, problem, parts, found.levels, fixed, found.generations)


def _measured(
    rows: UploadedRows,
    problem: Problem,
    parts: npt.NDArray[np.int32],
    levels: Sequence[Level],
    fixed: FixedVertices | None,
    generations: int,
) -> Found:
    """Return what was found for another graph as found for a graph. Collective."""
    found = measure_rows([rows], problem, parts)
    return found._replace(
        levels=levels,
        moved=moved_of(rows, found.parts, fixed),
        generations=generations,
    )


def _partition(
    rows: list[UploadedRows],
    problem: Problem,
    progress: Progress,
    effort: Effort,
    small: int | None,
    fixed: FixedVertices | None,
) -> Found:
    """Partition as `partition_rows` does, without groups. Collective."""
    [own] = rows
    backend, blocks = own.backend, own.blocks
    if fixed is not None and problem.k > 1:
        return _around_terminals(own, problem, progress, small, fixed, effort)
    trivial = _trivial_parts(own, problem)
    if trivial is not None:
        found = measure_rows(rows, problem, trivial[blocks.first : blocks.end])
        return found._replace(moved=moved_of(own, found.parts, fixed))
    del own
    with Stopwatch(backend, "coarsen"):
        finest, problem, unit = _finest(rows, problem, small)
    solution, generations = _evolve(finest, problem, blocks, progress, effort)
    return _found(backend, blocks, unit, solution)._replace(generations=generations)


def _around_terminals(
    rows: UploadedRows,
    problem: Problem,
    progress: Progress,
    small: int | None,
    places: FixedVertices,
    effort: Effort = ONCE,
    start: npt.NDArray[np.int32] | None = None,
) -> Found:
    """Partition a graph, or refine `start`, with places of owned vertices. Collective."""
    with Stopwatch(rows.backend, "coarsen"):
        replaced, posed, within = replace_fixed(rows, problem, places)
        backend, made = replaced[0].backend, replaced[0].blocks
        finest, own, unit = _finest(replaced, posed, small, within.terminals.parts)
    generations = 1
    if start is None:
        solution, generations = _evolve(finest, own, rows.blocks, progress, effort, within.home)
    else:
        parts = finest.taken(backend.from_host(within.start(start)))
        solution = improve_level(finest, parts, own, progress)
    parts = _found(backend, made, unit, solution).parts
    return _measured(rows, problem, within.without(parts), solution.levels, places, generations)


def moved_of(
    rows: UploadedRows, parts: npt.NDArray[np.int32], places: FixedVertices | None
) -> tuple[int, int] | None:
    """Return the number and the weight of all vertices that have left their homes. Collective."""
    if places is None or places.home is None:
        return None
    home = places.home
    has_left = (home != NO_PART) & (parts != home)
    weight = int(rows.backend.to_host(rows.vertex_weights)[has_left].sum(dtype=np.int64))
    count, weight = rows.blocks.comm.totals(int(has_left.sum()), weight)
    return count, weight


def _trivial_parts(rows: UploadedRows, problem: Problem) -> npt.NDArray[np.int32] | None:
    """Return the parts of all vertices (int32) if there are at most k, or if k is 1. Collective."""
    backend, comm = rows.backend, rows.blocks.comm
    trivial = trivial_partition(rows.global_n, rows.edge_weight // 2, problem.k)
    if trivial is None:
        return None
    if problem.k == 1 or problem.targets is None:
        return trivial.parts
    weights = backend.to_host(comm.gather(backend, rows.vertex_weights))
    return one_each(weights, problem.targets, problem.limits, problem.lower_limits)


def _evolve(
    finest: HierarchyLevel,
    problem: Problem,
    blocks: Blocks,
    progress: Progress,
    effort: Effort,
    home: npt.NDArray[np.int32] | None = None,
) -> tuple[Solution, int]:
    """Return the best of a population, and the number of generations. Collective.

    `home` are the home parts of owned vertices.
    """
    comm = blocks.comm
    pace = GenerationBudget(effort, lambda is_time: comm.totals(is_time)[0] == comm.size)
    if not isinstance(finest, GatheredLevel):
        return evolve_level(finest, problem, pace, progress, home)
    if home is not None:
        home = finest.backend.to_host(finest.taken(finest.source.from_host(home)))
    best, generations = evolve_level(finest.whole, problem, pace, progress, home)
    return replace(best, refined=finest.given_out(best.refined)), generations


def refine_rows(
    rows: list[UploadedRows],
    problem: Problem,
    progress: Progress,
    parts: npt.ArrayLike,
    small: int | None,
    places: Places = NOWHERE,
) -> Found:
    """Refine a partition without coarsening, given the parts of owned vertices. Collective.

    Other arguments as for `partition_rows`.
    """
    blocks = rows[0].blocks
    own = checked_parts(blocks, parts, problem.k)
    fixed, names = places.checked(blocks, problem.k), group_names(blocks, places.together)
    problem = as_even_as(problem, np.array(part_sizes(blocks, own, problem.k)))
    if names is None:
        return _refine(rows, problem, progress, own, small, fixed)
    [fine] = rows
    coarse, groups, of_groups = _grouped(fine, names, fixed, problem)
    start = groups.common_parts(own)
    found = _refine(coarse, problem, progress, start, small, of_groups)
    return _ungrouped(fine, groups, found, problem, fixed)


def _refine(
    rows: list[UploadedRows],
    problem: Problem,
    progress: Progress,
    own: npt.NDArray[np.int32],
    small: int | None,
    fixed: FixedVertices | None,
) -> Found:
    """Refine as `refine_rows` does, without groups. Collective."""
    backend, blocks = rows[0].backend, rows[0].blocks
    if problem.k == 1 or blocks.n == 0:
        return measure_rows(rows, problem, own)
    if fixed is not None:
        return _around_terminals(rows[0], problem, progress, small, fixed, start=own)
    finest, problem, unit = _finest(rows, problem, small)
    start = finest.taken(backend.from_host(own))
    return _found(backend, blocks, unit, improve_level(finest, start, problem, progress))


def measure_rows(rows: list[UploadedRows], problem: Problem, parts: npt.ArrayLike) -> Found:
    """Return the parts of owned vertices, after checks, with cut and part weights. Collective.

    `rows` as for `partition_rows`.
    """
    backend, blocks = rows[0].backend, rows[0].blocks
    own, piece = checked_parts(blocks, parts, problem.k), rows.pop().as_piece()
    everywhere = backend.full(piece.n_with_ghosts, 0)
    everywhere[: piece.n_owned] = backend.from_host(own)
    piece.halo.exchange_ghosts(everywhere)
    metric = upload_metric(backend, piece, EDGE_CUT, problem.k)
    measures = measure(backend, piece, everywhere, metric)
    refined = Refined(everywhere, measures, measures.cut, 0)
    return _found(backend, blocks, 1, Solution(refined))


def checked_parts(blocks: Blocks, parts: npt.ArrayLike, k: int) -> npt.NDArray[np.int32]:
    """Return the parts of owned vertices as int32; a GraphError on any rank is one on all."""

    def check() -> npt.NDArray[np.int32]:
        given, own = on_host(parts), blocks.end - blocks.first
        if given.shape != (own,) or (own and given.dtype.kind not in "iu"):
            raise GraphError(f"parts must be {own} integers, one for each owned vertex")
        wrong = (given < 0) | (given >= k)
        if wrong.any():
            v = int(wrong.argmax())
            raise GraphError(
                f"vertex {blocks.first + v} is in part {given[v]}; parts must be in 0..{k - 1}"
            )
        return given.astype(np.int32)

    return run_collectively(blocks.comm, check)


def _finest(
    rows: list[UploadedRows],
    problem: Problem,
    small: int | None,
    terminals: npt.NDArray[np.int32] | None = None,
) -> tuple[HierarchyLevel, Problem, int]:
    """Return the finest level, the problem in units, and the unit. Empties `rows`. Collective.

    The unit is the greatest common divisor of the vertex weights, which it divides. If all weights
    are 0, they become 1 instead (`in_units`). `terminals` as for a `PieceLevel`.
    """
    own = rows.pop()
    comm, weights = own.blocks.comm, own.vertex_weights
    unit = common_divisor_on(own.backend, weights, comm.allgather_objects)
    reduced = replace(own, vertex_weights=divided_by(own.backend, weights, unit))
    level = finest_of(reduced, gathering_of(problem.options, comm, small), terminals)
    return level, in_units(problem, unit, own.global_n), unit


def part_sizes(blocks: Blocks, parts: npt.NDArray[np.int32], k: int) -> list[int]:
    """Return the number of vertices of each part, given the parts of owned vertices. Collective."""
    return blocks.comm.totals(*np.bincount(parts, minlength=k).tolist())


def _found(backend: Backend, blocks: Blocks, unit: int, solution: Solution) -> Found:
    """Return a solution whose vertex weights were divided by `unit`. Collective."""
    refined, empty = solution.refined, 0
    weights = refined.measures.part_weights
    own = backend.to_host(refined.parts[: blocks.end - blocks.first])
    if not backend.copies:
        own = own.copy()  # the array has ghosts, too
    if not weights.all():
        empty = part_sizes(blocks, own, len(weights)).count(0)
    return Found(own, refined.measures.cut, weights * unit, empty, solution.levels)
