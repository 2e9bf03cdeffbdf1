"""Loss buckets: losses or gains sorted roughly by size, per vertex weight, and tallied by part."""

import pykokkos as pk

BUCKETS = 50
NO_BUCKET = -1
"""Bucket of a vertex that is not sorted into any."""
GAINS, NO_CHANGE, SMALLEST_LOSSES = 0, 1, 2
FACTOR = 1.5
"""Ratio of the largest losses of a bucket and of the one before."""
STRIDE = 4
"""Buckets that the search for one skips at a time, at first."""
STRIDE_FACTOR = FACTOR**STRIDE
PARTS_OF_SCALE = 128.0
"""Per vertex weight, the smallest losses are up to the scale divided by this."""


@pk.function
def loss_bucket(loss: pk.int64, weight: int, scale: int) -> int:
    """Return the bucket of a loss: from scale * weight / 128 up in factors of 1.5."""
    if loss < 0:
        return GAINS
    if loss == 0:
        return NO_CHANGE
    bucket: int = SMALLEST_LOSSES
    bound: pk.double = loss
    size: pk.double = weight
    size = size * scale
    bound = bound * PARTS_OF_SCALE
    while bucket < BUCKETS - 1 - STRIDE and size * STRIDE_FACTOR < bound:
        size = size * STRIDE_FACTOR
        bucket += STRIDE
    while bucket < BUCKETS - 1 and size < bound:
        size = size * FACTOR
        bucket += 1
    return bucket


@pk.function
def tally_place(stripe: int, p: int, bucket: int, k: int) -> int:
    """Return the place of a stripe's counter for the vertices of a part and a bucket."""
    return (stripe * k + p) * BUCKETS + bucket
