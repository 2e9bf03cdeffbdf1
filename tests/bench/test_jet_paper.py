"""Parts of the experiments of the paper on Jet."""

from __future__ import annotations

import subprocess
from functools import partial

import numpy as np
import pytest

import jetpy
from bench import kway_fm
from bench.instances import Instance
from bench.papers.classes import GRAPHS, all_row, by_class, class_rows
from bench.papers.experiment import NO_GRAPH, NOT_MEASURED, PEER_MISSING
from bench.papers.jet import times
from bench.papers.jet.comparison import profiles, wins
from bench.papers.jet.partitioners import JET, configurations, measured
from bench.papers.jet.refinement import FAILED, OURS, PEER_FAILED, balanced_start, table4
from bench.papers.setting import Setting, median_cut
from jetpy.problem.metrics import edge_cut, part_weights

NUMBERS = {
    JET: {("a", "k"): 2.0, ("b", "k"): 3.0},
    "Metis": {("a", "k"): 3.0, ("b", "k"): 3.0},
}


def grid(n: int, kind: str = "generated") -> Instance:
    return Instance(f"grid{n}", "mesh", kind, n * n, partial(jetpy.generators.grid, n, n))


def setting(*instances: Instance) -> Setting:
    return Setting(list(instances), True, "cpu", 2, 1)


def test_profile_has_shares_within_each_factor_of_the_best() -> None:
    values = profiles(NUMBERS, ["1", "1.5"])
    assert (values["1", JET], values["1", "Metis"], values["1.5", "Metis"]) == (1, 0.5, 1)
    assert values["1", "KaMinPar"] == PEER_MISSING


def test_wins_count_cases_above_a_multiple_of_jets_number() -> None:
    values = wins(NUMBERS, {"smaller": 1, "half": 2})
    assert (values["smaller", "Metis"], values["half", "Metis"]) == (0.5, 0)
    assert values["cases", "Metis"] == 2
    assert values["smaller", "KaMinPar"] == PEER_MISSING


def test_meshes_in_files_are_finite_elements() -> None:
    found = by_class([grid(3), grid(4, "real")])
    assert [i.name for i in found["Artificial Mesh"]] == ["grid3"]
    assert [i.name for i in found["Finite Element"]] == ["grid4"]


def test_class_rows_name_graphs() -> None:
    values = class_rows([grid(3), grid(4)], {"n": lambda own: sum(i.n for i in own)})
    assert values["Artificial Mesh", "n"] == 25
    assert values["Artificial Mesh", GRAPHS] == "grid3, grid4"
    assert values["Biology", "n"] == values["Biology", GRAPHS] == NO_GRAPH
    assert all_row("All", [grid(3), grid(4)], {"n": len}) == {
        ("All", "n"): 2,
        ("All", GRAPHS): "all 2",
    }


def test_measured_omits_partitioners_without_package() -> None:
    chosen = setting(grid(30))
    found = measured(chosen, median_cut, chosen.instances, configurations(chosen))
    assert "mt-KaHIP MLS" not in found
    assert found[JET]["grid30", "k = 32, 3%"] > 0


def test_speedup_of_a_platform_over_itself_is_not_measured() -> None:
    platform = (times.CPU, 2)
    assert (
        times.speedup(setting(grid(9)), platform, platform, median_cut, [grid(9)]) == NOT_MEASURED
    )


def test_kway_fm_refines_all_levels_in_balance() -> None:
    pytest.importorskip("mtkahypar")
    graph = jetpy.generators.grid(60, 60)
    hierarchy = jetpy.coarsen(graph, 64, preset="jet", backend="cpu", threads=1)
    depth, start = balanced_start(hierarchy, 1)
    assert depth > 0
    found = kway_fm.refine(hierarchy, depth, start, 64, seed=0, threads=1)
    assert found.parts.shape == (graph.n,)
    assert np.unique(found.parts).size == 64
    assert edge_cut(graph, found.parts) < edge_cut(graph, hierarchy.project(start, depth))
    limit = hierarchy.refine(start, level=depth, backend="cpu", threads=1).limit
    assert part_weights(graph, found.parts, 64).max() <= limit


def test_crash_of_the_peer_leaves_out_its_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    def refine(*_: object, **__: object) -> kway_fm.Refined:
        raise subprocess.CalledProcessError(-11, "Mt-KaHyPar")

    monkeypatch.setattr(kway_fm, "refine", refine)
    values = table4.measure(setting(grid(30)))
    assert values["All", OURS] == values["Artificial Mesh", OURS] == PEER_FAILED
    assert values[FAILED, GRAPHS] == "grid30"
