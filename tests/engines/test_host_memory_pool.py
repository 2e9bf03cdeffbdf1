"""The pool of reused host memory."""

from __future__ import annotations

import numpy as np
import pytest

from jetpy.engines import host_memory_pool
from jetpy.engines.host_memory_pool import LEAST, HostMemoryPool, size_number, size_of
from jetpy.engines.memory import HostMemory


@pytest.mark.parametrize("size", [LEAST, LEAST + 1, 5 * LEAST // 4, 10**6, 2**30 - 1, 2**30 + 1])
def test_block_sizes_waste_at_most_a_quarter(size: int) -> None:
    """Each size uses the smallest block that fits."""
    number = size_number(size)
    assert size_of(number - 1) < size <= size_of(number) <= 1.25 * size + 4


def test_block_is_reused_after_its_last_view() -> None:
    memory = HostMemory()
    array = memory.empty(LEAST, np.int32)
    address, part = memory.locate(array), array[7:9]
    part[:] = 5
    del array
    other = memory.empty(LEAST, np.int32)
    assert memory.locate(other) != address
    other[:] = 6
    assert part.tolist() == [5, 5]
    del part
    again = memory.empty(LEAST - 5, np.int32)
    assert memory.locate(again) == address
    assert (len(again), again.dtype, again.flags.writeable) == (LEAST - 5, np.int32, True)


def test_much_larger_block_is_not_reused() -> None:
    memory = HostMemory()
    array = memory.empty(64 * LEAST, np.int32)
    address = memory.locate(array)
    del array
    assert memory.locate(memory.empty(LEAST, np.int32)) != address


def test_pool_keeps_a_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory_pool, "MAX_KEPT", 3 * LEAST)
    own = HostMemoryPool()
    blocks = [own.take(LEAST) for _ in range(4)]
    for block in blocks:
        own.give(block)
    assert own.take(LEAST) is blocks[3]
    assert all(own.take(LEAST) is not block for block in blocks)
    large = own.take(4 * LEAST)
    own.give(large)
    assert own.take(4 * LEAST) is not large


def test_many_unused_blocks_are_released_before_a_fresh_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_memory_pool, "MAX_UNUSED", 2 * LEAST)
    for in_use, is_kept in ((0, False), (24, True)):
        own = HostMemoryPool()
        used = [own.take(LEAST) for _ in range(in_use)]
        free = [own.take(LEAST) for _ in range(3)]
        for block in free:
            own.give(block)
        own.take(64 * LEAST)
        again = own.take(LEAST)
        assert any(again is block for block in free) == is_kept
        assert all(again is not block for block in used)
