"""The multilevel method for several weights per vertex.

The hierarchy and most initial partitions use one combined weight; one of them is by recursive
bisection with all weights. On every level, one task on the host then relieves parts above a limit,
and improves the cut within all limits. V-cycles repeat this. Several processes, each with the whole
graph, share out generations, tries on the coarsest level, and V-cycles. Source: Karypis, Kumar,
"Multilevel algorithms for multi-constraint graph partitioning", SC 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.constraints.bisection import Block, bisect_recursively
from jetpy.device.device_graph import DeviceGraph, carry_graph, download, upload
from jetpy.device.processes import ALONE, Processes
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import Graph, IntArray
from jetpy.initial.coarsest import Tries, count_tries, starting_partitions
from jetpy.multilevel.evolution import SEED_STEP, GenerationBudget
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen, finest_level, inject, project
from jetpy.multilevel.outcome import Outcome, trivial_outcome
from jetpy.multilevel.solver import RefiningSolver, Solver
from jetpy.multilevel.uncoarsening import uncoarsen
from jetpy.problem.fixed import NO_PART
from jetpy.problem.metrics import edge_cut
from jetpy.problem.multiconstraint import MultiConstraint
from jetpy.problem.options import Effort
from jetpy.problem.problem import SEEDS, Problem
from jetpy.progress import Progress, no_progress
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.constraints import multiconstraint as kernels

PASSES = 10
"""Maximum number of refinement passes on a level."""
MIN_VERTICES = 16
"""Minimum number of vertices for each part with which the coarsest level is also bisected."""
MAX_TRIES = 8
"""Maximum number of tries of each of these bisections."""
CYCLES = 3
"""Number of V-cycles per V-cycle of the preset."""

Parts = npt.NDArray[np.int32]
Quality = tuple[int, int]
"""Excess above the limits, then the cut; smaller is better."""


def state_of(
    host: Backend, graph: DeviceGraph, several: MultiConstraint, parts: IntArray, pinned: IntArray
) -> kernels.MultiConstraint:
    """Return the state of a level, whose graph is on the host, with parts (int32, shape (n,)).

    `pinned` (int32, shape (n,)) are the parts of vertices that must stay, -1 for free vertices.
    """
    n, (k, kinds) = len(parts), several.limits.shape
    has_row = np.diff(host.to_host(graph.indptr)) > k
    rows = np.cumsum(has_row, dtype=np.int64) * k
    numbers = np.zeros(Field.COUNT, np.int64)
    numbers[Field.END] = n
    state: kernels.MultiConstraint = host.group(
        kernels.MultiConstraint,
        n,
        weights=host.from_host(several.weights.ravel()),
        limits=host.from_host(several.limits.ravel()),
        lower_limits=host.from_host(several.lower_limits.ravel()),
        loads=host.full(k * kinds, 0, np.int64),
        factors=host.from_host(several.factors),
        parts=host.from_host(parts.copy()),
        pinned=host.from_host(pinned),
        connections=host.full(k * (1 + int(has_row.sum())), 0, np.int64),
        rows=host.from_host(np.where(has_row, rows, 0)),
        keys=host.empty(n, np.int64),
        numbers=host.from_host(numbers),
        kinds=kinds,
    )
    return state


class Found(NamedTuple):
    """Parts (int32, shape (n,)) and their quality."""

    parts: Parts
    quality: Quality


class Levels:
    """A hierarchy with the weights and limits of each level; coarse levels have higher limits."""

    def __init__(self, hierarchy: list[HierarchyLevel], several: MultiConstraint) -> None:
        self._host = hierarchy[0].backend.host
        self.hierarchy, self.constraints = hierarchy, [several]
        for finer, level in pairwise(hierarchy):
            coarse_of = finer.backend.to_host(level.coarse_of)
            self.constraints.append(self.constraints[-1].coarsened(coarse_of, level.graph.n))
        self.constraints[1:] = [own.loosened() for own in self.constraints[1:]]

    def refine(self, depth: int, parts: IntArray, seed: int) -> Parts:
        """Refine a partition (int32, shape (n,)) of a level on the host."""
        level, several = self.hierarchy[depth], self.constraints[depth]
        graph = carry_graph(level.graph, level.backend, self._host)
        state = state_of(self._host, graph, several, parts, _pinned(level))
        size = {"n": graph.n, "k": len(several.limits)}
        self._host.run_tasks(
            1, kernels.refine_level, passes=PASSES, seed=seed, graph=graph, state=state, **size
        )
        return self._host.to_host(state.parts)

    def filled(self, parts: IntArray, problem: Problem) -> Parts:
        """Return parts of the finest level, none of them empty if the problem asks for that.

        To fill them, refinement treats the number of vertices as another weight, at least 1. Parts
        remain empty if there are not enough vertices that may move, or they are too heavy.
        """
        if not problem.fill or len(np.unique(parts)) == problem.k:
            return parts
        counted = Levels(self.hierarchy[:1], self.constraints[0].with_counts())
        return counted.refine(0, parts, problem.seed)

    def quality(self, depth: int, parts: IntArray) -> Quality:
        """Return the excess and the cut of a partition of a level."""
        level = self.hierarchy[depth]
        graph = download(level.backend, level.graph)
        return self.constraints[depth].excess(parts), edge_cut(graph, parts)

    def coarsest(self, parts: IntArray) -> Array:
        """Return the parts of the coarsest level; contracted vertices must share a part."""
        found = self.hierarchy[0].backend.from_host(parts)
        for finer, level in pairwise(self.hierarchy):
            found = inject(finer, level, found)
        return found

    def uncoarsen(self, hierarchy: list[HierarchyLevel], parts: Array, seed: int) -> Parts:
        """Refine parts of the last level on all levels, and return parts of the finest."""

        def refine(level: HierarchyLevel, finer: Sequence[HierarchyLevel], parts: Array) -> Array:
            found = self.refine(len(finer), level.backend.to_host(parts), seed)
            return level.backend.from_host(found)

        found, _ = uncoarsen([*hierarchy], parts, refine)
        return self.hierarchy[0].backend.to_host(found)


@dataclass(frozen=True, eq=False)
class MultiConstraintSolver:
    """Partitions a graph with several weights per vertex.

    Attributes
    ----------
    graph : Graph
        With a combined weight.
    problem : Problem
    several : MultiConstraint
    pinned : int32, shape (n,), or None
        Part in which each vertex must be, -1 for free vertices.
    processes : Processes
        All find the same partition.
    """

    graph: Graph
    problem: Problem
    several: MultiConstraint
    pinned: IntArray | None
    processes: Processes = ALONE

    def refine(self, engine: Backend, parts: IntArray, progress: Progress) -> Outcome:
        """Return a partition of at most the excess and cut of `parts`, found without coarsening."""
        if self.problem.k == 1 or self.graph.n == 0:
            return trivial_outcome(parts, 0)
        with Stopwatch(engine, "refine"):
            finest = _finest(engine, self.graph, self.pinned)
            if self.pinned is not None:
                parts = np.where(self.pinned == NO_PART, parts, self.pinned)
            levels = Levels([finest], self.several.in_units())
            found = levels.filled(levels.refine(0, parts, self.problem.seed), self.problem)
        cut = edge_cut(self.graph, found)
        return Outcome(found, cut, cut)

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Return the best of partitions with different seeds, within the limits of `effort`."""
        pace, several = GenerationBudget(effort, self._agree), self.several.in_units()
        best: Found | None = None
        done = 0
        while pace.allows(done, new=True):
            count = self.processes.size
            if effort.generations is not None:
                count = min(count, effort.generations - done)
            shown = progress if done == 0 else no_progress
            found = self._generations(engine, several, range(done, done + count), shown)
            if best is None or found.quality < best.quality:
                best = found
            done += count
            pace.end(new=True)
        assert best is not None
        return Outcome(best.parts, best.quality[1], best.quality[1], generations=done)

    def _generations(
        self, engine: Backend, several: MultiConstraint, numbers: range, progress: Progress
    ) -> Found:
        """Return the best of the partitions with these numbers, at most one for each process.

        All processes share the work for a single number.
        """

        def find(number: int, processes: Processes) -> Found:
            seed = (self.problem.seed + SEED_STEP * number) % SEEDS
            own = replace(self.problem, seed=seed)
            return partition_several(
                engine, self.graph, own, several, progress, self.pinned, processes
            )

        if len(numbers) == 1:
            return find(numbers[0], self.processes)
        found = None
        if self.processes.rank < len(numbers):
            found = find(numbers[self.processes.rank], ALONE)
        qualities = _qualities(self.processes, found)
        best = min(range(len(numbers)), key=lambda rank: qualities[rank])
        return _of_rank(self.processes, engine, best, qualities[best], found)

    def _agree(self, is_time: bool) -> bool:
        """Return whether all processes find that there is time."""
        return all(self.processes.allgather_objects(is_time))


