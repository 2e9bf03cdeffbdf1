"""Captured launches."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from jetpy.engines.base import Count
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.errors import BackendError
from jetpy.workloads.common import selfcheck
from tests.device_backend import DeviceBackend
from tests.modules import Load


@pytest.mark.parametrize("is_program", [True, False])
def test_captured_counts_are_read_at_launch(is_program: bool) -> None:
    """The number of indices has an offset; an equal argument has none.

    If other work is captured in between, the launches are repeated one by one.
    """
    backend, counts = CpuBackend(2), np.array([0, 5, 0])
    listed = Count(counts, 1)
    numbers, starts = np.arange(9, dtype=np.int32), np.zeros(9, np.int64)
    tallies = SimpleNamespace(
        doubled=np.zeros(9, np.int32),
        sums=np.zeros(9, np.int64),
        least=np.full(9, 100, np.int32),
        most=np.full(9, -1, np.int32),
    )

    def launches() -> None:
        if not is_program:
            backend.perform(lambda: None)
        backend.parallel_for(
            listed + 2, selfcheck.tally, numbers=numbers, tallies=tallies, buckets=listed
        )
        backend.scan_into(
            Count(counts, 2), listed, selfcheck.offset, numbers=numbers, starts=starts
        )

    repeat = backend.capture(launches)
    counts[1] = 4
    repeat()
    assert tallies.doubled.tolist() == [0, 2, 4, 6, 8, 10, 0, 0, 0]
    assert tallies.sums.tolist() == [0 + 4, 1 + 5, 2, 3, 0, 0, 0, 0, 0]
    assert counts.tolist() == [0, 4, 0 + 1 + 2 + 3]
    counts[1] = 6
    repeat()
    assert tallies.doubled.tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 0]
    assert tallies.sums.tolist() == [4 + 0 + 6, 6 + 1 + 7, 2 + 2, 3 + 3, 4, 5, 0, 0, 0]
    assert counts.tolist() == [0, 6, 0 + 1 + 2 + 3 + 4 + 5]


def test_launches_with_many_arguments_are_not_captured(load: Load) -> None:
    views = {f"a{number}": np.zeros(1, np.int32) for number in range(20)}
    parameters = ", ".join(f"{name}: pk.View1D[pk.int32]" for name in views)
    body = "".join(f"    {name}[i] = 1\n" for name in views)
    text = f"@pk.workunit\ndef w(i: int, {parameters}):\n{body}"
    backend, module = CpuBackend(1), load(text)

    def launch() -> None:
        backend.parallel_for(1, module.w, **views)

    launch()
    assert all(view.tolist() == [1] for view in views.values())
    with pytest.raises(BackendError, match="take 480 bytes"):
        backend.capture(launch)


def test_captured_copies_are_repeated() -> None:
    backend = DeviceBackend(1)
    there, back = backend.dual_view(2), backend.dual_view(2)

    def copy() -> None:
        back.device[:] = there.device

    def launches() -> None:
        backend.sync_device(there)
        backend.perform(copy)
        backend.sync_host(back)

    repeat = backend.capture(launches)
    for number in (3, 4):
        there.host[:] = number
        repeat()
        assert back.host.tolist() == [number, number]


@pytest.mark.parametrize("is_program", [True, False])
def test_program_accepts_other_arguments(is_program: bool) -> None:
    """A program takes the current attributes of all objects; other captures cannot."""
    backend = CpuBackend(2)
    numbers = np.arange(5, dtype=np.int32)

    def tallies() -> SimpleNamespace:
        return SimpleNamespace(
            doubled=np.zeros(5, np.int32),
            sums=np.zeros(5, np.int64),
            least=np.full(5, 100, np.int32),
            most=np.full(5, -1, np.int32),
        )

    first, second, third = tallies(), tallies(), tallies()

    def launches() -> None:
        if not is_program:
            backend.perform(lambda: None)
        backend.parallel_for(5, selfcheck.tally, numbers=numbers, tallies=first, buckets=5)

    captured = backend.capture(launches)
    assert captured.exchange({id(first): second}) is is_program
    captured()
    doubled = (second if is_program else first).doubled
    assert doubled.tolist() == [0, 2, 4, 6, 8]
    if not is_program:
        return
    assert not first.doubled.any()

    before, second.doubled = second.doubled, np.full(5, 9, np.int32)
    before[:] = 0
    captured.exchange({})
    captured()
    assert second.doubled.tolist() == [0, 2, 4, 6, 8]
    assert not before.any()

    others = np.arange(5, 10, dtype=np.int32)
    captured.exchange({id(second): third, id(numbers): others})
    captured()
    assert third.doubled.tolist() == [10, 12, 14, 16, 18]
    third.doubled = np.zeros(5, np.int64)
    with pytest.raises(
        TypeError, match="doubled is an array of int64; it must be an array of int32"
    ):
        captured.exchange({})


def test_empty_arrays_are_shared_per_type() -> None:
    backend = CpuBackend(1)
    assert backend.empty(0) is backend.empty(0)
    assert backend.empty(0, np.int64) is not backend.empty(0)
    assert backend.empty(0, np.int64).dtype == np.int64
    assert backend.empty(1) is not backend.empty(1)
