"""The multilevel method for several weights per vertex.

The hierarchy and most initial partitions use one combined weight. If these lose too much by the
limits of all weights, recursive bisection with all weights finds another. Small levels are then
refined by one task on the host, which relieves parts above a limit, and improves the cut within all
limits. Large levels are refined by Jet (`multiconstraint_jet`). Flows between pairs of parts
follow. V-cycles repeat this. Several processes, each with the whole graph, share out generations,
tries on the coarsest level, and V-cycles. Source: Karypis, Kumar, "Multilevel algorithms for
multi-constraint graph partitioning", SC 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.constraints.bisection import Block, bisect_recursively
from jetpy.constraints.level_weights import as_weights, carried, held_on, loads_of, sums_of
from jetpy.constraints.multiconstraint_jet import SeveralRefinement
from jetpy.device.device_graph import DeviceGraph, carry, carry_graph, download, upload
from jetpy.device.processes import ALONE, Processes
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import Graph, IntArray
from jetpy.initial.coarsest import Tries, count_tries, starting_partitions
from jetpy.multilevel.evolution import GenerationBudget, of_generation
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen, finest_level, project
from jetpy.multilevel.outcome import Outcome, trivial_outcome
from jetpy.multilevel.solver import RefiningSolver, Solver
from jetpy.multilevel.uncoarsening import uncoarsen
from jetpy.problem.fixed import NO_PART
from jetpy.problem.metrics import edge_cut
from jetpy.problem.multiconstraint import MultiConstraint, divisors_of
from jetpy.problem.options import Effort
from jetpy.problem.problem import EDGE_CUT, Problem, in_units
from jetpy.progress import Progress, no_progress
from jetpy.refinement.flows import Flows, are_due
from jetpy.refinement.measures import Measures, cost_of, measure, upload_metric
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.constraints import multiconstraint as kernels

PASSES = 10
"""Maximum number of refinement passes on a level."""
MIN_VERTICES = 16
"""Minimum number of vertices for each part with which the coarsest level is also bisected."""
MAX_TRIES = 8
"""Maximum number of tries of each of these bisections."""
MAX_LOSS = 1.1
"""These bisections are left out if the best other partition, within its limits, cuts at most this
share of the least cut of partitions by one weight."""
JET_VERTICES, JET_ENTRIES, JET_SHARE = 5_000, 100_000, 16
"""Jet refines levels of at least JET_VERTICES vertices or JET_ENTRIES directed edges, with at least
JET_SHARE vertices for each part; one task refines the others by passes."""
RUNS, MIN_GAIN = 5, 0.02
"""Maximum number of runs of Jet on a level, each from what the host has relieved. A run that lowers
the cut by less than a share of MIN_GAIN is the last."""
CYCLES = 3
"""Number of V-cycles per V-cycle of the preset. As many may repair a partition."""

Parts = npt.NDArray[np.int32]
Quality = tuple[int, int]
"""Excess above the limits, then the cut; smaller is better."""
UNKNOWN: tuple[float, float] = (inf, inf)
"""Quality of no partition."""


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
    """A hierarchy with the weights and limits of each level; coarse levels have higher limits.

    The weights of a level are on its back end.
    """

    def __init__(
        self, hierarchy: list[HierarchyLevel], constraints: list[MultiConstraint], problem: Problem
    ) -> None:
        self.hierarchy, self.constraints, self.problem = hierarchy, constraints, problem

    @classmethod
    def of(
        cls, hierarchy: list[HierarchyLevel], several: MultiConstraint, problem: Problem
    ) -> Levels:
        """Return the levels of a hierarchy, given the constraints of the finest level."""
        constraints = [several]
        for finer, level in pairwise(hierarchy):
            constraints.append(cls.coarsened(constraints[-1], finer, level))
        for depth, level in enumerate(hierarchy[1:], 1):
            constraints[depth] = constraints[depth].loosened(level.graph.global_n)
        return cls(hierarchy, constraints, problem)

    @staticmethod
    def coarsened(
        several: MultiConstraint, finer: HierarchyLevel, level: HierarchyLevel
    ) -> MultiConstraint:
        """Return the constraints of a level, given those of the next finer level."""
        sums = sums_of(finer.backend, several.weights, level.coarse_of, level.graph.n)
        weights = as_weights(sums, several.weights.shape[1])
        return carried(replace(several, weights=weights), finer.backend, level.backend)

    def refined(self, depth: int, parts: Parts, seed: int) -> Parts:
        """Refine a partition (int32, shape (n,)) of a level; both are on the host."""
        backend = self.hierarchy[depth].backend
        return self._on_host(depth, self.refine(depth, backend.from_host(parts), seed))

    def _on_host(self, depth: int, parts: Array) -> Parts:
        """Return the parts of the vertices of a level without ghosts, on the host."""
        own = parts[: len(self.constraints[depth].weights)]
        return self.hierarchy[depth].backend.to_host(own)

    def refine(self, depth: int, parts: Array, seed: int) -> Array:
        """Refine a partition (int32, shape (n,)) of a level by Jet or, on small levels, by passes.

        Flows follow, if the preset has them.
        """
        if self._has_jet(depth):
            found = self._jet(depth, parts, seed)
        else:
            found = self.passes(depth, parts, seed, PASSES)
        return self._flows(depth, self.hierarchy[depth].with_ghosts(found))

    def jet(self, depth: int) -> SeveralRefinement:
        """Return the refinement of a level by Jet."""
        return SeveralRefinement(self.hierarchy[depth], self.problem, self.constraints[depth])

    def owned(self, parts: Parts) -> Parts:
        """Return the parts of the finest level's vertices that this process owns: all."""
        return parts

    def held(self, depth: int, parts: Array) -> npt.NDArray[np.int64]:
        """Return the weights of parts of a level, int64, shape (k, c)."""
        return held_on(self.hierarchy[depth].backend, self.constraints[depth], parts)

    def _jet(self, depth: int, parts: Array, seed: int) -> Array:
        """Refine a level by Jet.

        Where Jet ends with a smaller cut but too much weight in some parts, the host relieves them,
        and Jet continues.
        """
        refinement, best, least = self.jet(depth), parts, UNKNOWN
        for _ in range(RUNS):
            found = refinement.refine(parts, finest=depth == 0)
            quality = refinement.excess, found.measures.cut
            if quality >= least:
                return best
            is_last = quality[0] == least[0] and quality[1] > (1 - MIN_GAIN) * least[1]
            best, least = found.parts.copy(), quality
            last = None if is_last else refinement.last()
            if last is None:
                return best
            parts = self.passes(depth, last, seed, 0)
        return best

    def _has_jet(self, depth: int) -> bool:
        graph, several = self.hierarchy[depth].graph, self.constraints[depth]
        is_large = graph.global_n >= JET_VERTICES or graph.global_nnz >= JET_ENTRIES
        has_many = graph.global_n >= JET_SHARE * len(several.limits)
        return is_large and has_many and not several.lower_limits.any()

    def passes(self, depth: int, parts: Array, seed: int, passes: int) -> Array:
        """Relieve parts, and then make at most `passes` passes, on the host."""
        return make_passes(self.hierarchy[depth], self.constraints[depth], parts, seed, passes)

    def _flows(self, depth: int, parts: Array) -> Array:
        """Improve pairs of parts of a level by flows, if they are due."""
        level = self.hierarchy[depth]
        backend, graph, problem = level.backend, level.graph, level.own_problem(self.problem)
        if not problem.options.refine.has_flows(depth):
            return parts
        metric = upload_metric(backend, graph, EDGE_CUT, problem.k)
        measures = measure(backend, graph, parts, metric)
        if not are_due(graph, problem, measures, finest=depth == 0):
            return parts
        return self.improved_by_flows(depth, parts, problem, measures)

    def improved_by_flows(
        self, depth: int, parts: Array, problem: Problem, measures: Measures
    ) -> Array:
        """Improve pairs of parts of a level by flows that keep all limits.

        `problem` is that of the level, and `measures` are those of the parts.
        """
        own = self.hierarchy[depth], self.constraints[depth]
        return improve_pairs(*own, parts, problem, measures, finest=depth == 0)

    def filled(self, parts: IntArray) -> Parts:
        """Return parts of the finest level, none of them empty if the problem asks for that.

        To fill them, the number of vertices becomes another weight, at least 1. Parts remain empty
        if there are not enough vertices that may move, or they are too heavy.
        """
        problem = self.problem
        if not problem.fill or np.bincount(parts, minlength=problem.k).all():
            return parts
        backend = self.hierarchy[0].backend
        own = carried(self.constraints[0], backend, backend.host).with_counts()
        counted = Levels(self.hierarchy[:1], [carried(own, backend.host, backend)], problem)
        passes = PASSES if len(parts) < JET_VERTICES else 0
        found = counted.passes(0, backend.from_host(parts), problem.seed, passes)
        return np.asarray(backend.to_host(found))

    def quality(self, depth: int, parts: IntArray) -> Quality:
        """Return the excess and the cut of a partition of a level."""
        level, several = self.hierarchy[depth], self.constraints[depth]
        own, k = level.with_ghosts(level.backend.from_host(parts)), len(several.limits)
        cut = cost_of(level.backend, level.graph, own, EDGE_CUT, k)
        return several.excess_of(self.held(depth, own)), cut

    def uncoarsen(self, parts: Parts, seed: int) -> Parts:
        """Return parts of the finest level, given those of the coarsest; refine all others."""
        *finer, coarsest = self.hierarchy
        if not finer:
            return parts

        def refine(level: HierarchyLevel, finer: Sequence[HierarchyLevel], parts: Array) -> Array:
            return self.refine(len(finer), parts, seed)

        projected = project(coarsest, coarsest.backend.from_host(parts), finer)
        found, _ = uncoarsen([*finer], projected, refine)
        return self._on_host(0, found)


