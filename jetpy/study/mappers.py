"""Process mapping with jetpy and other tools, prepared for one graph."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.api.mapping import map_processes
from jetpy.device.backends import check_backend
from jetpy.evaluation.evaluate import evaluate
from jetpy.problem.limits import limit_of_pes
from jetpy.problem.machine import Machine, machine
from jetpy.problem.options import Options
from jetpy.result.mapping import Mapping
from jetpy.study.tools import Job

SEPARATOR = "/"
"""Between the hierarchy and the distances of a machine in tables."""


class MappingRun(NamedTuple):
    """The PE of each vertex, the seconds of the mapping alone, and the cost that the tool reports.

    The cost is None if the tool does not report it.
    """

    pe: npt.ArrayLike
    seconds: float
    cost: int | None = None


MapOnto = Callable[[Machine, int], MappingRun]
"""Called as `map_onto(machine, seed)`."""


@dataclass(frozen=True)
class Mapper:
    """A tool that maps: its preparation, whether it uses threads, and its preset."""

    prepare: Callable[[Job], MapOnto]
    threaded: bool
    preset: str = "default"


class MappingVerdict(NamedTuple):
    """Cut, imbalance and cost J of a mapping, and whether its PEs keep the limit."""

    cut: int
    imbalance: float
    feasible: bool
    cost: int


def machine_text(hierarchy: str, distances: str) -> str:
    """Return the text of a machine in tables.

    >>> machine_text("4:8:6", "1:10:100")
    '4:8:6/1:10:100'

    Raises
    ------
    OptionError
        If hierarchy and distances are no machine.
    """
    machine(hierarchy, distances)
    return f"{hierarchy}{SEPARATOR}{distances}"


def machine_in(text: str) -> Machine:
    """Return the machine in text from `machine_text`.

    >>> machine_in("4:8:6/1:10:100").k
    192
    """
    return machine(*text.split(SEPARATOR))


def run_mapping(
    backend: choices.Backend,
    method: choices.Method,
    job: Job,
    target: Machine,
    seed: int,
    *,
    options: Options | None = None,
    profile: bool = False,
) -> Mapping:
    """Map with one of jetpy's back ends and methods."""
    return map_processes(
        job.graph,
        target.hierarchy,
        target.distances,
        method=method,
        imbalance=job.imbalance,
        seed=seed,
        options=options,
        backend=backend,
        threads=job.threads,
        profile=profile,
    )


def prepare_jetpy(
    backend: choices.Backend, method: choices.Method, job: Job, options: Options | None = None
) -> MapOnto:
    """Prepare one of jetpy's back ends and methods."""
    check_backend(backend, job.threads)

    def map_onto(machine: Machine, seed: int) -> MappingRun:
        mapping = run_mapping(backend, method, job, machine, seed, options=options)
        return MappingRun(mapping.pe, mapping.seconds["total"], mapping.cost)

    return map_onto


def judge_mapping(job: Job, pe: npt.ArrayLike, target: Machine) -> MappingVerdict:
    """Return cut, balance and cost of a mapping, shape (n,), that a tool found.

    Raises
    ------
    JetpyError
        If it does not map the graph onto the machine.
    """
    evaluation = evaluate(job.graph, pe, hierarchy=target.hierarchy, distances=target.distances)
    limit = limit_of_pes(job.graph.total_vertex_weight, evaluation.k, job.imbalance)
    assert evaluation.cost is not None
    feasible = int(evaluation.part_weights.max()) <= limit
    return MappingVerdict(evaluation.cut, round(evaluation.imbalance, 5), feasible, evaluation.cost)


