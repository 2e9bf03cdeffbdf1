"""Growing, and the refinement of Fiduccia and Mattheyses, compared with plain Python."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.backends import get_backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.initial.inner_levels import VERTEX_ROOM
from tests.graphs import isolated, path, random_graph, two_cliques
from tests.initial.levels import finest_level
from tests.initial.oracle import TwoWay
from tests.modules import import_kernels
from tests.strategies import weighted_graphs

probes = import_kernels("tests.initial.probes")


def run(workunit: str, start: TwoWay, **arguments: Any) -> tuple[list[int], int]:
    """Run a probe; return the sides and the cut."""
    backend, graph = get_backend("cpu", 1), start.graph
    levels = finest_level(backend, graph, graph.total_vertex_weight)
    levels.sides[: graph.n] = start.sides
    for v in start.pinned:
        levels.pinned[v] = start.sides[v]
    levels.numbers[Field.PINNED] = len(start.pinned)
    levels.numbers[Field.TARGET] = start.target
    levels.numbers[Field.MOST : Field.MOST + 2] = start.most
    levels.numbers[Field.SEED] = start.seed
    backend.parallel_for(1, getattr(probes, workunit), levels=levels, **arguments)
    return levels.sides[: graph.n].tolist(), int(levels.numbers[Field.CUT])


def any_bisection(graph: Graph, seed: int) -> TwoWay:
    """Draw sides, a target, limits, and pinned vertices."""
    rng = np.random.default_rng(seed)
    total = graph.total_vertex_weight
    target = int(rng.integers(0, total + 1))
    slack = int(rng.integers(0, max(1, total // 4) + 1))
    sides = rng.integers(0, 2, graph.n).tolist()
    pinned = set(np.flatnonzero(rng.random(graph.n) < rng.choice([0, 0, 0.3])).tolist())
    return TwoWay(graph, sides, target, (target + slack, total - target + slack), seed, pinned)


def copied(start: TwoWay) -> TwoWay:
    return replace(start, sides=list(start.sides))


def check(graph: Graph, seed: int) -> None:
    expected = any_bisection(graph, seed)
    for _ in range(3):
        before = copied(expected)
        expected.improve()
        found, cut = run("refine_sides", before, passes=1)
        assert found == expected.sides
        assert cut == expected.cut
        assert expected.quality <= before.quality


@given(weighted_graphs(least=2), st.integers(0, 10**6))
def test_passes_on_small_graphs_equal_the_oracle(graph: Graph, seed: int) -> None:
    check(graph, seed)


@pytest.mark.parametrize("seed", range(4))
def test_passes_that_end_early_equal_the_oracle(seed: int) -> None:
    check(random_graph(70, 160, seed, weighted=True), seed)


@given(weighted_graphs(), st.integers(0, 10**6), st.integers(0, 9))
def test_growing_equals_the_oracle(graph: Graph, seed: int, salt: int) -> None:
    start = any_bisection(graph, seed)
    expected = copied(start)
    expected.grow(salt)
    assert run("grow_once", start, salt=salt) == (expected.sides, expected.cut)


@given(weighted_graphs(), st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 2))
def test_best_of_several_growings_is_kept(
    graph: Graph, seed: int, growings: int, passes: int
) -> None:
    start = any_bisection(graph, seed)
    expected = copied(start)
    expected.bisect(growings, passes)
    best = get_backend("cpu", 1).full(VERTEX_ROOM * graph.n + 1, -7)
    found, _ = run("grow_sides", start, growings=growings, passes=passes, best=best)
    assert found == expected.sides


@pytest.mark.parametrize("graph", [grid(8, 8), path(33), two_cliques(20), isolated(12)])
def test_growing_keeps_the_limit(graph: Graph) -> None:
    """With unit weights, no side exceeds the limit, and the kernel's cut is correct."""
    backend = get_backend("cpu", 1)
    limit = graph.n // 2 + 1
    levels = finest_level(backend, graph, limit)
    launch = partial(backend.parallel_for, 1, levels=levels)
    launch(probes.build_levels, coarsest=30, heaviest=max(2, graph.n // 20), seed=3)
    launch(probes.grow_sides, best=backend.empty(len(levels.sides)), growings=5, passes=1)
    launch(probes.refine_sides, passes=8)
    sides = levels.sides[: graph.n]
    assert max(np.bincount(sides, minlength=2)) <= limit
    edges = graph.sources(0, graph.n), graph.indices
    cut = int((sides[edges[0]] != sides[edges[1]]).sum()) // 2
    assert cut == levels.numbers[Field.CUT]
    assert cut <= {"grid-8x8": 10, "path33": 1}.get(graph.name, 0)
