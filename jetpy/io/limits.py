"""Limits in proportion to file size, so that a small file cannot request much memory."""

from __future__ import annotations

import numpy as np

VERTICES = 10_000_000
"""Number of vertices that a file of any size may have."""
VERTICES_PER_ENTRY = 16
"""Maximum ratio of vertices to edges (or other entries) beyond `VERTICES`."""
UNPACKED = 1 << 27
"""Number of bytes to which a compressed file of any size may expand."""
EXPANSION = 100
"""Maximum ratio of decompressed to compressed size beyond `UNPACKED`."""
BYTES_PER_VERTEX = 32
"""Minimum memory for reading one vertex without edges."""


def is_justified(n: int, entries: int) -> bool:
    """Return whether a file with `entries` entries may have `n` vertices without a declaration."""
    return n <= max(VERTICES, VERTICES_PER_ENTRY * entries)


def check_memory(n: int) -> None:
    """Check that memory for `n` vertices can be allocated, before the system runs out of it.

    Raises
    ------
    MemoryError
        If it cannot.
    """
    if n > VERTICES:
        np.empty(n * BYTES_PER_VERTEX, np.uint8)  # untouched, so it takes no time


def max_unpacked(packed: int) -> int:
    """Return the maximum decompressed size, in bytes, of `packed` compressed bytes."""
    return max(UNPACKED, EXPANSION * packed)
