"""Process mapping: jetpy's methods and other mappers, and the runs of one of them on one graph."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import ceil, prod
from operator import mul
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import jetpy
from bench.child import Absent
from bench.tools import IMBALANCE, Job
from jetpy.device.backends import get_backend
from jetpy.problem.metrics import checked_parts, edge_cut, part_weights
from jetpy.study.answers import answering
from jetpy.study.arrays import load_arrays

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Machine:
    """A hierarchy, such as 4:8:2 (innermost level first), and the distance on each level."""

    hierarchy: str
    distance: str

    @property
    def sizes(self) -> list[int]:
        """Number of units of each level within one of the next."""
        return [int(text) for text in self.hierarchy.split(":")]

    @property
    def distances(self) -> list[int]:
        """Distance between two PEs that are in different units of each level only up to it."""
        return [int(text) for text in self.distance.split(":")]

    @property
    def k(self) -> int:
        """Number of PEs."""
        return prod(self.sizes)

    def between(self, p: npt.NDArray[Any], q: npt.NDArray[Any]) -> IntArray:
        """Distance of each PE in p to that in q."""
        found = np.zeros(np.broadcast_shapes(p.shape, q.shape), np.int64)
        units = accumulate([1, *self.sizes[:-1]], mul)
        for unit, distance in zip(units, self.distances, strict=True):
            found[p // unit != q // unit] = distance
        return found


def cost(graph: jetpy.Graph, pe: npt.NDArray[Any], machine: Machine) -> int:
    """Sum of weight times distance over all directed edges."""
    total = 0
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        far = machine.between(pe[graph.sources(start, stop)], pe[graph.indices[entries]])
        total += int(far @ graph.edge_weights[entries].astype(np.int64))
    return total


def limit(graph: jetpy.Graph, k: int) -> int:
    """Largest vertex weight that a PE may hold: ceil((1 + imbalance) W / k)."""
    return ceil((1 + Fraction(str(IMBALANCE))) * graph.total_vertex_weight / k)


def equivalent_imbalance(graph: jetpy.Graph, k: int) -> float:
    """Imbalance that gives the same limit to tools that allow (1 + imbalance) ceil(W / k)."""
    return (limit(graph, k) + 0.5) / -(-graph.total_vertex_weight // k) - 1


class Mapped(NamedTuple):
    """PE of each vertex, seconds of the mapping alone, and the cost if the mapper tells it."""

    pe: npt.ArrayLike
    seconds: float
    cost: int | None = None


Solve = Callable[[Machine, int], Mapped]
"""Maps onto a machine with a seed."""


def _jetpy(method: str, job: Job, backend: str) -> Solve:
    get_backend(backend, job.threads)

    def solve(machine: Machine, seed: int) -> Mapped:
        mapping = jetpy.map_processes(
            job.graph,
            machine.hierarchy,
            machine.distance,
            method=method,
            imbalance=IMBALANCE,
            seed=seed,
            backend=backend,
            threads=job.threads,
        )
        return Mapped(mapping.pe, mapping.seconds["total"], mapping.cost)

    return solve


def _partition(job: Job, backend: str) -> Solve:
    get_backend(backend, job.threads)

    def solve(machine: Machine, seed: int) -> Mapped:
        result = jetpy.partition(
            job.graph,
            machine.k,
            imbalance=equivalent_imbalance(job.graph, machine.k),
            seed=seed,
            backend=backend,
            threads=job.threads,
        )
        return Mapped(result.parts, result.seconds["total"])

    return solve


def _mtkahypar(job: Job, backend: str) -> Solve:
    """Mt-KaHyPar onto the complete graph on all PEs, the edge weights of which are distances.

    Mapping takes the shortest paths in it: these are the edges where distances obey the triangle
    inequality.
    """
    import mtkahypar

    library = mtkahypar.initialize(job.threads, False)
    context = library.context_from_preset(mtkahypar.PresetType.DEFAULT)
    context.logging = False
    graph = library.graph_from_file(job.metis_file(), context)

    def solve(machine: Machine, seed: int) -> Mapped:
        k = machine.k
        p, q = np.triu_indices(k, 1)
        pairs = list(zip(p.tolist(), q.tolist(), strict=True))
        distances = machine.between(p, q).tolist()
        target = library.create_target_graph(context, k, len(pairs), pairs, distances)
        context.set_mapping_parameters(k, equivalent_imbalance(job.graph, k))
        mtkahypar.set_seed(seed)
        start = perf_counter()
        result = graph.map_onto_graph(target, context)
        seconds = perf_counter() - start
        return Mapped(result.get_partition(), seconds)

    return solve


def write_scotch_graph(path: Path, graph: jetpy.Graph) -> None:
    """Write a graph in Scotch's format: per vertex its weight, degree, and weighted neighbours."""
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
    """Describe a machine as Scotch's tree of leaves, outermost level first.

    The distance of two leaves is the sum of the link costs of all levels from the one that
    separates them down to the leaves, so that a level costs what it adds to the distance. Levels of
    a single unit are left out, as Scotch refuses them.
    """
    links, below = [], 0
    for size, distance in zip(machine.sizes, machine.distances, strict=True):
        if size > 1:
            links.append((size, distance - below))
            below = distance
    return " ".join(map(str, ["tleaf", len(links), *(n for link in links[::-1] for n in link)]))


