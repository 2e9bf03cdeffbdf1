"""The examples of docs/developing work."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import which
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest

import jetpy
from jetpy import choices, workloads
from jetpy.device.backends import BACKENDS, get_backend
from jetpy.device.device_graph import upload
from jetpy.device.selfcheck import differences
from jetpy.kernel_language import pykokkos_standin
from jetpy.problem import checked
from jetpy.refinement.methods import REFINEMENTS
from jetpy.study import runner
from jetpy.study.cases import Options
from jetpy.study.child import Task, found_by
from jetpy.study.processes import Outcome
from jetpy.study.results import read_results
from jetpy.study.study import Study
from tests.graphs import random_graph
from tests.study.made import machine

EXAMPLES = Path(__file__).parents[1] / "docs" / "developing" / "examples"


def load(name: str, file: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load an example under the name of its module."""
    spec = spec_from_file_location(name, EXAMPLES / file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pykokkos", pykokkos_standin)
        spec.loader.exec_module(module)
    return module


def load_kernels(folder: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = folder.__name__.rpartition(".")[2]
    module = load(f"{folder.__name__}.{name}", f"workloads/{stage}/{name}.py", monkeypatch)
    monkeypatch.setattr(folder, name, module, raising=False)


def test_example_of_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    load_kernels(workloads.multilevel, "border", monkeypatch)
    host = load("jetpy.multilevel.border", "jetpy/multilevel/border.py", monkeypatch)
    test = load("tests.multilevel.test_border", "tests/multilevel/test_border.py", monkeypatch)
    backend, graph = get_backend("cpu", 2), random_graph(200, 600, 1, weighted=True)
    parts = np.random.default_rng(1).integers(0, 5, graph.n, np.int32)
    found = host.border_weights(backend, upload(backend, graph), parts, 5)
    assert found.tolist() == test.oracle(graph, parts, 5)


def test_example_of_a_refinement(monkeypatch: pytest.MonkeyPatch) -> None:
    load_kernels(workloads.refinement, "coin", monkeypatch)
    made = load("jetpy.refinement.coin", "jetpy/refinement/coin.py", monkeypatch)
    monkeypatch.setitem(REFINEMENTS, "coin", made.CoinToss)
    monkeypatch.setattr(choices, "Refinement", Literal["jet", "independent-set", "coin"])
    monkeypatch.setattr(checked, "_hints", checked._hints.__wrapped__)
    graph = jetpy.generators.delaunay(5000)
    one, two = (
        jetpy.partition(graph, 8, refinement="coin", backend="cpu", threads=threads)
        for threads in (1, 2)
    )
    assert one.feasible
    assert np.array_equal(one.parts, two.parts)
    assert one.cut < jetpy.partition(graph, 8, preset="gkway", backend="cpu").cut
    test = load("tests.refinement.test_coin", "tests/refinement/test_coin.py", monkeypatch)
    test.test_the_best_partition_is_kept(get_backend("cpu", 2), monkeypatch)


@pytest.mark.skipif(which("g++") is None, reason="no g++")
def test_example_of_a_back_end(monkeypatch: pytest.MonkeyPatch) -> None:
    made = load("jetpy.engines.cpp", "jetpy/engines/cpp.py", monkeypatch)
    assert list(differences(made.CppBackend(), 2049)) == []


@pytest.mark.slow
@pytest.mark.skipif(which("g++") is None, reason="no g++")
def test_example_of_a_back_end_in_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = load("jetpy.engines.cpp", "jetpy/engines/cpp.py", monkeypatch)
    monkeypatch.setattr(made, "COMMAND", (*made.COMMAND, "-O0"))  # a run needs all kernels
    monkeypatch.setitem(BACKENDS, "cpp", lambda threads, device: made.CppBackend())

    def run_here(module: str, *arguments: str, **options: object) -> Outcome:
        """Run in this process, because another one does not know the back end."""
        if module == "jetpy.study.triad":
            return Outcome("done", {"bandwidth": 1e9, "latency": 1e-6})
        return Outcome("done", found_by(Task.from_json(arguments[0])))

    monkeypatch.setattr(runner, "run_apart", run_here)
    jetpy.write_graph(tmp_path / "mesh.graph", jetpy.generators.grid(20, 20))
    engines: Any = ("cpu", "cpp")
    options = Options((2,), engines, ("fast",), (), (1, 2), (0,), (0.03,), 60)
    study = Study.opened(tmp_path / "study", "box", machine())
    runner.measure_rooflines(study, options)
    failed = runner.make_runs(study, [tmp_path / "mesh.graph"], options, lambda done, total: None)
    found = read_results(tmp_path / "study")
    assert failed == []
    assert found.applications == ["jetpy/fast", "jetpy/fast cpp"]
    assert found.platforms == ["box cpu-1", "box cpu-2"]
    assert found.unequal == []
    assert found.by_bandwidth.each.keys() == set(found.applications)
