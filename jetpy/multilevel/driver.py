"""The multilevel driver: coarsen, partition the coarsest graph, project and refine.

This is the order of the stages for large graphs (Jet, Algorithm 2.1). `small_graphs.py` runs
those of small ones, and `given_hierarchy.py` refines on levels of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, divide_weights, upload
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.evaluation.levels import Level
from jetpy.graph.csr import Graph
from jetpy.multilevel.core import gather_core
from jetpy.multilevel.hierarchy import (
    HierarchyLevel,
    coarsen,
    coarsest_size,
    finest_level,
)
from jetpy.multilevel.hierarchy_portfolio import add_hierarchies, partition_best
from jetpy.multilevel.index_width import is_narrow, narrow_problem
from jetpy.multilevel.outcome import Outcome, Solution, level_report
from jetpy.multilevel.overlay import overlay
from jetpy.multilevel.small_graphs import small_level, solve_small
from jetpy.multilevel.subgraphs import within_blocks
from jetpy.multilevel.uncoarsening import uncoarsen
from jetpy.multilevel.vcycle import is_cycled, run_cycles
from jetpy.problem.problem import EDGE_CUT, Problem, in_units, within
from jetpy.progress import Progress, no_progress
from jetpy.refinement.jet import Refined
from jetpy.refinement.measures import Measures, cost_of


def partition_multilevel(
    backend: Backend, graph: Graph, steps: Sequence[Problem], progress: Progress = no_progress
) -> Outcome:
    """Partition `graph` from scratch.

    With several steps, the coarsest level is partitioned for the first step. On finer levels, the
    parts of each step are divided into those of the next. The last step is the actual problem.
    """
    with Stopwatch(backend, "coarsen"):
        device = upload(backend, graph)
    return partition_uploaded(backend, device, steps, progress)


def partition_uploaded(
    backend: Backend,
    device: DeviceGraph,
    steps: Sequence[Problem],
    progress: Progress = no_progress,
) -> Outcome:
    """Partition a graph on the back end from scratch, as `partition_multilevel` does."""
    reduced, unit = divide_weights(backend, device)
    solution = solve(backend, reduced, [in_units(s, unit, device.n) for s in steps], None, progress)
    with Stopwatch(backend, "refine"):
        refined = solution.refined
        cut, cost = refined.measures.cut, refined.measures.cut * steps[-1].metric.factor
        if steps[-1].metric is not EDGE_CUT:
            cut = cost_of(backend, device, refined.parts, EDGE_CUT, steps[-1].k)
        parts = backend.to_host(refined.parts)
    return Outcome(parts, cut, cost, solution.levels)


def refine_uploaded(
    backend: Backend,
    device: DeviceGraph,
    parts: npt.NDArray[np.int32],
    problem: Problem,
    progress: Progress = no_progress,
    pinned: npt.NDArray[np.int32] | None = None,
) -> Outcome:
    """Refine a partition (int32, shape (n,)) of a graph on the back end without coarsening.

    `pinned` as for `solve`.
    """
    with Stopwatch(backend, "refine"):
        reduced, unit = divide_weights(backend, device)
        kept = None if pinned is None else backend.from_host(pinned)
        start = backend.from_host(parts.copy())
        own = in_units(problem, unit, device.n)
        solution = improve(backend, reduced, start, own, progress, kept)
        result = backend.to_host(solution.refined.parts)
    cut = solution.refined.measures.cut
    return Outcome(result, cut, cut, solution.levels)


def improve(
    backend: Backend,
    graph: DeviceGraph,
    parts: Array,
    problem: Problem,
    progress: Progress,
    pinned: Array | None = None,
) -> Solution:
    """Refine a partition (int32, shape (n,)) without coarsening; other arguments as for `solve`."""
    return improve_level(finest_level(backend, graph, None, pinned), parts, problem, progress)


def improve_level(
    finest: HierarchyLevel, parts: Array, problem: Problem, progress: Progress
) -> Solution:
    """Refine a partition of the graph of a level, as `improve` does."""
    return refine_levels([finest], [problem], parts, None, progress)


def solve(
    backend: Backend,
    graph: DeviceGraph,
    steps: Sequence[Problem],
    groups: Array | None,
    progress: Progress,
    pinned: Array | None = None,
) -> Solution:
    """Partition a graph on the back end whose vertex weights have no common divisor.

    `groups` (int32, shape (n,)) are the groups of vertices if the first step has several. `pinned`
    (int32, shape (n,)) are the parts in which vertices must be, -1 for free vertices.
    """
    return solve_level(finest_level(backend, graph, groups, pinned), steps, progress)


def solve_level(finest: HierarchyLevel, steps: Sequence[Problem], progress: Progress) -> Solution:
    """Partition the graph of a level, as `solve` does."""
    small = small_level(finest, steps)
    if small is not None:
        return solve_small(small, steps[0], progress)
    backend = finest.backend
    if backend.is_wide:
        return _solve_wide(finest, steps, progress)
    with Stopwatch(backend, "coarsen"):
        hierarchies = [coarsen_to_refine(finest, steps, progress)]
        hierarchies += add_hierarchies(hierarchies[0], steps)
    return solve_hierarchies(hierarchies, steps, progress)


def coarsen_to_refine(
    finest: HierarchyLevel,
    steps: Sequence[Problem],
    progress: Progress,
    until: Callable[[DeviceGraph], bool] | None = None,
) -> list[HierarchyLevel]:
    """Return the hierarchy of a level for `refine_levels`: levels that it passes have no edges."""
    return coarsen(finest, steps, progress, until=until, is_passed=partial(is_passed, steps))


def is_passed(steps: Sequence[Problem], levels: Sequence[HierarchyLevel]) -> bool:
    """Return whether parts are only projected on the last of some levels, whatever follows.

    It is neither refined, nor has it V-cycles or several hierarchies.
    """
    *finer, level = levels
    return all(
        not step.options.refine.is_refined(len(finer))
        and not is_cycled(level, finer, step.options)
        and level.graph.global_size > step.options.portfolio_limit
        for step in steps
    )


def solve_hierarchies(
    hierarchies: list[list[HierarchyLevel]], steps: Sequence[Problem], progress: Progress
) -> Solution:
    """Partition the graph of several hierarchies, with the best one; empties the list."""
    with Stopwatch(hierarchies[0][0].backend, "initial"):
        hierarchy, start = partition_best(hierarchies, steps[0])
    hierarchies.clear()  # so that refinement frees the levels that it has finished
    is_refined = hierarchy[-1].is_for_tasks(steps[0])
    return refine_levels(
        hierarchy, steps, start.parts, start.measures, progress, is_refined=is_refined
    )


def _solve_wide(finest: HierarchyLevel, steps: Sequence[Problem], progress: Progress) -> Solution:
    """Solve like `solve`, with 64-bit kernels on the levels that require them.

    Coarsening ends at the first level that fits into 32 bits, if any. This level is partitioned as
    a separate graph, with rounded weights if necessary, and then refined with its exact weights.
    """
    with Stopwatch(finest.backend, "coarsen"):
        until = partial(is_narrow, problem=steps[-1])
        hierarchy = coarsen_to_refine(finest, steps, progress, until)
    return refine_wide(hierarchy, solve_narrow(hierarchy[-1], steps), steps, progress)


def refine_wide(
    hierarchy: list[HierarchyLevel], coarse: Solution, steps: Sequence[Problem], progress: Progress
) -> Solution:
    """Refine with 64-bit kernels, given a solution of the coarsest level by 32-bit kernels.

    Empties `hierarchy`.
    """
    fine = refine_levels(hierarchy, [steps[-1]], coarse.refined.parts, None, progress)
    deeper = [replace(level, level=level.level + len(fine.levels)) for level in coarse.levels]
    return Solution(fine.refined, [*fine.levels, *deeper])


def solve_narrow(level: HierarchyLevel, steps: Sequence[Problem]) -> Solution:
    """Partition a level of a 64-bit back end from scratch with 32-bit kernels."""
    with Stopwatch(level.backend, "coarsen"):
        within = [narrow_problem(level.graph, step) for step in steps]
        narrow = level.with_narrow_kernels(steps[-1])
    return solve_level(narrow, within, no_progress)


def recombine(
    whole: HierarchyLevel, problem: Problem, better: Solution, other: Solution
) -> Solution:
    """Combine two partitions of the graph of a level into one not worse than the better one.

    Two vertices are contracted only if they share a part in both partitions. Every level can
    therefore represent the better partition, from which refinement starts, and each block on which
    the other partition differs can move as a whole. There are no V-cycles, because this is one
    itself.

    Source: Sanders, Schulz, "Distributed evolutionary graph partitioning", ALENEX 2012.
    """
    problem = replace(problem, options=replace(problem.options, cycles=0))
    backend, n, start = whole.backend, whole.graph.n, better.refined
    with Stopwatch(backend, "coarsen"):
        pairs = overlay(
            backend, start.parts[:n], other.refined.parts[:n], problem.k, whole.graph.halo
        )
        hierarchy = coarsen_to_refine(whole.as_finest(pairs.blocks), [problem], no_progress)
        coarsest = hierarchy[-1]
        parts = pairs.first(coarsest.backend, coarsest.blocks)
    child = refine_levels(hierarchy, [problem], parts, start.measures, no_progress)
    is_worse = child.refined.measures.quality(problem) > start.measures.quality(problem)
    return replace(better) if is_worse else child  # members of a population are not identical


def refine_levels(
    hierarchy: list[HierarchyLevel],
    steps: Sequence[Problem],
    parts: Array,
    known: Measures | None,
    progress: Progress,
    *,
    is_refined: bool = False,
) -> Solution:
    """Refine on every level from the coarsest up.

    `parts` are the coarsest level's in the first step, `known` their measures if available. If they
    are refined already (`is_refined`), the coarsest level is left out, unless it is the only one.
    Empties `hierarchy`.
    """
    first = len(hierarchy) - 1 - int(is_refined)
    refiner = _StepRefiner(steps, hierarchy[0].graph.edge_weight // 2, known, first)
    with Stopwatch(hierarchy[0].backend, "refine"):
        _, watches = uncoarsen(hierarchy, parts, refiner.refine, progress)
    timed = [level.timed(watch) for level, watch in zip(refiner.levels, watches, strict=True)]
    return Solution(refiner.refined, timed)


class _StepRefiner:
    """Refines levels, with V-cycles, and divides parts for the next step on fine levels.

    Parameters
    ----------
    steps : sequence of Problem
    weight : int
        Total edge weight of the graph.
    known : Measures or None
        Measures of the first partition to refine.
    first : int
        Depth of the coarsest level that may be refined.

    Attributes
    ----------
    refined : Refined
        The last result.
    levels : list of Level
        Report on each level, finest level first, without the times of refinement.
    """

    refined: Refined

    def __init__(
        self, steps: Sequence[Problem], weight: int, known: Measures | None, first: int
    ) -> None:
        self._problem, *self._later = steps
        self._weight, self._known, self._first = weight, known, max(0, first)
        self.levels: list[Level] = []

    def refine(self, level: HierarchyLevel, finer: Sequence[HierarchyLevel], parts: Array) -> Array:
        """Refine a level; continue with later steps if it is fine enough, and run its V-cycles."""
        if self._known is not None and not self._is_refined(level, finer):
            parts = level.with_ghosts(parts)
            self._report(level, len(finer), Refined(parts, self._known, self._known.cut, 0))
            return parts
        depth = len(finer)
        refined = level.refine(self._problem, parts, depth, self._known)
        while self._later and (depth == 0 or self._is_time(level, refined)):
            parts = _extend(level, refined, self._later)
            self._problem, *self._later = self._later
            refined = level.refine(self._problem, parts, depth)
        refined = run_cycles(level, finer, self._problem, refined)
        if depth == 0:
            refined = gather_core(level, self._problem, refined)
            refined = level.finish(self._problem, refined)
        self.refined, self._known = refined, refined.measures
        self._report(level, depth, refined)
        return refined.parts

    def _report(self, level: HierarchyLevel, depth: int, refined: Refined) -> None:
        self.levels.insert(0, level_report(depth, level, refined, self._problem))

    def _is_refined(self, level: HierarchyLevel, finer: Sequence[HierarchyLevel]) -> bool:
        options, depth = self._problem.options, len(finer)
        is_wanted = options.refine.is_refined(depth) or is_cycled(level, finer, options)
        return is_wanted and depth <= self._first

    def _is_time(self, level: HierarchyLevel, refined: Refined) -> bool:
        """Return whether a level is fine enough for the next step.

        With a large cut, coarse levels say little about fine ones, and parts must be good before
        they are divided.
        """
        step, full = self._later[0], self._problem.metric.farthest * self._weight
        share = step.options.cut_share
        return (
            share is not None
            and level.graph.global_n
            >= coarsest_size(step.options.coarsen, level.graph.global_n, step.k)
            and refined.measures.cut <= share * full
        )


def _extend(level: HierarchyLevel, refined: Refined, steps: Sequence[Problem]) -> Array:
    """Divide the parts of a level into those of the next step.

    All parts are divided at once, as one graph without the edges between them, in which every
    vertex stays within its old part. Source: hierarchical multisection, Samoldekin, Schulz, Woydt,
    "GPU-Accelerated Algorithms for Process Mapping" (2025), section 4.1, where each part is a
    separate problem.
    """
    backend = level.backend
    inside = within_blocks(backend, level.graph, refined.parts)
    problem = within(steps[0], steps[-1], refined.measures.part_weights, len(steps))
    return solve(backend, inside, [problem], refined.parts, no_progress).refined.parts