def equivalent_imbalance(job: Job, k: int) -> float:
    """Return an imbalance for tools that allow (1 + imbalance) ceil(W / k), with jetpy's limit."""
    weight = job.graph.total_vertex_weight
    return (limit_of_pes(weight, k, job.imbalance) + 0.5) / max(-(-weight // k), 1) - 1


def prepare_mtkahypar(job: Job) -> MapOnto:
    """Prepare Mt-KaHyPar. Its target is the complete graph on the PEs, weighted by the distances.

    Mt-KaHyPar uses shortest paths in the target. The edges are shortest paths, because the
    distances of a hierarchy obey the triangle inequality.
    """
    import mtkahypar

    library = mtkahypar.initialize(job.threads, False)
    context = library.context_from_preset(mtkahypar.PresetType.DEFAULT)
    context.logging = False
    graph = library.graph_from_file(job.metis_file(), context)

    def map_onto(machine: Machine, seed: int) -> MappingRun:
        k = machine.k
        p, q = np.triu_indices(k, 1)
        pairs = list(zip(p.tolist(), q.tolist(), strict=True))
        levels = machine.levels_between(p.astype(np.int32), q.astype(np.int32))
        distances = np.asarray(machine.distances)[levels].tolist()
        target = library.create_target_graph(context, k, len(pairs), pairs, distances)
        context.set_mapping_parameters(k, equivalent_imbalance(job, k))
        mtkahypar.set_seed(seed)
        start = perf_counter()
        result = graph.map_onto_graph(target, context)
        seconds = perf_counter() - start
        return MappingRun(result.get_partition(), seconds)

    return map_onto


def prepare_kahip(configuration: str, job: Job) -> MapOnto:
    """Prepare the program global_multisection of KaHIP's package, which uses one thread.

    It partitions along the hierarchy by KaFFPa, and prints the seconds of both its steps and J.

    Raises
    ------
    ImportError
        If the package is not installed, or does not contain the program.
    """
    import kahip

    program = Path(kahip.__file__).parents[1] / "bin" / "global_multisection"
    if not program.exists():
        raise ImportError("KaHIP's package has no program global_multisection")
    mapped = job.folder / "kahip.map"

    def map_onto(machine: Machine, seed: int) -> MappingRun:
        hierarchy, distances = (
            ":".join(map(str, own)) for own in (machine.hierarchy, machine.distances)
        )
        command = (
            *(program, job.metis_file(), f"--seed={seed}"),
            *(f"--preconfiguration={configuration}", f"--output_filename={mapped}"),
            f"--imbalance={100 * equivalent_imbalance(job, machine.k)}",
            f"--hierarchy_parameter_string={hierarchy}",
            f"--distance_parameter_string={distances}",
        )
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds = re.findall(r"(?:multisectioning took|for mapping) ([\d.e+-]+)", text)
        match = re.search(r"J\(C,D,Pi'\) = (\d+)", text)
        assert match
        return MappingRun(np.loadtxt(mapped, np.int64), sum(map(float, seconds)), int(match[1]))

    return map_onto


def scotch_levels(machine: Machine) -> list[tuple[int, int]]:
    """Return the levels of a machine for Scotch's `tleaf` architecture, lowest level first.

    Each level has a size and a link cost. In Scotch, the distance of two leaves is the sum of the
    link costs from the level that separates them down to the leaves. The link cost of a level is
    therefore the increment of the distance. Levels of a single unit are left out, because Scotch
    refuses them.

    >>> scotch_levels(machine("4:1:6", "1:10:100"))
    [(4, 1), (6, 99)]
    """
    links, previous = [], 0
    for size, distance in zip(machine.hierarchy, machine.distances, strict=True):
        if size > 1:
            links.append((size, distance - previous))
            previous = distance
    return links


def prepare_scotch(job: Job) -> MapOnto:
    """Prepare Scotch, on one thread, with its default strategy."""
    os.environ["SCOTCH_PTHREAD_NUMBER"] = "1"
    import pyscotch

    graph = pyscotch.Graph()
    graph.build(
        *(job.graph.indptr, job.graph.indices, job.graph.vertex_weights, job.graph.edge_weights)
    )

    def map_onto(machine: Machine, seed: int) -> MappingRun:
        sizes, links = zip(*reversed(scotch_levels(machine)), strict=True)
        target, strategy = pyscotch.Architecture(), pyscotch.Strategy()
        target.tree_leaf(len(sizes), np.array(sizes), np.array(links))
        strategy.request_mapping(balance=job.imbalance)
        pyscotch.random_seed(seed)
        pyscotch.random_reset()
        start = perf_counter()
        pe = graph.map(target, strategy)
        return MappingRun(pe, perf_counter() - start)

    return map_onto


MAPPERS = {
    "mtkahypar": Mapper(prepare_mtkahypar, threaded=True),
    "kahip": Mapper(partial(prepare_kahip, "fast"), threaded=False, preset="fast"),
    "scotch": Mapper(prepare_scotch, threaded=False),
}
"""Other tools that map, by name; each is imported when it is prepared."""
