"""Cuts and communication volumes of jetpy, METIS and Mt-KaHyPar under constraints.

METIS runs through the C function in pymetis's extension module. To minimise the volume, Mt-KaHyPar
partitions the hypergraph whose nets are the closed neighbourhoods of the vertices. Its connectivity
metric, the sum over the nets of the number of parts of a net minus 1, is the volume.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

import jetpy
from bench.conditions import summarise
from bench.harness import SEEDS, Experiment, among
from bench.instances import Instance
from bench.libraries import pointer
from bench.records import Record
from bench.tools import default_mtkahypar
from jetpy.problem.limits import limits_of
from jetpy.problem.metrics import communication_volume, edge_cut
from jetpy.problem.targets import checked_targets, ideals
from jetpy.study.arrays import load_arrays
from jetpy.study.tools import IMBALANCE

NO_PART = -1
METIS_OPTIONS, METIS_OBJTYPE, METIS_SEED = 40, 1, 8
"""METIS_NOPTIONS, METIS_OPTION_OBJTYPE and METIS_OPTION_SEED."""

Array = npt.NDArray[Any]
Random = np.random.Generator
Solve = Callable[[int], npt.ArrayLike]
"""Called as `solve(seed)`; returns the parts."""


@dataclass(frozen=True, eq=False)
class Task:
    """A graph with constraints and an objective.

    Attributes
    ----------
    targets
        Relative target weight of each part, shape (k,).
    fixed
        Part of each fixed vertex, or `NO_PART`, shape (n,).
    weights
        Several weights per vertex, shape (n, c). With c = 0, the graph's vertex weights apply.
    minimised, counted
        What the tools minimise, and what the tables compare: cut or volume.
    """

    graph: jetpy.Graph
    targets: Array
    fixed: Array
    weights: Array
    minimised: str = "cut"
    counted: str = "cut"

    @property
    def k(self) -> int:
        """Number of parts."""
        return len(self.targets)

    @property
    def all_weights(self) -> Array:
        """The weights that the limits apply to, shape (n, c) with c at least 1."""
        return self.weights if self.weights.shape[1] else self.graph.vertex_weights[:, None]

    @property
    def limits(self) -> Array:
        """Maximum weights of each part, int64, shape (k, c)."""
        shares = checked_targets(self.targets, self.k)
        shares = np.ones(self.k, np.int64) if shares is None else shares
        totals = self.all_weights.sum(axis=0, dtype=np.int64).tolist()
        limits = [limits_of(ideals(total, shares), IMBALANCE) for total in totals]
        return np.stack(limits, axis=1)


def _task(graph: jetpy.Graph, targets: Array, fixed: Array | None = None) -> Task:
    fixed = np.full(graph.n, NO_PART) if fixed is None else fixed
    return Task(graph, targets, fixed, np.zeros((graph.n, 0), np.int32))


def _with_targets(targets: list[int], graph: jetpy.Graph, rng: Random) -> Task:
    return _task(graph, np.array(targets))


def _fixed_by_metis(share: float, k: int, graph: jetpy.Graph, rng: Random) -> Task:
    """Fix random vertices in the parts that METIS chooses."""
    parts = np.asarray(_metis(_task(graph, np.ones(k)))(0))
    return _task(graph, np.ones(k), np.where(rng.random(graph.n) < share, parts, NO_PART))


def _several_weights(kind: str, k: int, graph: jetpy.Graph, rng: Random) -> Task:
    """Assign several weights per vertex: random, degrees, nonzero in a quarter of the vertices."""
    ones = np.ones(graph.n, np.int64)
    columns = {
        "random": [rng.integers(0, 20, graph.n), rng.integers(0, 20, graph.n)],
        "degree": [ones, graph.degrees],
        "region": [ones, ones * (np.arange(graph.n) < graph.n // 4)],
        "three": [ones, rng.integers(0, 5, graph.n), ones * (np.arange(graph.n) % 10 == 0)],
    }
    weights = np.stack(columns[kind], axis=1).astype(np.int32)
    return replace(_task(graph, np.ones(k)), weights=weights)


def _volume(minimised: str, k: int, graph: jetpy.Graph, rng: Random) -> Task:
    return replace(_task(graph, np.ones(k)), minimised=minimised, counted="volume")


CONDITIONS: dict[str, Callable[[jetpy.Graph, Random], Task]] = {
    "targets 2:1:1:1": partial(_with_targets, [2, 1, 1, 1]),
    "targets 10 of 17": partial(_with_targets, [10, 1, 1, 1, 1, 1, 1, 1]),
    "targets 1 to 16": partial(_with_targets, list(range(1, 17))),
    "fixed by METIS: 1 %, k = 16": partial(_fixed_by_metis, 0.01, 16),
    "fixed by METIS: 20 %, k = 16": partial(_fixed_by_metis, 0.2, 16),
    **{
        f"several weights: {kind}, k = {k}": partial(_several_weights, kind, k)
        for kind in ("random", "degree", "region", "three")
        for k in (4, 16, 64)
    },
    **{
        f"volume, minimised {minimised}, k = {k}": partial(_volume, minimised, k)
        for minimised in ("volume", "cut")
        for k in (8, 64)
    },
}
COUNTS = {"cut": edge_cut, "volume": communication_volume}


def _jetpy(task: Task) -> Solve:
    def solve(seed: int) -> npt.ArrayLike:
        constraints: dict[str, Any] = {"targets": task.targets, "fixed": task.fixed}
        if task.weights.shape[1]:
            constraints = {"targets": task.targets, "vertex_weights": task.weights}
        constraints["objective"] = task.minimised
        engine: dict[str, Any] = {"backend": "cpu", "threads": 1}
        return jetpy.partition(task.graph, task.k, seed=seed, **constraints, **engine).parts

    return solve


def _metis(task: Task) -> Solve:
    """Prepare METIS's C function, because pymetis.part_graph accepts only one weight per vertex."""
    import pymetis
    from pymetis import _internal

    library, integer = ctypes.CDLL(_internal.__file__), pymetis.zero_copy_dtype()
    graph, ncon = task.graph, task.all_weights.shape[1]
    indptr, indices, weights, edge_weights = (
        np.ascontiguousarray(array, integer)
        for array in (graph.indptr, graph.indices, task.all_weights.ravel(), graph.edge_weights)
    )
    shares = np.repeat(task.targets / task.targets.sum(), ncon).astype(np.float32)
    ubvec = np.full(ncon, 1 + IMBALANCE, np.float32)

    def solve(seed: int) -> npt.ArrayLike:
        options, parts = np.zeros(METIS_OPTIONS, integer), np.zeros(graph.n, integer)
        library.METIS_SetDefaultOptions(pointer(options))
        options[METIS_SEED] = seed
        options[METIS_OBJTYPE] = task.minimised == "volume"
        n, c, k, cut = (np.array([value], integer) for value in (graph.n, ncon, task.k, 0))
        before_sizes = map(pointer, (n, c, indptr, indices, weights))
        after_sizes = map(pointer, (edge_weights, k, shares, ubvec, options, cut, parts))
        status = library.METIS_PartGraphKway(*before_sizes, None, *after_sizes)
        if status != 1:
            raise SystemExit(f"METIS returns {status}")
        return parts

    return solve


