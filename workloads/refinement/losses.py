"""Loss buckets: logarithmic classes of loss or gain per vertex weight (Jet, equation 4.5)."""

import pykokkos as pk

BUCKETS = 50
NO_BUCKET = -1
"""Bucket of a vertex that is in no bucket."""
GAINS, NO_CHANGE, SMALLEST_LOSSES = 0, 1, 2
FACTOR = 1.5
"""Ratio of the upper bounds of consecutive buckets; Jet uses 2."""
STRIDE = 4
"""Number of buckets that a search for a bucket first skips at a time."""
STRIDE_FACTOR = FACTOR**STRIDE
PARTS_OF_SCALE = 128.0
"""The smallest loss bucket ends at scale / 128 per vertex weight."""


@pk.function
def loss_bucket(loss: pk.int64, weight: int, scale: int) -> int:
    """Return the bucket of a loss: bounds grow from scale * weight / 128 by factors of 1.5."""
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
def tally_index(stripe: int, p: int, bucket: int, k: int) -> int:
    """Return the index of a stripe's counter for part p and a bucket."""
    return (stripe * k + p) * BUCKETS + bucket
