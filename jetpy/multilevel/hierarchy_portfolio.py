"""Several hierarchies of one graph; the one with the smallest cut of its coarsest graph is refined.

Each coarsening method hides some cuts: matching in circuits and webs, clusters in meshes. Further
hierarchies separate at the finest level that is small enough. Partitioning their coarsest graphs
is cheap, and shows whether the default hierarchy has hidden good cuts. It rarely has if it shrinks
as fast as on meshes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from jetpy.engines.stopwatch import Stopwatch
from jetpy.initial.coarsest import partition_coarsest
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen
from jetpy.problem.options import Options
from jetpy.problem.problem import Problem
from jetpy.progress import no_progress
from jetpy.refinement.jet import Refined

CONVINCING = 0.9
"""A branch is chosen if its cut is below this fraction of the default hierarchy's, because the cut
of a coarsest graph predicts the cut of the finest only roughly."""


def add_hierarchies(
    hierarchy: list[HierarchyLevel], steps: Sequence[Problem]
) -> list[list[HierarchyLevel]]:
    """Return the further hierarchies of the options; they share the fine levels of the first.

    There is none if tasks partition the coarsest level: their tries find more.
    """
    if hierarchy[-1].is_for_tasks(steps[0]):
        return []
    options = steps[-1].options
    depth = sum(level.graph.global_size > options.portfolio_limit for level in hierarchy)
    hierarchies: list[list[HierarchyLevel]] = []
    if not _shrinks_slowly([level.graph.global_n for level in hierarchy[depth:]], options):
        return hierarchies
    for number, method in enumerate(options.branches, 1):
        own = replace(options, coarsen=replace(options.coarsen, method=method))
        within = [replace(step, options=own) for step in steps]
        with Stopwatch(hierarchy[depth].backend, "branch", depth):
            branch = coarsen(hierarchy[depth], within, no_progress, depth, number)
        if len(branch) > 1:
            hierarchies.append(hierarchy[:depth] + branch)
    return hierarchies


def _shrinks_slowly(sizes: Sequence[int], options: Options) -> bool:
    """Return whether levels with these numbers of vertices, finest first, shrink slowly.

    The product is computed factor by factor, because C libraries round powers differently.
    """
    return len(sizes) > 1 and sizes[-1] > prod(
        [options.branch_shrink] * (len(sizes) - 1), start=sizes[0]
    )


def partition_best(
    hierarchies: Sequence[list[HierarchyLevel]], problem: Problem
) -> tuple[list[HierarchyLevel], Refined]:
    """Return the hierarchy with the best partition of its coarsest level, and this partition.

    The first hierarchy is the default; another one must beat it by the factor `CONVINCING`.
    """
    best, *others = hierarchies
    start = _partition(best, problem)
    least = CONVINCING * start.measures.cut
    tries = max(1, problem.options.branch_parts_tried // problem.k)
    for branch in others:
        candidate = _partition(branch, problem, tries)
        if candidate.measures.cut < least:
            best, start, least = branch, candidate, candidate.measures.cut
    return best, start


def _partition(
    hierarchy: list[HierarchyLevel], problem: Problem, max_tries: int | None = None
) -> Refined:
    coarsest = hierarchy[-1]
    with Stopwatch(coarsest.backend, "initial", len(hierarchy) - 1):
        return partition_coarsest(
            coarsest.refinement(problem),
            coarsest.blocks,
            max_tries,
            by_tasks=coarsest.is_for_tasks(problem),
        )
