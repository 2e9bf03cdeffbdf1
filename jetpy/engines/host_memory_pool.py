"""Pool of host memory, because fresh pages often cost more than the work on them.

All runs of a process share one pool, like the allocator below it. A block belongs to the run that
takes it until the run gives it back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.engines.threads import after_fork, fork_safe_lock

LEAST = 1 << 16
"""Minimum bytes of a block in the pool; the allocator itself keeps smaller ones."""
MAX_KEPT = 1 << 28
"""Maximum bytes of all free blocks."""
MAX_UNUSED = 1 << 25
"""If no free block fits, all are released if they have more bytes than this and an eighth of those
in use."""
STEPS = 4
"""Block sizes per power of two."""
LARGER = STEPS
"""Maximum number of size steps by which a block may exceed the requested size."""


class HostMemoryPool:
    """Free blocks of memory, by size."""

    def __init__(self) -> None:
        self._lock = fork_safe_lock()  # reentrant, because garbage collections call `give`
        self._blocks: dict[int, list[memoryview]] = {}
        self._kept = 0
        self._used = 0

    def take(self, size: int) -> memoryview:
        """Return an uninitialised block of at least `size` bytes."""
        number = size_number(size)
        with self._lock:
            for larger in range(number, number + LARGER + 1):
                if blocks := self._blocks.get(larger):
                    block, length = blocks.pop(), size_of(larger)
                    self._kept -= length
                    self._used += length
                    return block
            if self._kept > max(MAX_UNUSED, self._used // 8):
                self.clear()
        length = size_of(number)
        fresh: Any = np.empty(length, np.uint8)
        with self._lock:
            self._used += length
        return memoryview(fresh)

    def give(self, block: memoryview) -> None:
        """Keep a free block; if that exceeds the maximum, release all others first."""
        length = len(block)
        with self._lock:
            self._used -= length
            if self._kept + length > MAX_KEPT:
                self.clear()
            if length <= MAX_KEPT:
                self._blocks.setdefault(size_number(length), []).append(block)
                self._kept += length

    def clear(self) -> None:
        """Release all free blocks to the allocator."""
        with self._lock:
            self._blocks.clear()
            self._kept = 0


POOL = HostMemoryPool()
"""The pool of this process."""
after_fork(POOL.clear)


def size_number(size: int) -> int:
    """Return the index of the smallest block size of at least `size` bytes.

    >>> size_of(size_number(70_000)), size_number(size_of(9)) == 9
    (81920, True)
    """
    power = max(size - 1, 1).bit_length() - 1
    step = -(-(size << 2) // (1 << power)) - STEPS
    return STEPS * power + step


def size_of(number: int) -> int:
    """Return the bytes of a block, given the index of its size."""
    power, step = divmod(number, STEPS)
    return (STEPS + step << power) // STEPS
