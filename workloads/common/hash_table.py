"""Hash tables with linear probing: each is a row of slots in one array of keys, from `start` on.

Keys are integers from 0 on. A negative value marks a free slot. The search for a key begins at a
slot that the caller chooses and wraps around at the end of the row.
"""

import pykokkos as pk

FREE = -1


@pk.function
def next_slot(slot: int, start: int, size: int) -> int:
    """Return the slot after `slot`, cyclically within the row."""
    if slot + 1 == start + size:
        return start
    return slot + 1


@pk.function
def find_slot(key: int, first: int, start: int, size: int, keys: pk.View1D[pk.int32]) -> int:
    """Return the slot of a key, or the first free slot, in a row that only this thread changes.

    The row must contain the key or a free slot.
    """
    slot: int = first
    while keys[slot] >= 0 and keys[slot] != key:
        slot = next_slot(slot, start, size)
    return slot


@pk.function
def claim_slot(key: int, first: int, start: int, size: int, keys: pk.View1D[pk.int32]) -> int:
    """Find the slot of a key in a row that other threads change, or claim the first free slot.

    The row must contain the key or a free slot. Returns -1 - slot if the slot was free (`was_free`,
    `slot_of_claim`).
    """
    slot: int = first
    while True:
        held: int = keys[slot]
        if held < 0:
            held = pk.atomic_compare_exchange(keys, [slot], held, key)
            if held < 0:
                return -1 - slot
        if held == key:
            return slot
        slot = next_slot(slot, start, size)
    return slot


@pk.function
def was_free(claim: int) -> bool:
    """Whether the slot that `claim_slot` returned was free before."""
    return claim < 0


@pk.function
def slot_of_claim(claim: int) -> int:
    """Return the slot that `claim_slot` found or claimed."""
    if was_free(claim):
        return -1 - claim
    return claim
