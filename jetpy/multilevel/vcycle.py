"""V-cycles: a level is coarsened again within its parts, and refined on the way back.

Source: Walshaw, "Multilevel refinement for combinatorial optimisation problems", Annals of
Operations Research 131 (2004), iterated multilevel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jetpy.engines.base import Array
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen
from jetpy.multilevel.uncoarsening import uncoarsen
from jetpy.problem.options import Options
from jetpy.problem.problem import Problem
from jetpy.progress import no_progress
from jetpy.refinement.jet import Refined


def run_cycles(
    level: HierarchyLevel,
    finer: Sequence[HierarchyLevel],
    problem: Problem,
    refined: Refined,
) -> Refined:
    """Run the V-cycles that the options specify for a level, given the finer levels."""
    if is_cycled(level, finer, problem.options):
        for cycle in range(problem.options.cycles):
            refined = _run(level, problem, refined, cycle, len(finer))
    return refined


def is_cycled(level: HierarchyLevel, finer: Sequence[HierarchyLevel], options: Options) -> bool:
    """Return whether a level has V-cycles, given the finer levels."""
    if options.cycles == 0:
        return False
    limit = options.cycle_limit
    if limit is None:
        return len(finer) % options.cycle_step == 0
    return level.graph.global_size <= limit and not (finer and finer[-1].graph.global_size <= limit)


def _run(
    finest: HierarchyLevel, problem: Problem, start: Refined, cycle: int, depth: int
) -> Refined:
    """Run a V-cycle on level `depth`, and return the better of its result and `start`."""
    kept = start.parts.copy()
    within = replace(finest, blocks=kept[: finest.graph.n])
    hierarchy = coarsen(within, [problem], no_progress, depth, cycle + 1)
    refined, iterations = start, start.iterations

    def refine(level: HierarchyLevel, finer: Sequence[HierarchyLevel], parts: Array) -> Array:
        nonlocal refined, iterations
        refined = level.refine(problem, parts, depth + len(finer), refined.measures)
        iterations += refined.iterations
        return refined.parts

    top = hierarchy[0]
    uncoarsen(hierarchy, hierarchy[-1].blocks, refine, first=depth)
    if top is not within:  # the only level has been gathered
        refined = top.given_out(refined)
    own = finest.refinement(problem).problem
    return replace(start, parts=kept).or_better(refined, own, iterations)
