"""Arrays with known addresses, while garbage collections run in between."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
