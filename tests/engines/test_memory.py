"""Arrays with known addresses, while garbage collections run in between; filled arrays."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from jetpy.engines.base import Backend
from jetpy.engines.memory import HostMemory


@contextmanager
def collecting(call: Callable[[], None]) -> Iterator[None]:
    """Call a function in a garbage collection at each allocation of a container."""

    def collect(phase: str, _info: dict[str, int]) -> None:
        if phase == "stop":
            call()

    before = gc.get_threshold()
    gc.callbacks.append(collect)
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collect)


def test_addresses_of_a_new_element_type_have_one_dictionary() -> None:
    """As if another thread used the element type for the first time meanwhile."""
    memory = HostMemory()
    found = []
    with collecting(lambda: found.append(memory.addresses["int64"])):
        held = memory.addresses["int64"]
    assert found
    assert all(other is held for other in found)
    assert memory.addresses["int64"] is held


def test_arrays_of_an_arena_do_not_overlap() -> None:
    memory = HostMemory()
    sizes = [(5, np.int32), (0, np.int64), (3, np.int64), (1000, np.int32)]
    arena = memory.arena(sizes)
    assert [(len(array), array.dtype) for array in arena.arrays] == sizes
    for number, array in enumerate(arena.arrays):
        array.fill(number)
    for number, array in enumerate(arena.arrays):
        assert (array == number).all()
        assert memory.address(array, array.dtype.name, "array") == array.ctypes.data


def test_addresses_die_with_an_arena() -> None:
    memory = HostMemory()
    arena = memory.arena([(10, np.int32), (20, np.int64)])
    assert [len(known) for known in memory.addresses.values()] == [1, 1]
    del arena
    gc.collect()
    assert not any(memory.addresses.values())


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float64])
@pytest.mark.parametrize("value", [0, -1, -2, 7])
def test_arrays_are_filled(backend: Backend, value: int, dtype: type) -> None:
    """Also slices, whose other elements keep their values."""
    array = backend.full(1000, value, dtype)
    assert array.dtype == dtype
    assert backend.to_host(array).tolist() == [value] * 1000
    backend.fill(array[3:5], 1 - value)
    expected = [value] * 3 + [1 - value] * 2 + [value] * 995
    assert backend.to_host(array).tolist() == expected