@dataclass(frozen=True, eq=False)
class FewVerticesSolver:
    """Partitions a graph with several weights per vertex, and at most k vertices.

    Attributes
    ----------
    by_one_weight : Solver
        Uses a combined weight.
    by_all_weights : RefiningSolver
        Refines the result if that breaks a limit.
    several : MultiConstraint
    """

    by_one_weight: Solver
    by_all_weights: RefiningSolver
    several: MultiConstraint

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Return a partition; a separate part for each vertex if that is within the limits."""
        found = self.by_one_weight.solve(engine, effort, progress)
        if self.several.excess(found.parts) == 0:
            return found
        return self.by_all_weights.refine(engine, found.parts, no_progress)


def partition_several(
    backend: Backend,
    graph: Graph,
    problem: Problem,
    several: MultiConstraint,
    progress: Progress = no_progress,
    pinned: IntArray | None = None,
    processes: Processes = ALONE,
) -> Found:
    """Partition a graph with several weights per vertex; `graph` has a combined weight.

    `pinned` and `processes` as for `MultiConstraintSolver`.
    """
    cycles = CYCLES * problem.options.cycles
    with Stopwatch(backend, "coarsen"):
        finest = _finest(backend, graph, pinned)
        levels = Levels(coarsen(finest, [problem], progress), several)
    with Stopwatch(backend, "initial"):
        start = _begin(levels, problem, processes)
    with Stopwatch(backend, "refine"):
        *finer, coarsest = levels.hierarchy
        start = project(coarsest, coarsest.backend.from_host(start), finer)
        parts = levels.uncoarsen(finer, start, problem.seed)
        found, done = Found(parts, levels.quality(0, parts)), 0
        while done < cycles:
            numbers = range(done + 1, min(done + processes.size, cycles) + 1)
            found, done = _cycles(finest, problem, several, found, numbers, processes)
            progress("refine", done, cycles)
        parts = levels.filled(found.parts, problem)
        return found if parts is found.parts else Found(parts, levels.quality(0, parts))


def _finest(backend: Backend, graph: Graph, pinned: IntArray | None) -> HierarchyLevel:
    """Return the finest level of a graph; `pinned` as for `MultiConstraintSolver`."""
    kept = None if pinned is None else backend.from_host(pinned)
    return finest_level(backend, upload(backend, graph), None, kept)


def _pinned(level: HierarchyLevel) -> IntArray:
    """Return the parts of pinned vertices of a level, -1 for free vertices."""
    if level.pinned is None:
        return np.full(level.graph.n, NO_PART, np.int32)
    return np.asarray(level.backend.to_host(level.pinned))


def _begin(levels: Levels, problem: Problem, processes: Processes) -> Parts:
    """Return the best partition of the coarsest level; each process refines some of the tries."""
    last = len(levels.hierarchy) - 1
    level = levels.hierarchy[last]
    refinement = level.refinement(problem)
    starts = starting_partitions(refinement, Tries(count_tries(refinement), 1))
    if 2 < problem.k <= level.graph.n // MIN_VERTICES:
        starts.append(_bisected(levels, problem, processes))
    numbers = range(processes.rank, len(starts), processes.size)
    refined = [levels.refine(last, starts[number], problem.seed) for number in numbers]
    tries = [
        (levels.quality(last, parts), number)
        for number, parts in zip(numbers, refined, strict=True)
    ]
    every = [one for own in processes.allgather_objects(tries) for one in own]
    quality, best = min(every)
    found = None
    if best in numbers:
        found = Found(refined[numbers.index(best)], quality)
    return _of_rank(processes, level.backend, best % processes.size, quality, found).parts


def _bisected(levels: Levels, problem: Problem, processes: Processes) -> Parts:
    """Return a partition of the coarsest level by recursive bisection on the host."""
    level = levels.hierarchy[-1]
    host = level.backend.host
    initial = problem.options.initial
    initial = replace(initial, max_tries=min(initial.max_tries, MAX_TRIES))
    once = replace(problem, options=replace(problem.options, cycles=0, initial=initial))
    graph = download(level.backend, level.graph)
    whole = Block(graph, once, levels.constraints[-1], _pinned(level))

    def bisect(block: Block) -> Parts:
        own = block.problem, block.several
        return partition_several(host, block.graph, *own, pinned=block.pinned).parts

    return bisect_recursively(whole, bisect, host, processes)


def _cycles(
    finest: HierarchyLevel,
    problem: Problem,
    several: MultiConstraint,
    best: Found,
    numbers: range,
    processes: Processes,
) -> tuple[Found, int]:
    """Run consecutive V-cycles from the same partition, at most one for each process.

    Return the partition of the first V-cycle that improves it, and the number of that V-cycle.
    Later ones are dropped, because a single process would have run them from another partition.
    Without an improvement, return `best` and the last number.
    """
    found = None
    if processes.rank < len(numbers):
        found = _cycle(finest, problem, several, best.parts, numbers[processes.rank])
    qualities = _qualities(processes, found)[: len(numbers)]
    for rank, (number, quality) in enumerate(zip(numbers, qualities, strict=True)):
        if quality < best.quality:
            return _of_rank(processes, finest.backend, rank, quality, found), number
    return best, numbers[-1]


def _cycle(
    finest: HierarchyLevel, problem: Problem, several: MultiConstraint, parts: IntArray, number: int
) -> Found:
    """Run a V-cycle: coarsen within parts, and refine from the coarsest level up."""
    within = replace(finest, blocks=finest.backend.from_host(parts))
    levels = Levels(coarsen(within, [problem], no_progress, variant=number), several)
    found = levels.uncoarsen(levels.hierarchy, levels.coarsest(parts), problem.seed + number)
    return Found(found, levels.quality(0, found))


def _qualities(processes: Processes, found: Found | None) -> list[Quality]:
    """Return the quality of what each process has found; the last ranks may have found nothing."""
    return processes.allgather_objects(None if found is None else found.quality)


def _of_rank(
    processes: Processes, backend: Backend, rank: int, quality: Quality, found: Found | None
) -> Found:
    """Return what the process `rank` has found, on all processes."""
    if processes.size == 1 and found is not None:
        return found
    own = np.empty(0, np.int32)
    if found is not None and rank == processes.rank:
        own = found.parts
    return Found(processes.gather(backend.host, own), quality)
