"""Recursive bisection with several weights: balance, pinned vertices, and several processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.constraints.bisection import Block, bisect_recursively
from jetpy.constraints.multiconstraint import partition_several
from jetpy.device.processes import ALONE, Processes
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.problem.fixed import NO_PART
from jetpy.problem.multiconstraint import in_one, pose_several
from jetpy.problem.presets import choose
from jetpy.problem.problem import make_problem
from tests.distributed.threads import run_on_threads

GRID = jetpy.generators.grid(30, 20)
REGIONS = np.array([[9, 1], [0, 5], [4, 4], [1, 8], [7, 0]], np.int32)[np.arange(600) // 120]
"""Weights that differ between five regions of the grid."""


def block(k: int, pinned: Any = None, targets: Any = None, imbalance: float = 0.1) -> Block:
    graph = jetpy.as_graph(GRID, vertex_weights=in_one(REGIONS, REGIONS.sum(axis=0), len(REGIONS)))
    total = graph.total_vertex_weight
    problem = make_problem(total, k, imbalance, 1, choose("fast"), targets)
    several = pose_several(REGIONS, REGIONS.sum(axis=0), [imbalance] * 2, problem.shares)
    free = np.full(GRID.n, NO_PART, np.int32) if pinned is None else pinned
    return Block(graph, problem, several, free)


def bisected(whole: Block, processes: Processes = ALONE) -> Any:
    host = CpuBackend(1)  # threads cannot share one

    def bisect(own: Block) -> Any:
        return partition_several(host, own.graph, own.problem, own.several, pinned=own.pinned).parts

    return bisect_recursively(whole, bisect, host, processes)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("is_even", [True, False])
def test_all_weights_are_balanced(k: int, is_even: bool) -> None:
    whole = block(k, targets=None if is_even else 1 + np.arange(k) % 3, imbalance=0.2)
    parts = bisected(whole)
    assert parts.dtype == np.int32
    assert np.array_equal(np.unique(parts), np.arange(k))
    assert whole.several.excess(parts) == 0


def test_pinned_vertices_keep_their_parts() -> None:
    pinned = np.where(np.arange(600) % 7 == 0, np.arange(600) % 5, NO_PART).astype(np.int32)
    parts = bisected(block(5, pinned))
    assert np.array_equal(parts[pinned != NO_PART], pinned[pinned != NO_PART])
    assert len(np.unique(parts)) == 5


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_processes_find_the_parts_of_one(k: int, size: int) -> None:
    expected = bisected(block(k))
    for found in run_on_threads(size, lambda comm: bisected(block(k), comm)):
        assert np.array_equal(found, expected)


def test_regions_with_different_weights_get_compact_parts() -> None:
    """One combined weight alone leads to a cut of about 7200, because refinement must balance."""
    side, k = 200, 64
    regions = np.random.default_rng(1).integers(0, 20, (16, 2))
    weights = regions[np.arange(side**2) * 16 // side**2]
    options: dict[str, Any] = {"preset": "fast", "backend": "cpu", "threads": 1}
    found = jetpy.partition(jetpy.generators.grid(side, side), k, vertex_weights=weights, **options)
    assert found.feasible
    assert found.cut < 5500
