"""Equal input, seed and options give equal parts with any threads, run, process or back end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import jetpy
from jetpy.coarsening.methods import COARSENINGS
from jetpy.graph.csr import Graph
from jetpy.refinement.methods import REFINEMENTS
from jetpy.workloads.common.prefetching import FEW_VERTICES
from tests.children import run_python
from tests.conftest import register_mode, require_backend
from tests.graphs import random_graph


def weighted() -> Graph:
    return jetpy.as_graph(_weighted_pairs())


def _weighted_pairs() -> tuple[np.ndarray, ...]:
    graph = jetpy.generators.random_geometric(3000, seed=2)
    u = graph.sources(0, graph.n).astype(np.int64)
    v = graph.indices.astype(np.int64)
    edge_weights = 1 + (np.minimum(u, v) * 31 + np.maximum(u, v) * 17) % 9
    return graph.indptr, graph.indices, edge_weights, 1 + np.arange(graph.n) % 5


def scattered() -> Graph:
    """Return a grid in random order, so large that its finest level is prefetched on CPUs."""
    grid = jetpy.generators.grid(370, 360)
    assert grid.n > FEW_VERTICES
    new = np.random.default_rng(1).permutation(grid.n)
    ends = new[grid.sources(0, grid.n)], new[grid.indices]
    return jetpy.as_graph(sp.csr_array((np.ones(len(grid.indices), np.int32), ends)))


GRAPHS: dict[str, Callable[[], Graph]] = {
    "grid": lambda: jetpy.generators.grid(90, 100),  # 9000 vertices: several grains per thread
    "delaunay": lambda: jetpy.generators.delaunay(3000),
    "rmat": lambda: jetpy.generators.rmat(12, 4),
    "weighted": weighted,
}
LARGE = {"scattered": scattered}
FAST = ("weighted", "scattered")
CASES = [
    *((name, k, "default") for name in GRAPHS for k in (2, 32)),
    *((name, 8, "fast") for name in LARGE),
    ("delaunay", 3, "ultra"),
    *((name, k, "gkway") for name in GRAPHS for k in (2, 32)),
    *(("weighted", 8, f"default {c} {r}") for c in COARSENINGS for r in REFINEMENTS),
    *(("rmat", 5, f"gkway {c} {r}") for c in COARSENINGS for r in REFINEMENTS),
    *((name, "2:3:4/1:10:100", method) for name in ("weighted", "rmat") for method in ("im", "hm")),
    ("delaunay", "4:4:2/0:10:100", "im"),
    ("delaunay", "4:4:2/0:0:1", "im"),
    ("delaunay", "2:2:2/1:10:100", "hm-ultra"),
]
"""Graph, k and preset, optionally with other methods; or graph, hierarchy/distances and mapping
method."""
SWEEP = pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            number,
            id=f"{name}-{k}-{preset}",
            marks=() if name in FAST or "ultra" in preset else pytest.mark.slow,
        )
        for number, (name, k, preset) in enumerate(CASES)
    ],
)
"""All cases; those of `FAST` and of the preset ultra are fast, the others slow."""


@cache
def graph_of(name: str) -> Graph:
    return (GRAPHS | LARGE)[name]()


def digest(
    name: str,
    k: int | str,
    preset: str,
    threads: int | None,
    seed: int = 0,
    backend: str = "cpu",
) -> str:
    graph, engine = graph_of(name), {"threads": threads, "seed": seed, "backend": backend}
    if isinstance(k, int):
        preset, coarsening, refinement = (*preset.split(), None, None)[:3]
        methods = {"coarsening": coarsening, "refinement": refinement}
        parts = jetpy.partition(graph, k, preset=preset, **methods, **engine).parts
    else:
        hierarchy, distances = k.split("/")
        parts = jetpy.map_processes(graph, hierarchy, distances, method=preset, **engine).pe
    return sha256(parts.tobytes()).hexdigest()[:16]


@cache
def expected(case: int) -> str:
    return digest(*CASES[case], threads=1)


@SWEEP
def test_captured_launches_give_the_same_parts(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU captures launches over all active vertices; a CPU makes lists instead."""
    expected(case)
    name = register_mode("captured", monkeypatch)
    assert digest(*CASES[case], threads=2, backend=name) == expected(case)


@SWEEP
def test_separate_memory_gives_the_same_parts(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU has separate memory and leaves small levels to the host."""
    expected(case)
    name = register_mode("apart", monkeypatch)
    assert digest(*CASES[case], threads=2, backend=name) == expected(case)


def all_digests(threads: int) -> list[str]:
    """Return the digests of all cases; runs in another process."""
    return [digest(*case, threads=threads) for case in CASES]


@cache
def in_another_process(threads: int) -> list[str]:
    code = (
        "import json; from tests.test_determinism import all_digests\n"
        f"print(json.dumps(all_digests({threads})))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": str(threads)}
    return list(json.loads(run_python(code, env=environment).stdout))


@SWEEP
def test_parts_do_not_depend_on_threads_or_run(case: int) -> None:
    for threads in (2, 3, 7, 2):
        assert digest(*CASES[case], threads=threads) == expected(case)


@pytest.mark.slow
@SWEEP
def test_other_processes_give_the_same_parts(case: int) -> None:
    """One process has three threads, the other has one."""
    assert in_another_process(3)[case] == expected(case)
    assert in_another_process(1)[case] == expected(case)


@SWEEP
def test_back_ends_give_the_same_parts(case: int, backend_name: str) -> None:
    require_backend(backend_name)
    assert digest(*CASES[case], threads=None, backend=backend_name) == expected(case)


@pytest.mark.parametrize("k", [2, 32])
def test_refinement_is_deterministic(k: int) -> None:
    graph = graph_of("weighted")
    start = np.arange(graph.n) % k
    results = {
        jetpy.refine(graph, start, k, threads=threads, backend="cpu").parts.tobytes()
        for threads in (1, 2, 3, 2)
    }
    assert len(results) == 1


@pytest.mark.parametrize(
    ("make", "k", "preset"),
    [
        (lambda: jetpy.generators.grid(80, 50), 16, "default"),
        (lambda: jetpy.generators.delaunay(4000, seed=3), 16, "default"),
        (lambda: jetpy.generators.road(4000), 8, "default"),
        (lambda: jetpy.generators.delaunay(2000), 8, "ultra"),
        (lambda: jetpy.generators.rmat(10, 6), 4, "gkway"),
    ],
)
def test_parts_do_not_depend_on_the_order_of_neighbours(
    make: Callable[[], Graph], k: int, preset: Any
) -> None:
    """The order within rows of coarse graphs differs on GPUs and between processes."""
    graph = make()
    random = np.random.default_rng(1)
    order = np.lexsort((random.random(2 * graph.m), graph.sources(0, graph.n)))
    other = replace(
        graph, indices=graph.indices[order].copy(), edge_weights=graph.edge_weights[order].copy()
    )
    found, again = (
        jetpy.partition(g, k, preset=preset, backend="cpu", threads=1) for g in (graph, other)
    )
    assert np.array_equal(found.parts, again.parts)


def test_other_runs_do_not_change_parts() -> None:
    graph = random_graph(300, 900, 1)
    first = jetpy.partition(graph, 5, backend="cpu", threads=2).parts
    jetpy.partition(graph_of("delaunay"), 7, seed=5, backend="cpu", threads=2)
    assert (jetpy.partition(graph, 5, backend="cpu", threads=2).parts == first).all()


def test_different_seeds_give_different_parts() -> None:
    digests = {digest("delaunay", 8, "fast", threads=2, seed=seed) for seed in range(6)}
    assert len(digests) >= 5