def _mtkahypar(task: Task) -> Solve:
    import mtkahypar

    library, context = default_mtkahypar(1)
    if task.minimised == "volume":
        return _mtkahypar_on_neighbourhoods(task, library, context)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.graph"
        jetpy.write_graph(file, task.graph)
        graph = library.graph_from_file(str(file), context)
    context.set_partitioning_parameters(task.k, IMBALANCE, mtkahypar.Objective.CUT)
    if (task.targets != task.targets[0]).any():
        context.set_individual_target_block_weights(task.limits[:, 0].tolist())
    if (task.fixed != NO_PART).any():
        graph.add_fixed_vertices(task.fixed.tolist(), task.k)

    def solve(seed: int) -> npt.ArrayLike:
        mtkahypar.set_seed(seed)
        return np.asarray(graph.partition(context).get_partition())

    return solve


def _mtkahypar_on_neighbourhoods(task: Task, library: Any, context: Any) -> Solve:
    import mtkahypar

    graph, n = task.graph, task.graph.n
    context.set_partitioning_parameters(task.k, IMBALANCE, mtkahypar.Objective.KM1)
    rows = np.split(graph.indices, graph.indptr[1:-1])
    nets = [[v, *row.tolist()] for v, row in enumerate(rows)]
    weights = graph.vertex_weights.tolist()
    hypergraph = library.create_hypergraph(context, n, n, nets, weights, [1] * n)

    def solve(seed: int) -> npt.ArrayLike:
        mtkahypar.set_seed(seed)
        return np.asarray(hypergraph.partition(context).get_partition())

    return solve


TOOLS = {"jetpy/cpu/default/1": _jetpy, "pymetis": _metis, "mtkahypar": _mtkahypar}


def supports(tool: str, condition: str) -> bool:
    """Return whether a tool supports the constraint of a condition."""
    unsupported = {"pymetis": "fixed", "mtkahypar": "several"}
    return tool not in unsupported or not condition.startswith(unsupported[tool])


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Solve each task once to warm up, then with each seed; check the parts and yield the results.

    Random choices depend only on the names of the graph and of the condition.

    Raises
    ------
    SystemExit
        If the tool moved a fixed vertex.
    """
    graph = load_arrays(Path(folder))
    for case in cases:
        rng = np.random.default_rng(crc32("{graph} {condition}".format(**case).encode()))
        task = CONDITIONS[case["condition"]](graph, rng)
        yield solved(case["tool"], task, case["seeds"])


def solved(tool: str, task: Task, seeds: Sequence[int]) -> Record:
    """Return the results of a tool."""
    solve = TOOLS[tool](task)
    solve(seeds[0])  # warm-up
    cuts, balanced, seconds = [], [], []
    for seed in seeds:
        start = perf_counter()
        parts = np.asarray(solve(seed), np.int32)
        seconds.append(round(perf_counter() - start, 6))
        is_free = task.fixed == NO_PART
        if not (is_free | (parts == task.fixed)).all():
            raise SystemExit(f"{tool} moved a fixed vertex")
        weights = np.zeros_like(task.limits)
        np.add.at(weights, parts, task.all_weights)
        cuts.append(COUNTS[task.counted](task.graph, parts))
        balanced.append(bool((weights <= task.limits).all()))
    found = {"cuts": cuts, "balanced": balanced, "seconds": seconds}
    return {"k": task.k, **found, "median_cut": median(cuts)}


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each condition with each tool that supports it."""
    for condition, tool in product(options.conditions, options.tools):
        if supports(tool, condition):
            yield {"condition": condition, "tool": tool, "seeds": options.seeds, "threads": 1}


EXPERIMENT = Experiment(
    name="constraints",
    doc=__doc__,
    options={"conditions": among(CONDITIONS), "tools": among(TOOLS), "seeds": SEEDS},
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "condition", "tool"),
)

if __name__ == "__main__":
    EXPERIMENT.main()
