"""Kernels that call functions of bisections one at a time."""

import pykokkos as pk

from jetpy.workloads.common.heaps import Field
from jetpy.workloads.initial.inner_levels import Levels, coarsen_to, project
from jetpy.workloads.initial.two_way import bisect, grow, measure, refine


@pk.workunit
def build_levels(i: int, coarsest: int, heaviest: int, seed: int, levels: Levels):
    """Build the levels of a graph."""
    levels.numbers[Field.SEED] = seed
    coarsen_to(coarsest, heaviest, False, 0, levels)


@pk.workunit
def grow_sides(i: int, growings: int, passes: int, best: pk.View1D[pk.int32], levels: Levels):
    """Bisect the current level."""
    bisect(growings, passes, 0, levels, best)


@pk.workunit
def grow_once(i: int, salt: int, levels: Levels):
    """Grow a side of the current level."""
    grow(salt, 0, levels)


@pk.workunit
def refine_sides(i: int, passes: int, levels: Levels):
    """Refine the sides of the current level, and of all finer ones."""
    measure(0, levels)
    refine(passes, 0, levels)
    while levels.numbers[Field.LEVELS] > 0:
        project(0, levels)
        measure(0, levels)
        refine(passes, 0, levels)
