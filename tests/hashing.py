"""The hash of `jetpy.workloads.common.hashing`, in plain Python."""

from __future__ import annotations

MASK = 2**32 - 1


def mix(x: int) -> int:
    """Return the hash of an integer, as 32 bits."""
    h = x & MASK
    h ^= h >> 16
    h = h * 2146121005 & MASK
    h ^= h >> 15
    h = h * 1597334677 & MASK
    return h ^ h >> 16
