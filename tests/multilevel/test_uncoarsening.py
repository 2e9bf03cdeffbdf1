"""Uncoarsening."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.generators import grid
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen, finest_level, project
from jetpy.multilevel.uncoarsening import uncoarsen
from jetpy.problem.presets import preset
from jetpy.problem.problem import make_problem
from jetpy.progress import no_progress


def test_levels_are_refined_from_the_coarsest_to_the_finest(backend: Backend) -> None:
    graph = grid(60, 50)
    finest = finest_level(backend, upload(backend, graph))
    hierarchy = coarsen(finest, [make_problem(graph.n, 2, 0.03, 1, preset("fast"))], no_progress)
    levels = list(hierarchy)
    assert len(levels) > 2
    seen: list[tuple[Any, int]] = []
    calls: list[tuple[Any, ...]] = []

    def refine(level: HierarchyLevel, finer: Sequence[HierarchyLevel], parts: Any) -> Any:
        seen.append((level, len(finer)))
        return level.backend.from_host(level.backend.to_host(parts) + 1)

    start = np.arange(levels[-1].graph.n, dtype=np.int32)
    parts = levels[-1].backend.from_host(start)
    found, watches = uncoarsen(hierarchy, parts, refine, lambda *now: calls.append(now), first=4)
    assert seen == [(level, depth) for depth, level in reversed([*enumerate(levels)])]
    assert [watch.level for watch in watches] == [4 + depth for depth in range(len(levels))]
    assert hierarchy == []
    expected = levels[-1].backend.from_host(start)
    for finer, level in reversed([*pairwise(levels)]):
        expected = project(level, expected, [finer])
    assert np.array_equal(backend.to_host(found), backend.to_host(expected) + len(levels))
    total = sum(level.graph.n for level in levels)
    assert calls[-1] == ("refine", total, total)
    assert len(calls) == len(levels)
