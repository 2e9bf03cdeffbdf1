"""Mapping methods of jetpy and other tools, and a summary of the runs of one on one graph."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import ceil, prod
from operator import mul
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy
from bench.child import Unavailable
from jetpy import Options
from jetpy.device.backends import get_backend
from jetpy.problem import machine as problem_machine
from jetpy.problem.metrics import checked_parts, edge_cut, part_weights
from jetpy.study import mappers
from jetpy.study.arrays import load_arrays
from jetpy.study.mappers import MappingRun
from jetpy.study.tools import IMBALANCE, Job

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Machine:
    """A machine: its hierarchy and the distance of each level, both from the innermost level.

    For example, 4:8:2 are 2 nodes with 8 processors each and 4 PEs per processor.
    """

    hierarchy: str
    distance: str

    @property
    def sizes(self) -> list[int]:
        """Number of units of each level in one unit of the next level."""
        return [int(text) for text in self.hierarchy.split(":")]

    @property
    def distances(self) -> list[int]:
        """Distances per level: entry l applies to PEs in different units up to level l only."""
        return [int(text) for text in self.distance.split(":")]

    @property
    def k(self) -> int:
        """Number of PEs."""
        return prod(self.sizes)

    @property
    def as_problem(self) -> problem_machine.Machine:
        """The machine as jetpy describes it."""
        return problem_machine.machine(self.hierarchy, self.distance)

    def pairwise_distances(self, p: npt.NDArray[Any], q: npt.NDArray[Any]) -> IntArray:
        """Return the distance between p[i] and q[i] for all i. The arrays are broadcast."""
        found = np.zeros(np.broadcast_shapes(p.shape, q.shape), np.int64)
        units = accumulate([1, *self.sizes[:-1]], mul)
        for unit, distance in zip(units, self.distances, strict=True):
            found[p // unit != q // unit] = distance
        return found


def cost(graph: jetpy.Graph, pe: npt.NDArray[Any], machine: Machine) -> int:
    """Return the sum of edge weight times distance over all directed edges."""
    total = 0
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        sources, targets = graph.sources(start, stop), graph.indices[entries]
        distances = machine.pairwise_distances(pe[sources], pe[targets])
        total += int(distances @ graph.edge_weights[entries].astype(np.int64))
    return total


def limit(graph: jetpy.Graph, k: int) -> int:
    """Return the maximum vertex weight of a PE: ceil((1 + imbalance) W / k)."""
    return ceil((1 + Fraction(str(IMBALANCE))) * graph.total_vertex_weight / k)


Solve = Callable[[Machine, int], MappingRun]
"""Called as `solve(machine, seed)`."""


def _jetpy(method: str, job: Job, backend: str, options: Options | None = None) -> Solve:
    get_backend(backend, job.threads)

    def solve(machine: Machine, seed: int) -> MappingRun:
        mapping = jetpy.map_processes(
            job.graph,
            machine.hierarchy,
            machine.distance,
            method=method,
            imbalance=IMBALANCE,
            seed=seed,
            options=options,
            backend=backend,
            threads=job.threads,
        )
        return MappingRun(mapping.pe, mapping.seconds["total"], mapping.cost)

    return solve


def _partition(job: Job, backend: str) -> Solve:
    get_backend(backend, job.threads)

    def solve(machine: Machine, seed: int) -> MappingRun:
        result = jetpy.partition(
            job.graph,
            machine.k,
            imbalance=mappers.equivalent_imbalance(job, machine.k),
            seed=seed,
            preset=job.preset,
            backend=backend,
            threads=job.threads,
        )
        return MappingRun(result.parts, result.seconds["total"])

    return solve


def _mtkahypar(job: Job, backend: str) -> Solve:
    return _of_study(mappers.prepare_mtkahypar(job))


def write_scotch_graph(path: Path, graph: jetpy.Graph) -> None:
    """Write a graph in Scotch's format: for each vertex, its weight, degree and weighted edges."""
    entries = len(graph.indices)
    table = np.empty(2 * graph.n + 2 * entries, np.int32)
    heads = 2 * (graph.indptr[:-1].astype(np.int64) + np.arange(graph.n))
    table[heads], table[heads + 1] = graph.vertex_weights, graph.degrees
    neighbours = np.ones(len(table), bool)
    neighbours[heads] = neighbours[heads + 1] = False
    table[neighbours] = np.column_stack((graph.edge_weights, graph.indices)).ravel()
    with open(path, "w", encoding="ascii") as stream:
        stream.write(f"0\n{graph.n} {entries}\n0 011\n")
        table.tofile(stream, " ")


def scotch_target(machine: Machine) -> str:
    """Return a machine as Scotch's `tleaf` architecture, outermost level first.

    `scotch_levels` explains the link costs.
    """
    links = mappers.scotch_levels(machine.as_problem)
    return " ".join(map(str, ["tleaf", len(links), *(n for link in links[::-1] for n in link)]))


