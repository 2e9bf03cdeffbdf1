"""V-cycles: the levels on which they run, and that they never worsen a partition."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import jetpy
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.multilevel import vcycle
from jetpy.multilevel.hierarchy import finest_level
from jetpy.multilevel.vcycle import run_cycles
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.options import Options
from jetpy.problem.presets import preset
from jetpy.problem.problem import make_problem


def cycled(monkeypatch: pytest.MonkeyPatch, sizes: list[int], options: Options) -> list[int]:
    """Return the sizes of the levels on which V-cycles run."""
    found: list[int] = []

    def run(level: SimpleNamespace, *_: object) -> None:
        found.append(level.graph.global_size)

    monkeypatch.setattr(vcycle, "_run", run)
    levels = [SimpleNamespace(graph=SimpleNamespace(global_size=size)) for size in sizes]
    problem = SimpleNamespace(options=options)
    while levels:
        run_cycles(levels.pop(), levels, problem, None)
    return found


def test_limits_select_the_levels_of_v_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(cycles=2, cycle_limit=100)
    assert cycled(monkeypatch, [300, 200, 90, 60, 30, 10], options) == [90, 90]
    options = Options(cycles=1, cycle_limit=100)
    assert cycled(monkeypatch, [90, 60], options) == [90]
    assert cycled(monkeypatch, [300, 200], options) == []
    assert cycled(monkeypatch, [20, 10], replace(options, cycles=0)) == []
    every = replace(options, cycle_limit=None, cycle_step=2)
    assert cycled(monkeypatch, [50, 40, 30, 20, 10], every) == [10, 30, 50]


@pytest.mark.parametrize("imbalance", [0.0, 0.001, 0.03])
@pytest.mark.parametrize("seed", range(4))
def test_v_cycle_of_a_good_partition_never_worsens_it(seed: int, imbalance: float) -> None:
    """Coarse levels may exceed the limit; a result that the finest level cannot fix is dropped."""
    graph = jetpy.generators.delaunay(2000, seed=seed)
    backend = get_backend("cpu", 1)
    options = replace(preset("default"), cycles=1, cycle_limit=None, cycle_step=1)
    problem = make_problem(graph.n, 8, imbalance, seed, options)
    found = jetpy.partition(graph, 8, imbalance=imbalance, seed=seed, backend="cpu", threads=1)
    level = finest_level(backend, upload(backend, graph))
    start = level.refinement(problem).refine(backend.from_host(found.parts), finest=True)
    start = replace(start, parts=start.parts.copy())
    again = run_cycles(level, [], problem, start)
    assert again.measures.quality(problem) <= start.measures.quality(problem)
    parts = backend.to_host(again.parts)
    assert edge_cut(graph, parts) == again.measures.cut
    assert part_weights(graph, parts, 8).tolist() == again.measures.part_weights.tolist()


def test_v_cycle_improves_a_bad_partition() -> None:
    graph = jetpy.generators.delaunay(3000, seed=3)
    backend = get_backend("cpu", 1)
    level = finest_level(backend, upload(backend, graph))
    problem = make_problem(
        graph.n, 6, 0.03, 5, replace(preset("default"), cycles=1, cycle_limit=None, cycle_step=1)
    )
    parts = backend.from_host((np.arange(graph.n) % 6).astype(np.int32))
    refined = level.refinement(problem).refine(parts, finest=True)
    before = refined.measures
    again = run_cycles(level, [], problem, replace(refined, parts=refined.parts.copy()))
    assert again.measures.cut < before.cut  # because the first parts are bad
    assert edge_cut(graph, backend.to_host(again.parts)) == again.measures.cut
    assert again.measures.part_weights.sum() == graph.n
    assert again.cut_before == refined.cut_before
    assert again.iterations > refined.iterations
