"""Slots: losses or gains sorted roughly by size, per vertex weight."""

import pykokkos as pk


@pk.function
def slot_of(loss: pk.int64, weight: int, scale: int) -> int:
    """Return the slot (0..49) of a loss: from scale * weight / 128 up in factors of 1.5."""
    if loss < 0:
        return 0
    if loss == 0:
        return 1
    slot: int = 2
    threshold: pk.double = loss
    size: pk.double = weight
    size = size * scale
    threshold = threshold * 128.0
    while slot < 45 and size * 5.0625 < threshold:
        size = size * 5.0625
        slot += 4
    while slot < 49 and size < threshold:
        size = size * 1.5
        slot += 1
    return slot
