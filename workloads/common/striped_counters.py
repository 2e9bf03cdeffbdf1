"""Stripes: counters and lists that many vertices add to are there once for each stripe of them.

Threads of processors work on vertices in a row, and so have stripes of their own: there a stripe
is a range of vertices. On a GPU blocks of vertices are dealt round, so that all stripes grow.
"""

import pykokkos as pk

from jetpy.workloads.common.control_block import COUNTER_STRIPES
from jetpy.workloads.common.groups import MoveLists

APART = 16
"""Counters between those of two stripes, so that no cache line has some of both."""


@pk.function
def stripe_of(v: int, moves: MoveLists) -> int:
    """Return the stripe of a vertex, one of `COUNTER_STRIPES`."""
    return (v >> moves.stripe_bits) & COUNTER_STRIPES - 1


@pk.function
def tally_stripe(i: int, count: pk.int64, stripes: int) -> int:
    """Return the stripe of index i of `count`, which are divided evenly among the stripes."""
    if stripes == 1:
        return 0
    return i * stripes // count


@pk.function
def stripe_place(stripe: int, p: int, k: int) -> int:
    """Return the place of a stripe's counter for a part."""
    return stripe * (k + APART) + p
