"""Memory of the host that is used again: fresh pages cost more than much of the work on them.

All runs of a process share one pool, as they share the allocator below it: a block belongs to the
run that has taken it, until it gives it back.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from jetpy.engines.threads import after_fork, fork_safe_lock

LEAST = 1 << 16
"""Bytes of the smallest block that is kept: the allocator keeps smaller ones itself."""
MAX_KEPT = 1 << 28
"""Bytes of all blocks that are kept for later."""
STEPS = 4
"""Sizes of blocks from one power of two to the next."""
LARGER = STEPS
"""By how many sizes a block may be larger than what it is taken for."""


class HostMemoryPool:
    """Blocks of memory that nobody uses, by size."""

    def __init__(self) -> None:
        self._lock = fork_safe_lock()  # reentrant: a block may be given back while one is taken
        self._blocks: defaultdict[int, list[memoryview]] = defaultdict(list)
        self._kept = 0

    def take(self, size: int) -> memoryview:
        """Return a block of at least so many bytes, with anything in it."""
        number = size_number(size)
        with self._lock:
            for larger in range(number, number + LARGER + 1):
                if blocks := self._blocks[larger]:
                    block = blocks.pop()
                    self._kept -= len(block)
                    return block
        fresh: Any = np.empty(size_of(number), np.uint8)
        return memoryview(fresh)

    def give(self, block: memoryview) -> None:
        """Keep a block for later; where that makes too many, instead of all others."""
        with self._lock:
            if self._kept + len(block) > MAX_KEPT:
                self.clear()
            if len(block) <= MAX_KEPT:
                self._blocks[size_number(len(block))].append(block)
                self._kept += len(block)

    def clear(self) -> None:
        """Leave all blocks that are kept to the allocator."""
        with self._lock:
            self._blocks.clear()
            self._kept = 0


POOL = HostMemoryPool()
"""Of this process."""
after_fork(POOL.clear)


def size_number(size: int) -> int:
    """Return the number of the smallest size of blocks that has so many bytes.

    >>> size_of(size_number(70_000)), size_number(size_of(9)) == 9
    (81920, True)
    """
    power = max(size - 1, 1).bit_length() - 1
    step = -(-(size << 2) // (1 << power)) - STEPS
    return STEPS * power + step


def size_of(number: int) -> int:
    """Return the bytes of blocks of a size, by its number."""
    power, step = divmod(number, STEPS)
    return (STEPS + step << power) // STEPS
