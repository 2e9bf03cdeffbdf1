"""Several hierarchies of one graph: that whose coarsest graph has the smallest cut goes on.

Each coarsening hides some cuts: pairs those of circuits and webs, clusters those of meshes. From
the finest level that is small enough, others branch off; partitioning their coarsest graphs as well
is cheap, and tells where the usual hierarchy has hidden what matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jetpy.engines.stopwatch import Stopwatch
from jetpy.initial.coarsest import partition_coarsest
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen
from jetpy.problem.problem import Problem
from jetpy.progress import no_progress
from jetpy.refinement.jet import Refined

CONVINCING = 0.9
"""A branch goes on if its cut is below this share of that of the hierarchy without branches: a
cut of a coarsest graph says only about what that of the finest will be."""


def add_hierarchies(
    hierarchy: list[HierarchyLevel], steps: Sequence[Problem]
) -> list[list[HierarchyLevel]]:
    """Return the other hierarchies that the options want; they share the finer levels of one."""
    options = steps[-1].options
    sizes = [level.graph.global_size for level in hierarchy]
    depth = sum(size > options.portfolio_limit for size in sizes)
    found = []
    for number, method in enumerate(options.branches if depth < len(sizes) - 1 else (), 1):
        own = replace(options, coarsen=replace(options.coarsen, method=method))
        within = [replace(step, options=own) for step in steps]
        with Stopwatch(hierarchy[depth].backend, "branch", depth):
            branch = coarsen(hierarchy[depth], within, no_progress, depth, number)
        if len(branch) > 1:
            found.append(hierarchy[:depth] + branch)
    return found


def partition_best(
    hierarchies: Sequence[list[HierarchyLevel]], problem: Problem
) -> tuple[list[HierarchyLevel], Refined]:
    """Return the hierarchy with the best partition of its coarsest level, and that partition.

    The first of them is the usual one, which others have to beat by far.
    """
    best, *others = hierarchies
    start = _partition(best, problem)
    least = CONVINCING * start.measures.cut
    tries = max(1, problem.options.branch_parts_tried // problem.k)
    for branch in others:
        found = _partition(branch, problem, tries)
        if found.measures.cut < least:
            best, start, least = branch, found, found.measures.cut
    return best, start


def _partition(
    hierarchy: list[HierarchyLevel], problem: Problem, max_tries: int | None = None
) -> Refined:
    coarsest = hierarchy[-1]
    with Stopwatch(coarsest.backend, "initial", len(hierarchy) - 1):
        return partition_coarsest(coarsest.refinement(problem), coarsest.blocks, max_tries)
