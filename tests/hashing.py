"""The hash of `jetpy.workloads.common.hashing` and shuffles by it, in plain Python."""

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


def visited(n: int, seed: int, begin: int = 0) -> list[int]:
    """Return 0..n-1 as visited on a level whose first vertex is `begin`: Fisher and Yates."""
    order: list[int] = []
    for v in range(n):
        order.append(v)
        j = mix((begin + v) ^ seed) * (v + 1) >> 32
        order[j], order[v] = v, order[j]
    return order
