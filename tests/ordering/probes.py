"""Kernels that call functions of separators and tries one at a time."""

import pykokkos as pk

from jetpy.workloads.common.heaps import Heaps
from jetpy.workloads.initial.two_way import measure
from jetpy.workloads.ordering.separators import (
    Separations,
    grow_separator,
    refine_separator,
    separate_sides,
    weigh_sides,
)
from jetpy.workloads.ordering.tries import best_try, limit_sides, select_tries


@pk.workunit
def refine_sides(i: int, passes: int, here: int, levels: Separations, other: Heaps):
    """Make passes."""
    weigh_sides(here, levels)
    refine_separator(passes, here, levels, other)


@pk.workunit
def grow_side(i: int, salt: int, here: int, levels: Separations, other: Heaps):
    """Grow a separator."""
    grow_separator(salt, here, levels, other)


@pk.workunit
def separate_level(i: int, here: int, levels: Separations):
    """Make a separator of a bisection."""
    measure(here, levels)
    separate_sides(here, levels)


@pk.workunit
def limit(i: int, share: int, here: int, levels: Separations):
    """Limit the sides."""
    limit_sides(share, here, levels)


@pk.workunit
def choose(
    i: int,
    first: int,
    tries: int,
    answers: pk.View1D[pk.int64],
    bands: pk.View1D[pk.int64],
    levels: Separations,
):
    """Answer which of some tries is the best, and select those that flows may improve."""
    answers[0] = best_try(first, tries, levels)
    select_tries(first, tries, levels, bands)