def _scotch(job: Job, backend: str) -> Solve:
    """Scotch's program gmap with its default strategy, which favours quality.

    It tells the seconds of the mapping alone. It takes no seed: all runs on one thread map alike.
    """
    program = shutil.which("scotch_gmap") or shutil.which("gmap")
    if not program:
        raise Absent("no program gmap of Scotch")
    source, target, mapped, log = (
        job.folder / name for name in ("scotch.grf", "scotch.tgt", "scotch.map", "scotch.log")
    )
    write_scotch_graph(source, job.graph)

    def solve(machine: Machine, seed: int) -> Mapped:
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
        return Mapped(pe, float(found[1]))

    return solve


@dataclass(frozen=True)
class Mapper:
    """A mapper: what gets it ready, and whether it is one of jetpy's."""

    prepare: Callable[[Job, str], Solve]
    own: bool


METHODS = {
    **{
        f"jetpy/{method}": Mapper(partial(_jetpy, method), own=True)
        for method in ("im", "hm", "hm-ultra")
    },
    "jetpy/partition": Mapper(_partition, own=True),
    "mtkahypar": Mapper(_mtkahypar, own=False),
    "scotch": Mapper(_scotch, own=False),
}
"""Mappers by name; each is imported only when it is to get ready."""


def summary(
    graph: jetpy.Graph, solve: Solve, machine: Machine, seeds: Sequence[int]
) -> dict[str, Any]:
    """Map onto a machine once per seed and summarise the runs, which are checked here."""
    costs, cuts, heaviest, seconds = [], [], [], []
    for seed in seeds:
        run = solve(machine, seed)
        pe = checked_parts(graph, run.pe, machine.k)
        costs.append(cost(graph, pe, machine))
        if run.cost not in (None, costs[-1]):
            raise RuntimeError(f"the cost is {costs[-1]}, not {run.cost} as the mapper says")
        cuts.append(edge_cut(graph, pe))
        heaviest.append(int(part_weights(graph, pe, machine.k).max()))
        seconds.append(round(run.seconds, 6))
    most = limit(graph, machine.k)
    return {
        "hierarchy": machine.hierarchy,
        "distance": machine.distance,
        "seeds": list(seeds),
        "costs": costs,
        "median_cost": median(costs),
        "cuts": cuts,
        "median_cut": median(cuts),
        "max_load": round(max(heaviest) / most, 5),
        "feasible": sum(weight <= most for weight in heaviest),
        "seconds": seconds,
        "median_seconds": round(median(seconds), 6),
    }


def main() -> None:
    """Answer with a summary for each hierarchy, or with why the mapper is absent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("folder", type=Path, help="holds the arrays of a graph")
    parser.add_argument("threads", type=int)
    parser.add_argument("backend", help="of jetpy")
    parser.add_argument("--hierarchies", nargs="+", required=True)
    parser.add_argument("--distance", required=True)
    parser.add_argument("--seeds", nargs="+", type=int, required=True)
    options = parser.parse_args()
    answer = answering()
    mapper = METHODS[options.method]
    machines = [Machine(hierarchy, options.distance) for hierarchy in options.hierarchies]
    job = Job(load_arrays(options.folder), options.folder, "default", options.threads)
    try:
        solve = mapper.prepare(job, options.backend)
    except (ImportError, Absent, jetpy.BackendError) as error:
        answer({"absent": str(error)})
        return
    if mapper.own:
        solve(machines[0], options.seeds[0])  # warm-up
    for machine in machines:
        answer(summary(job.graph, solve, machine, options.seeds))


if __name__ == "__main__":
    main()