def make_passes(
    level: HierarchyLevel, several: MultiConstraint, parts: Array, seed: int, passes: int
) -> Array:
    """Relieve parts of a level, and then make at most `passes` passes, on the host."""
    backend, host = level.backend, level.backend.host
    graph, own = carry_graph(level.graph, backend, host), carried(several, backend, host)
    state = state_of(host, graph, own, backend.to_host(parts), _pinned(level))
    size = {"n": graph.n, "k": len(several.limits)}
    host.run_tasks(
        1, kernels.refine_level, passes=passes, seed=seed, graph=graph, state=state, **size
    )
    return backend.from_host(host.to_host(state.parts))


def improve_pairs(
    level: HierarchyLevel,
    several: MultiConstraint,
    parts: Array,
    problem: Problem,
    measures: Measures,
    *,
    finest: bool,
) -> Array:
    """Improve pairs of parts of a level by flows that keep all limits.

    `problem` is that of the level, and `measures` are those of the parts.
    """
    backend, host = level.backend, level.backend.host
    own = loads_of(host, carried(several, backend, host), carry(parts, backend, host))
    flows = Flows(backend, level.graph, problem, level.pinned, several=own)
    return flows.improve(parts, measures, finest=finest)[0]


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
            own = carried(self._in_units, engine.host, engine)
            levels = Levels([finest], [own], self.problem)
            found = levels.filled(levels.refined(0, parts, self.problem.seed))
        cut = edge_cut(self.graph, found)
        return Outcome(found, cut, cut)

    def solve(self, engine: Backend, effort: Effort, progress: Progress) -> Outcome:
        """Return the best of partitions with different seeds, within the limits of `effort`.

        If all vertices are pinned, there is only one partition.
        """
        if self.pinned is not None and (self.pinned != NO_PART).all():
            return trivial_outcome(self.pinned.copy(), edge_cut(self.graph, self.pinned))
        several, processes = carried(self._in_units, engine.host, engine), self.processes

        def find(numbers: range, progress: Progress) -> Found:
            return self._generations(engine, several, numbers, progress)

        best, done = best_generation(effort, processes, processes.size, find, progress)
        return Outcome(best.parts, best.quality[1], best.quality[1], generations=done)

    @property
    def _in_units(self) -> MultiConstraint:
        return self.several.in_units(divisors_of(self.several.weights))

    def _generations(
        self, engine: Backend, several: MultiConstraint, numbers: range, progress: Progress
    ) -> Found:
        """Return the best of the partitions with these numbers, at most one for each process.

        All processes share the work for a single number.
        """

        def find(number: int, processes: Processes) -> Found:
            own = of_generation(self.problem, number)
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


