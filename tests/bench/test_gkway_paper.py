"""Graphs, captured launches and missing values of the experiments of G-kway."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
import pytest

import jetpy
from bench.instances import Instance
from bench.papers.classes import QUICK
from bench.papers.experiment import PEER_MISSING, Result, table
from bench.papers.gkway.captures import counted, one_by_one, without_loops
from bench.papers.gkway.measures import BENCHMARKS, JOURNAL, UNBALANCED, cut, mean_of, number
from bench.papers.gkway.uncoarsening import host_calls
from bench.papers.setting import Run, Setting
from bench.papers.stand_ins import described, netlist
from jetpy.choices import Backend
from jetpy.engines.gpu_memory import CudaMemory
from jetpy.problem.metrics import components_per_part
from tests.conftest import register_mode

GRID = Instance("grid", "mesh", "generated", 1600, partial(jetpy.generators.grid, 40, 40))
SMALL = Instance("wb_dma", "circuit", "real", 6, partial(jetpy.generators.grid, 2, 3))
LARGE = Instance("wb_dma_gates", "circuit", "real", 12, partial(jetpy.generators.grid, 3, 4))
OTHER = Instance("wb_dmax", "circuit", "real", 20, partial(jetpy.generators.grid, 4, 5))


def setting(*instances: Instance) -> Setting:
    return Setting(list(instances), quick=True, backend="cpu", threads=1, seeds=2)


# Graphs


def test_largest_graph_of_the_name_is_found() -> None:
    own = setting(OTHER, SMALL, LARGE, *QUICK)
    found = BENCHMARKS["wb_dma"].find(own)
    assert found is LARGE
    assert described(own, found) == "wb_dma_gates, n = 12, m = 17"


def test_stand_in_tells_that_it_is_generated() -> None:
    own = setting(OTHER)
    found = BENCHMARKS["NLR"].find(own)
    assert found.n == 12_000
    assert described(own, found).startswith("generated mesh, n = 12,000")


def test_netlist_is_connected_and_has_small_cuts() -> None:
    graph = netlist(4000, 6000, 1)
    assert graph.n == 4000
    assert 0.9 * 6000 < graph.m <= 6000
    assert (graph.edge_weights == 1).all()
    assert components_per_part(graph, np.zeros(graph.n, np.int32), 1).tolist() == [1]
    assert jetpy.partition(graph, 2, preset="gkway", backend="cpu").cut < graph.m / 20
    assert netlist(4000, 6000, 2).m != graph.m


# Values


def test_means_are_of_balanced_runs() -> None:
    own = setting()
    runs = [Run(4, True, {"total": 1}), Run(100, False, {"total": 1}), Run(6, True, {"total": 1})]
    own._kept["tool", "grid", 2, "default", 0.03, 1] = runs
    assert number(cut, own, "tool", GRID, 2) == 5
    own._kept["tool", "grid", 2, "default", 0.03, 1] = runs[1:2]
    assert number(cut, own, "tool", GRID, 2) == UNBALANCED


def test_first_run_of_a_tool_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    def partition(self: Setting, instance: Instance, k: int, seed: int, **_: object) -> object:
        seeds.append(seed)
        return jetpy.partition(jetpy.generators.grid(4, 4), k, backend="cpu")

    monkeypatch.setattr(Setting, "partition", partition)
    own = setting()
    assert [len(own.runs("jetpy/cpu", GRID, k)) for k in (2, 3, 2)] == [2, 2, 2]
    assert seeds == [0, 0, 1, 0, 1]


def test_mean_leaves_out_missing_values() -> None:
    assert mean_of([1, PEER_MISSING, 3]) == 2
    assert mean_of([PEER_MISSING], PEER_MISSING) == PEER_MISSING


def test_tables_are_sorted_by_number_and_not_wide() -> None:
    rows = [Result(row, column, "", 1) for row in ("16", "mean", "2") for column in "abcd"]
    assert table(rows)[0] == ["", "2", "16", "mean"]
    assert [row[0] for row in table(rows[:-1:4])[1]] == ["2", "16", "mean"]


# Captured launches


@pytest.mark.parametrize("mode", ["lists", "captured"])
def test_captures_do_not_change_the_result(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, backend = GRID.load(), cast("Backend", register_mode(mode, monkeypatch))
    run = partial(jetpy.partition, graph, 4, preset="jet", backend=backend, threads=1)
    usual = run()
    with one_by_one(), counted() as direct_calls:
        direct = run()
    with counted() as usual_calls:
        run()
    with without_loops(), counted() as more_calls:
        without = run()
    assert (direct.parts == usual.parts).all()
    assert (without.parts == usual.parts).all()
    iterations = sum(level.iterations for level in usual.levels)
    assert more_calls.launches >= iterations
    assert usual_calls.creations == usual_calls.instantiations > 0
    assert usual_calls.creating > 0
    assert usual_calls.instantiating > 0
    assert usual_calls.launching > 0
    if mode == "lists":
        assert usual_calls.launches < more_calls.launches
    assert direct_calls.creations > 0
    assert direct_calls.instantiations == 0


def test_graphs_of_a_gpu_are_instantiated_at_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CudaMemory, "_capture", lambda memory, launches: launches())
    memory: Any = CudaMemory.__new__(CudaMemory)
    with counted() as calls:
        memory._capture(lambda: "graph")
        memory._capture(lambda: None)  # a disturbed capture
    assert calls.instantiations == 1


def test_host_calls_have_a_record_for_each_run() -> None:
    own = setting()
    records = host_calls(own, GRID, (2, 4), loops=True)
    assert len(records) == 4
    assert all(record.launches for record in records)
    assert own.partition(GRID, 2, 0, preset=JOURNAL).feasible
