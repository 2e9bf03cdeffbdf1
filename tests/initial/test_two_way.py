"""Growing, and the refinement of Fiduccia and Mattheyses, compared with plain Python."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.backends import get_backend
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.workloads.common.heaps import Field
from tests.graphs import isolated, path, random_graph, two_cliques
from tests.initial.levels import finest_level
from tests.initial.oracle import TwoWay
from tests.modules import import_kernels
from tests.strategies import weighted_graphs

probes = import_kernels("tests.initial.probes")


def refined(backend: Backend, start: TwoWay, passes: int) -> tuple[list[int], int]:
    """Return sides and cut after `passes` passes of the kernel."""
    levels = finest_level(backend, start.graph, start.graph.total_vertex_weight)
    levels.sides[: start.graph.n] = start.sides
    levels.numbers[Field.TARGET] = start.target
    levels.numbers[Field.MOST : Field.MOST + 2] = start.most
    levels.numbers[Field.SEED] = start.seed
    backend.parallel_for(1, probes.refine_sides, levels=levels, passes=passes)
    return levels.sides[: start.graph.n].tolist(), int(levels.numbers[Field.CUT])


def check(graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    total = graph.total_vertex_weight
    target = int(rng.integers(0, total + 1))
    slack = int(rng.integers(0, max(1, total // 4) + 1))
    sides = rng.integers(0, 2, graph.n).tolist()
    expected = TwoWay(graph, sides, target, (target + slack, total - target + slack), seed)
    backend = get_backend("cpu", 1)
    for _ in range(3):
        before = TwoWay(graph, list(expected.sides), target, expected.most, seed)
        expected.improve()
        found, cut = refined(backend, before, 1)
        assert found == expected.sides
        assert cut == expected.cut
        assert expected.quality <= before.quality


@pytest.mark.usefixtures("compiled")
@given(weighted_graphs(least=2), st.integers(0, 10**6))
def test_passes_on_small_graphs_equal_the_oracle(graph: Graph, seed: int) -> None:
    check(graph, seed)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("seed", range(4))
def test_passes_that_end_early_equal_the_oracle(seed: int) -> None:
    check(random_graph(70, 160, seed, weighted=True), seed)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("graph", [grid(8, 8), path(33), two_cliques(20), isolated(12)])
def test_growing_keeps_the_limit(graph: Graph) -> None:
    """With unit weights, no side exceeds the limit, and the kernel's cut is correct."""
    backend = get_backend("cpu", 1)
    limit = graph.n // 2 + 1
    levels = finest_level(backend, graph, limit)
    launch = partial(backend.parallel_for, 1, levels=levels)
    launch(probes.build_levels, coarsest=30, heaviest=max(2, graph.n // 20), seed=3)
    launch(probes.grow_sides, best=backend.empty(len(levels.sides)), growings=5)
    launch(probes.refine_sides, passes=8)
    sides = levels.sides[: graph.n]
    assert max(np.bincount(sides, minlength=2)) <= limit
    edges = graph.sources(0, graph.n), graph.indices
    cut = int((sides[edges[0]] != sides[edges[1]]).sum()) // 2
    assert cut == levels.numbers[Field.CUT]
    assert cut <= {"grid-8x8": 10, "path33": 1}.get(graph.name, 0)