def best_generation(
    effort: Effort,
    processes: Processes,
    most: int,
    find: Callable[[range, Progress], Found],
    progress: Progress,
) -> tuple[Found, int]:
    """Return the best partition within the limits of `effort`, and the number of generations.

    `find` returns the best partition of at most `most` generations. The processes agree on whether
    there is time.
    """

    def agree(is_time: bool) -> bool:
        return all(processes.allgather_objects(is_time))

    pace, done = GenerationBudget(effort, agree), 0
    best: Found | None = None
    while pace.allows(done, new=True):
        count = most
        if effort.generations is not None:
            count = min(count, effort.generations - done)
        found = find(range(done, done + count), progress if done == 0 else no_progress)
        if best is None or found.quality < best.quality:
            best = found
        done += count
        pace.end(new=True)
    assert best is not None
    return best, done


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
    with Stopwatch(backend, "coarsen"):
        finest = _finest(backend, graph, pinned, processes)
    return partition_level(finest, problem, several, progress)


def partition_level(
    finest: HierarchyLevel,
    problem: Problem,
    several: MultiConstraint,
    progress: Progress,
    kind: type[Levels] = Levels,
) -> Found:
    """Partition a level with several weights per vertex, which the weight of the graph combines."""
    backend, problem = finest.backend, in_units(problem, 1, finest.graph.global_n)
    with Stopwatch(backend, "coarsen"):
        levels = kind.of(coarsen(finest, [problem], progress), several, problem)
    with Stopwatch(backend, "initial"):
        parts = _begin(levels)
    with Stopwatch(backend, "refine"):
        parts = levels.uncoarsen(parts, problem.seed)
        found = _improve(levels, parts, progress)
        parts = levels.filled(found.parts)
        return found if parts is found.parts else Found(parts, levels.quality(0, parts))


