"""Two int32 numbers in an int64, which sorts, compares and adds up both at once.

Numbers are ordered by the upper one, then by the lower one, which is not negative.
"""

import pykokkos as pk

LOWER_BITS = 32
LOWER_MASK = (1 << LOWER_BITS - 1) - 1


@pk.function
def pack(upper: pk.int64, lower: pk.int64) -> pk.int64:
    """Return two numbers in one."""
    return (upper << LOWER_BITS) + lower


@pk.function
def upper_of(packed: pk.int64) -> int:
    """Return the upper one of two numbers."""
    return packed >> LOWER_BITS


@pk.function
def lower_of(packed: pk.int64) -> int:
    """Return the lower one of two numbers."""
    return packed & LOWER_MASK
