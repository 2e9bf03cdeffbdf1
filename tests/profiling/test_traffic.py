"""Bytes moved by launches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import jetpy
from jetpy.kernel_language.reading import read_workunit
from jetpy.profiling.traffic import traffic
from jetpy.workloads.common import triad
from tests.graphs import MULTILEVEL


def test_traffic_of_triad_is_its_reads_and_writes() -> None:
    left, right, total = (np.zeros(100, np.int64) for _ in range(3))
    arguments: Mapping[str, Any] = {"left": left, "right": right, "factor": 3, "total": total}
    signature = read_workunit(triad, "triad").signature
    assert traffic(100, signature, arguments) == 2400
    assert traffic(25, signature, arguments) == 600
    assert traffic(0, signature, arguments) == 0


def test_traffic_of_launches_is_bounded_by_the_arrays() -> None:
    graph = jetpy.generators.grid(60, 50)
    profile = jetpy.partition(
        graph, 4, options=MULTILEVEL, backend="cpu", threads=1, profile=True
    ).profile
    assert profile is not None
    most = 100 * (graph.indptr.nbytes + 2 * graph.indices.nbytes)
    launches = [event for event in profile.events if event.traffic]
    assert launches
    assert all(event.traffic <= most for event in launches)
    for kernel in profile.kernels:
        assert kernel.bytes == sum(e.traffic for e in launches if e.name == kernel.name)
    bytes_of = {kernel.name: kernel.bytes for kernel in profile.kernels}
    assert bytes_of["merge_rows"] >= graph.indices.nbytes  # each index works on many rows