def _finest(
    backend: Backend, graph: Graph, pinned: IntArray | None, processes: Processes = ALONE
) -> HierarchyLevel:
    """Return the finest level of a graph; arguments as for `MultiConstraintSolver`."""
    kept = None if pinned is None else backend.from_host(pinned)
    return finest_level(backend, upload(backend, graph), None, kept, processes)


def _pinned(level: HierarchyLevel) -> IntArray:
    """Return the parts of pinned vertices of a level, -1 for free vertices."""
    if level.pinned is None:
        return np.full(level.graph.n, NO_PART, np.int32)
    return np.asarray(level.backend.to_host(level.pinned))


def _begin(levels: Levels) -> Parts:
    """Return the best partition of the coarsest level, which all of its processes have."""
    last, problem = len(levels.hierarchy) - 1, levels.problem
    level = levels.hierarchy[last]
    processes = level.processes
    refinement = level.refinement(problem)
    starts = starting_partitions(refinement, Tries(count_tries(refinement), 1))
    starts = list({start.tobytes(): start for start in starts}.values())
    found = _best_refined(levels, starts, processes)
    excess, cut = found.quality
    is_good = excess == 0 and cut <= MAX_LOSS * levels.quality(last, starts[0])[1]
    if is_good or not 2 < problem.k <= level.graph.n // MIN_VERTICES:
        return found.parts
    other = _best_refined(levels, [_bisected(levels, processes)], processes)
    return min(found, other, key=lambda one: one.quality).parts


