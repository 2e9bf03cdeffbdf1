"""Tasks that a GPU and its host share: about equal times, and equal orders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from jetpy.engines.base import Backend
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.initial import sharing
from jetpy.initial.sharing import COPIED, MIN_GAIN, SLOWDOWN, gpu_tasks
from jetpy.ordering import dissection, quotient_graphs
from tests.device_backend import DeviceBackend, lent

LENGTHS = st.lists(st.integers(1, 5000), max_size=60)


def shared(
    lengths: list[int], threads: int, at_once: int, limits: Any = 10_000, copied: int = 0
) -> np.ndarray:
    gpu: Any = SimpleNamespace(tasks_at_once=at_once)
    host: Any = SimpleNamespace(threads=threads)
    values = np.array(lengths, np.int64)
    return gpu_tasks(gpu, host, values, values, limits, copied)


@given(LENGTHS, st.integers(1, 16))
def test_a_back_end_on_cpus_takes_no_tasks(lengths: list[int], threads: int) -> None:
    assert not shared(lengths, threads, at_once=0).any()


@given(LENGTHS, st.integers(1, 16), st.integers(1, 64), st.integers(1, 9000))
def test_a_gpu_takes_the_shortest_tasks_and_none_fewer_or_more_is_faster(
    lengths: list[int], threads: int, at_once: int, room: int
) -> None:
    """A task needs as much memory as it is long."""
    values = np.array(lengths, np.int64)
    order = np.argsort(values, kind="stable")
    limits = np.maximum(1, room // values)

    def time(count: int) -> float:
        there, here = values[order[:count]], values[order[count:]]
        most = min(at_once, limits[order[:count]].min(initial=at_once))
        longest = max(there.max(initial=0), there.sum() / most)
        return float(max(SLOWDOWN * longest, here.sum() / threads))

    with patch.object(sharing, "MIN_GAIN", 0):
        found = shared(lengths, threads, at_once, limits)
    count = int(found.sum())
    assert found[order[:count]].all()
    assert time(count) == min(map(time, range(len(values) + 1)))


def test_few_short_tasks_stay_on_the_host() -> None:
    assert not shared([300] * 100, threads=16, at_once=2000).any()
    assert shared([300] * 1000, threads=16, at_once=2000).any()
    saved = int(300 * 1000 / 16 - SLOWDOWN * 300)
    assert not shared([300] * 1000, 16, 2000, copied=(saved - MIN_GAIN) * COPIED).any()


@contextmanager
def order_on(engine: CpuBackend) -> Iterator[None]:
    """Make `nested_dissection` run on a back end that takes tasks early."""
    with (
        lent(engine),
        patch.multiple(sharing, MIN_GAIN=-(10**6), SLOWDOWN=2),
    ):
        yield


@pytest.mark.parametrize("largest_node", [400, dissection.LARGEST_NODE])
@pytest.mark.parametrize("preset", ["fast", "default", "best"])
@pytest.mark.parametrize(
    "graph",
    [generators.delaunay(1500), generators.cube(11, 11, 11), generators.thinned_delaunay(2000)],
    ids=["delaunay", "cube", "road"],
)
def test_shared_tasks_make_no_difference(
    graph: jetpy.Graph, preset: Any, largest_node: int
) -> None:
    engine = DeviceBackend(2)
    engine.name, engine.tasks_at_once = "device", 50
    with patch.object(dissection, "LARGEST_NODE", largest_node):
        options: Any = {"preset": preset, "leaf_size": 60}
        expected = jetpy.nested_dissection(graph, **options, backend="cpu", threads=2)
        with order_on(engine):
            found = jetpy.nested_dissection(graph, **options, threads=2, profile=True)
    assert np.array_equal(found.perm, expected.perm)
    assert np.array_equal(found.tree.starts, expected.tree.starts)
    names = {(kernel.name, kernel.backend) for kernel in found.profile.kernels}
    for name in ("find_separators", "order_blocks"):
        assert {(name, "device"), (name, "cpu")} <= names


class FullDevice(DeviceBackend):
    """A GPU that has no memory for tasks."""

    def run_tasks(self, n: int, workunit: Any, /, **arguments: Any) -> None:
        """Fail as an allocation does."""
        raise MemoryError


@pytest.mark.parametrize("preset", ["fast", "default"])
def test_the_host_takes_all_tasks_if_the_memory_of_a_gpu_is_full(preset: Any) -> None:
    graph, engine = generators.delaunay(3000), FullDevice(2)
    engine.tasks_at_once = 50
    expected = jetpy.nested_dissection(graph, preset=preset, backend="cpu", threads=2)
    with order_on(engine):
        found = jetpy.nested_dissection(graph, preset=preset)
    assert np.array_equal(found.perm, expected.perm)


@pytest.mark.parametrize("at_once", [0, 50])
@pytest.mark.parametrize("preset", ["fast", "default", "best"])
def test_wide_blocks_make_no_difference(preset: Any, at_once: int) -> None:
    graph, engine = generators.delaunay(2000), DeviceBackend(2)
    engine.tasks_at_once = at_once
    expected = jetpy.nested_dissection(graph, preset=preset, backend="cpu", threads=2)
    with order_on(engine), patch.object(quotient_graphs, "INT32_MAX", 0):
        found = jetpy.nested_dissection(graph, preset=preset)
        assert np.array_equal(found.perm, expected.perm)
        if at_once == 0:  # a back end without wide kernels
            with patch.object(DeviceBackend, "with_width", Backend.with_width):
                again = jetpy.nested_dissection(graph, preset=preset)
            assert np.array_equal(again.perm, expected.perm)
