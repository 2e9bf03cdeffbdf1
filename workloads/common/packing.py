"""Two int32 values packed into an int64, so that one operation sorts, compares or adds both.

Packed values are ordered by the upper value, then by the lower value, which is not negative.
"""

import pykokkos as pk

LOWER_BITS = 32
LOWER_MASK = (1 << LOWER_BITS - 1) - 1


@pk.function
def pack(upper: pk.int64, lower: pk.int64) -> pk.int64:
    """Pack two values into one."""
    return (upper << LOWER_BITS) + lower


@pk.function
def upper_of(packed: pk.int64) -> int:
    """Return the upper value."""
    return packed >> LOWER_BITS


@pk.function
def lower_of(packed: pk.int64) -> int:
    """Return the lower value."""
    return packed & LOWER_MASK