def _best_refined(levels: Levels, starts: list[Parts], processes: Processes) -> Found:
    """Return the best refined partition of the coarsest level; each process refines some."""
    last, seed = len(levels.hierarchy) - 1, levels.problem.seed
    numbers = range(processes.rank, len(starts), processes.size)
    refined = [levels.refined(last, starts[number], seed) for number in numbers]
    tries = [
        (levels.quality(last, parts), number)
        for number, parts in zip(numbers, refined, strict=True)
    ]
    every = [one for own in processes.allgather_objects(tries) for one in own]
    quality, best = min(every)
    found = None
    if best in numbers:
        found = Found(refined[numbers.index(best)], quality)
    backend = levels.hierarchy[last].backend
    return _of_rank(processes, backend, best % processes.size, quality, found)


def _bisected(levels: Levels, processes: Processes) -> Parts:
    """Return a partition of the coarsest level by recursive bisection on the host."""
    level, problem = levels.hierarchy[-1], levels.problem
    host = level.backend.host
    initial = problem.options.initial
    initial = replace(initial, max_tries=min(initial.max_tries, MAX_TRIES))
    own = replace(problem.options, cycles=0, initial=initial)
    own = replace(own, refine=replace(own.refine, flow_sweeps=0))
    once = replace(problem, options=own)
    graph = download(level.backend, level.graph)
    several = carried(levels.constraints[-1], level.backend, host)
    whole = Block(graph, once, several, _pinned(level))

    def bisect(block: Block) -> Parts:
        both = block.problem, block.several
        return partition_several(host, block.graph, *both, pinned=block.pinned).parts

    return bisect_recursively(whole, bisect, host, processes)


def _improve(levels: Levels, parts: Parts, progress: Progress) -> Found:
    """Improve a partition of the finest level by V-cycles: those of the preset, or of repairs.

    The processes of the level run consecutive V-cycles from the same partition. The first that
    improves it counts; later ones are dropped, because a single process would have run them from
    another partition.
    """
    processes = levels.hierarchy[0].processes
    found, done = Found(parts, levels.quality(0, parts)), 0
    while done < (cycles := _number_of_cycles(levels.problem, found)):
        numbers = range(done + 1, min(done + processes.size, cycles) + 1)
        own = None
        if processes.rank < len(numbers):
            own = _cycle(levels, found.parts, numbers[processes.rank])
        qualities = _qualities(processes, own)[: len(numbers)]
        better = [rank for rank, quality in enumerate(qualities) if quality < found.quality]
        done = numbers[-1]
        if better:
            done = numbers[better[0]]
            backend = levels.hierarchy[0].backend
            found = _of_rank(processes, backend, better[0], qualities[better[0]], own)
        progress("refine", done, cycles)
    return found


def _number_of_cycles(problem: Problem, found: Found) -> int:
    """Return the number of V-cycles: that of the preset, but CYCLES while a limit is broken."""
    return max(CYCLES * problem.options.cycles, CYCLES if found.quality[0] > 0 else 0)


def _cycle(levels: Levels, parts: Parts, number: int) -> Found:
    """Run a V-cycle: coarsen within parts, and refine from the coarsest level up."""
    finest, problem = levels.hierarchy[0], levels.problem
    within = replace(finest.as_finest(finest.backend.from_host(parts)), processes=ALONE)
    hierarchy = coarsen(within, [problem], no_progress, variant=number)
    own = type(levels).of(hierarchy, levels.constraints[0], problem)
    last, seed = len(hierarchy) - 1, problem.seed + number
    coarse = hierarchy[last].backend.to_host(own.refine(last, hierarchy[last].blocks, seed))
    found = levels.owned(own.uncoarsen(coarse, seed))
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