def _scotch(job: Job, backend: str) -> Solve:
    """Prepare Scotch's program gmap with its default strategy, which favours quality.

    gmap prints the seconds of the mapping alone. It accepts no seed: on one thread, all runs return
    the same mapping.
    """
    program = shutil.which("scotch_gmap") or shutil.which("gmap")
    if not program:
        raise Unavailable("Scotch's program gmap is not installed")
    source, target, mapped, log = (
        job.folder / name for name in ("scotch.grf", "scotch.tgt", "scotch.map", "scotch.log")
    )
    write_scotch_graph(source, job.graph)

    def solve(machine: Machine, seed: int) -> MappingRun:
        target.write_text(scotch_target(machine), encoding="ascii")
        subprocess.run(
            [program, source, target, mapped, log, f"-b{IMBALANCE}", "-vt"],
            env={**os.environ, "SCOTCH_PTHREAD_NUMBER": str(job.threads)},
            check=True,
        )
        found = re.search(r"Mapping\s+([\d.e+-]+)", log.read_text(encoding="ascii"))
        assert found
        pairs = np.fromfile(mapped, np.int64, sep=" ")[1:].reshape(-1, 2)
        pe = np.full(job.graph.n, -1)
        pe[pairs[:, 0]] = pairs[:, 1]
        return MappingRun(pe, float(found[1]))

    return solve


def _multisection(configuration: str, job: Job, backend: str) -> Solve:
    return _of_study(mappers.prepare_kahip(configuration, job))


def _of_study(map_onto: mappers.MapOnto) -> Solve:
    return lambda target, seed: map_onto(target.as_problem, seed)


@dataclass(frozen=True)
class Mapper:
    """A mapping method: its preparation, and whether it belongs to jetpy."""

    prepare: Callable[[Job, str], Solve]
    is_jetpy: bool


METHODS = {
    **{
        f"jetpy/{method}": Mapper(partial(_jetpy, method), is_jetpy=True)
        for method in ("im", "hm", "hm-ultra")
    },
    "jetpy/partition": Mapper(_partition, is_jetpy=True),
    "mtkahypar": Mapper(_mtkahypar, is_jetpy=False),
    "scotch": Mapper(_scotch, is_jetpy=False),
}
"""Mapping methods by name. Each module is imported only when its method is prepared."""

MULTISECTION = {
    f"kahip-{configuration}": Mapper(partial(_multisection, configuration), is_jetpy=False)
    for configuration in ("fast", "strong")
}
"""KaHIP's hierarchical multisection in two of its configurations."""

GPU_IM_OPTIONS = {
    "coarsen.rating": "expansion",
    "coarsen.bounded": True,
    "refine.finest_ratios": (0,),
    "refine.coarse_ratios": (0,),
    "refine.rebalance_by": "cut",
    "cut_share": 1,
}
"""Options of GPU-IM that differ from the preset `jet`."""
AS_PUBLISHED = {
    name: Mapper(partial(_jetpy, method, options=options), is_jetpy=True)
    for name, method, options in (
        ("GPU-HM", "hm", jetpy.preset("jet")),
        ("GPU-HM-ULTRA", "hm", jetpy.preset("jet-ultra")),
        ("GPU-IM", "im", jetpy.preset("jet").changed(GPU_IM_OPTIONS)),
    )
}
"""jetpy's mapping methods with the options of GPU-HeiPa (Samoldekin, Schulz, Woydt, 2025)."""


def summary(
    graph: jetpy.Graph, solve: Solve, machine: Machine, seeds: Sequence[int]
) -> dict[str, Any]:
    """Map onto a machine with each seed, check the runs and return a summary.

    Raises
    ------
    RuntimeError
        If the method reports another cost than the cost of its mapping.
    """
    costs, cuts, heaviest, seconds = [], [], [], []
    for seed in seeds:
        run = solve(machine, seed)
        pe = checked_parts(graph, run.pe, machine.k)
        costs.append(cost(graph, pe, machine))
        if run.cost not in (None, costs[-1]):
            raise RuntimeError(f"the method reports cost {run.cost}, but the cost is {costs[-1]}")
        cuts.append(edge_cut(graph, pe))
        heaviest.append(int(part_weights(graph, pe, machine.k).max()))
        seconds.append(round(run.seconds, 6))
    max_weight = limit(graph, machine.k)
    return {
        "hierarchy": machine.hierarchy,
        "distance": machine.distance,
        "seeds": list(seeds),
        "costs": costs,
        "median_cost": median(costs),
        "cuts": cuts,
        "median_cut": median(cuts),
        "max_load": round(max(heaviest) / max_weight, 5),
        "feasible": sum(weight <= max_weight for weight in heaviest),
        "seconds": seconds,
        "median_seconds": round(median(seconds), 6),
    }


def measure(
    folder: str, cases: Sequence[dict[str, Any]], settings: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Map a graph by a method onto the machine of each case; jetpy has a run to warm up."""
    mapper, threads = METHODS[cases[0]["method"]], settings["threads"]
    machines = [Machine(case["hierarchy"], case["distance"]) for case in cases]
    job = Job(load_arrays(Path(folder)), Path(folder), "default", threads)
    solve = mapper.prepare(job, settings["backend"])
    if mapper.is_jetpy:
        solve(machines[0], cases[0]["seeds"][0])
    for case, machine in zip(cases, machines, strict=True):
        yield summary(job.graph, solve, machine, case["seeds"])
