"""What a file's own size can justify, so that a tiny file does not want much memory."""

from __future__ import annotations

import numpy as np

VERTICES = 10_000_000
"""Vertices that a graph may have in any file, however short."""
VERTICES_PER_ENTRY = 16
"""Vertices for each edge, or other entry, where there are more."""
UNPACKED = 1 << 27
"""Bytes that any compressed file may unpack to."""
EXPANSION = 100
"""How many times its size a larger one may unpack to."""
BYTES_PER_VERTEX = 32
"""Least memory that it takes to read a vertex without edges."""


def is_justified(n: int, entries: int) -> bool:
    """Whether a file with so many entries may have `n` vertices without saying that it is meant."""
    return n <= max(VERTICES, VERTICES_PER_ENTRY * entries)


def check_memory(n: int) -> None:
    """Refuse more vertices than there is memory for, before the system runs short of it.

    Raises
    ------
    MemoryError
    """
    if n > VERTICES:
        np.empty(n * BYTES_PER_VERTEX, np.uint8)  # untouched, so it takes no time


def max_unpacked(packed: int) -> int:
    """Return how many bytes so many compressed ones may unpack to."""
    return max(UNPACKED, EXPANSION * packed)
