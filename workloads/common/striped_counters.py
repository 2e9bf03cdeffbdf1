"""Striped counters: counters and lists that many vertices add to have one copy per stripe.

On CPUs a stripe is a range of vertices. Each thread works on consecutive vertices, so threads use
different stripes. On a GPU, stripes receive blocks in round-robin order, so that all of them grow.
"""

import pykokkos as pk

from jetpy.workloads.common.control_block import COUNTER_GAP, COUNTER_STRIPES
from jetpy.workloads.common.groups import MoveLists

APART = 16
"""Gap between the counters of two stripes, so that they do not share a cache line."""


@pk.function
def stripe_of(v: int, moves: MoveLists) -> int:
    """Return the stripe of a vertex, below `COUNTER_STRIPES`."""
    return (v >> moves.stripe_bits) & COUNTER_STRIPES - 1


@pk.function
def copy_of(counter: int, stripe: int) -> int:
    """Return the index of a stripe's copy of `Counter.CUT_CHANGE` or `Counter.MOVED`."""
    return counter + stripe * COUNTER_GAP


@pk.function
def tally_stripe(i: int, count: pk.int64, stripes: int) -> int:
    """Return the stripe of index i, if `count` indices are divided evenly among the stripes."""
    if stripes == 1:
        return 0
    return i * stripes // count


@pk.function
def stripe_index(stripe: int, p: int, k: int) -> int:
    """Return the index of a stripe's counter for part p."""
    return stripe * (k + APART) + p
