"""Initial partition of the coarsest graph: several tries; the most promising are refined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, download
from jetpy.engines.base import Array
from jetpy.graph.csr import Graph, IntArray
from jetpy.initial.roots import divide_roots, find_roots
from jetpy.initial.tasks import Job, can_solve, run_together
from jetpy.problem.options import SmallOptions
from jetpy.problem.problem import EDGE_CUT, SEEDS, Problem
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.measures import Measures, cost, measure

Parts = npt.NDArray[np.int32]
REFINED_SHARE, MIN_REFINED = 4, 2
"""One try in REFINED_SHARE is refined, but at least MIN_REFINED: those with the smallest cuts."""
MIN_TRIES = 3
"""Tries for large k, unless the options or the number of edges allow fewer."""
MAX_DEGREE = 48
"""Maximum average degree of a level that tasks partition. Levels of social networks have more, and
single tries of tasks cut much more there."""
LARGEST = 1000
"""Number of vertices up to which a graph is bisected without coarser levels of its own."""
GROWINGS = 3
"""Bisections grown on the coarsest level of a bisection; the best one is kept."""
MAX_BISECTIONS = 3
"""Maximum number of tries of a bisection; the best one is kept."""


@dataclass(frozen=True)
class Tries:
    """Number of partitions of the coarsest graph, and of tries of their last bisections."""

    partitions: int
    bisections: int

    @classmethod
    def divide(cls, count: int) -> Tries:
        """Return `count` tries as half as many partitions, with about two tries per bisection."""
        return cls(max(1, count // 2), min(count, MAX_BISECTIONS))


def partition_coarsest(
    refinement: Refinement,
    groups: Array | None,
    max_tries: int | None = None,
    *,
    by_tasks: bool = False,
) -> Refined:
    """Return the best partition found, given the refinement of the coarsest level.

    `groups` (int32, shape (n,)) has the group of each vertex, if there are several groups.
    `max_tries` limits the number of tries, in addition to the options. The best partition has the
    least weight above a limit, then the smallest cut, then the smallest cut before refinement.
    Bisections are refined already; so the best one within its limits is not refined again, unless
    vertices are pinned, because some partitions do not know these. With `by_tasks`, the level is
    partitioned like a small graph (`are_for_tasks`), and the best partition is not refined either.
    """
    backend, problem, state = refinement.backend, refinement.problem, refinement.state
    count = count_tries(refinement)
    if max_tries is not None:
        count = min(count, max_tries)
    if by_tasks:
        found = best_of_tasks(refinement, count)
        if found is not None:
            return found
    starts = starting_partitions(refinement, Tries.divide(count), groups)

    is_refined = problem.options.initial.method == "bisection" and refinement.pinned is None
    if is_refined and problem.metric is EDGE_CUT:
        best = backend.from_host(starts[0])
        measures = measure(backend, state.graph, best, state.metric)
        if measures.overload(problem) <= 0:
            return Refined(best, measures, measures.cut, 0)

    def refine(parts: Parts) -> Refined:
        refined = refinement.refine(backend.from_host(parts), finest=False)
        return replace(refined, parts=refined.parts.copy())

    promising = starts[: max(MIN_REFINED, count // REFINED_SHARE)]
    return min(map(refine, promising), key=lambda refined: refined.measures.quality(problem))


def are_for_tasks(graph: DeviceGraph, problem: Problem) -> bool:
    """Return whether tasks partition a coarse level like a small graph.

    It has neither groups nor pinned vertices.
    """
    initial = problem.options.initial
    is_small = graph.global_size <= initial.task_size
    is_sparse = graph.global_nnz <= MAX_DEGREE * graph.global_n
    return is_small and is_sparse and initial.method == "bisection" and can_solve(problem)


def best_of_tasks(refinement: Refinement, count: int) -> Refined | None:
    """Return the best of `count` partitions by tasks; None if none is within its limits."""
    backend, problem = refinement.backend, refinement.problem
    graph = download(backend, refinement.state.graph)
    job = replace(Job.of_problem(graph, problem), seeds=seeds_of(problem, count))
    effort = replace(problem.options.small, min_tries=1, max_tries=1, communities=0, cycles=0)
    found = run_together([job], backend.host, effort, refinement.processes)
    best = min(found, key=lambda one: (one.excess, one.cut))
    if not best.is_complete(fill=problem.fill):
        return None
    measures = Measures(best.cut, best.part_weights)
    return Refined(backend.from_host(best.parts), measures, best.cut, 0)


def seeds_of(problem: Problem, count: int) -> list[int]:
    """Return a seed for each of `count` partitions."""
    return [(problem.seed * 1009 + number) % SEEDS for number in range(count)]


def starting_partitions(
    refinement: Refinement, tries: Tries, groups: Array | None = None
) -> list[Parts]:
    """Return partitions (int32, shape (n,)) of the coarsest level, smallest cut first.

    `groups` as for `partition_coarsest`. METIS is not used if parts have different target weights,
    vertices are pinned, or a weight is 0.
    """
    backend, problem, state = refinement.backend, refinement.problem, refinement.state
    graph = download(backend, state.graph)
    within = None if groups is None else backend.to_host(groups)
    method = problem.options.initial.method
    is_plain = graph.vertex_weights.all() and graph.edge_weights.all()
    if problem.targets is not None or refinement.pinned is not None or not is_plain:
        method = "bisection"
    starts = METHODS[method](refinement, graph, within, tries)
    if groups is None and problem.metric.kind == 1:
        from jetpy.initial.assignment import assign_parts

        starts = [assign_parts(graph, parts, problem) for parts in starts]

    def cut_of(parts: Parts) -> int:
        return cost(backend, state.graph, backend.from_host(parts), state.metric)

    return sorted(starts, key=cut_of)


def count_tries(refinement: Refinement) -> int:
    """Return the number of tries for the coarsest graph.

    It falls with k and the number of edges, because each try takes longer. Besides, chance matters
    less with more parts.
    """
    problem = refinement.problem
    initial = problem.options.initial
    tries = min(initial.max_tries, max(MIN_TRIES, initial.parts_tried // problem.k))
    if initial.max_entries is None:
        return tries
    return max(1, min(tries, initial.max_entries // refinement.state.graph.size))


def _by_metis(
    refinement: Refinement,
    graph: Graph,
    groups: IntArray | None,
    tries: Tries,
    *,
    directly: bool = False,
) -> list[Parts]:
    """Partition by METIS: by recursive bisection, or `directly` if there are no groups."""
    from jetpy.initial.blocks import split_blocks
    from jetpy.initial.metis import bisect_recursively, partition_directly, with_sorted_rows

    problem, ordered = refinement.problem, with_sorted_rows(graph)
    seeds = [problem.seed * 1009 + number for number in range(tries.partitions)]
    if groups is not None:
        return [split_blocks(ordered, groups, problem, seed) for seed in seeds]
    method = partition_directly if directly else bisect_recursively
    return [method(ordered, problem.k, problem.imbalance, seed) for seed in seeds]


def _by_bisection(
    refinement: Refinement, graph: Graph, groups: IntArray | None, tries: Tries
) -> list[Parts]:
    """Partition on the host, because an index partitions a whole graph, which is slow on a GPU.

    Half of the partitions ignore pinned vertices. In the others, bisections separate pinned
    vertices early by part number, whether these parts are adjacent or not.
    """
    problem, backend = refinement.problem, refinement.backend
    pinned = None if refinement.pinned is None else backend.to_host(refinement.pinned)
    effort = SmallOptions(
        coarsest=LARGEST, bisections=tries.bisections, growings=GROWINGS, flow_levels=0
    )

    def solve(partitions: int, pinned: IntArray | None) -> list[Parts]:
        parts, roots = find_roots(graph, groups, problem, pinned)
        seeds = seeds_of(problem, partitions)
        others = pinned, refinement.processes
        return divide_roots(backend.host, graph, parts, roots, seeds, effort, *others)

    if pinned is None or problem.targets is not None:
        return solve(tries.partitions, pinned)
    from jetpy.initial.relabel import MAX_PARTS, relabel_to_fixed

    if problem.k > MAX_PARTS:
        return solve(tries.partitions, pinned)
    apart = tries.partitions // 2
    matched = [relabel_to_fixed(graph, parts, pinned, problem.k) for parts in solve(apart, None)]
    return solve(tries.partitions - apart, pinned) + matched


METHODS: dict[str, Callable[[Refinement, Graph, IntArray | None, Tries], list[Parts]]] = {
    "bisection": _by_bisection,
    "metis": _by_metis,
    "metis-kway": partial(_by_metis, directly=True),
}
"""Called with the refinement of the coarsest level, that level on the host, the groups of its
vertices or None, and tries; each returns `tries.partitions` partitions."""
