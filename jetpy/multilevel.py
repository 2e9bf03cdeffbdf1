"""The multilevel driver: coarsen, partition the coarsest graph, project and refine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph, upload
from jetpy.coarsening.contraction import contract
from jetpy.coarsening.matching import match_vertices
from jetpy.graph import Graph
from jetpy.initial.metis import partition_by_metis
from jetpy.options import CoarsenOptions, Options
from jetpy.partition import Level
from jetpy.refinement.jet import refine_level
from jetpy.workloads import projection as kernels


@dataclass
class Stopwatch:
    """Wall seconds and launches of one step."""

    backend: Backend
    seconds: float = 0.0
    launches: int = 0
    _start: tuple[float, int] = field(default=(0.0, 0))

    def __enter__(self) -> Stopwatch:
        self._start = (time.perf_counter(), self.backend.launches)
        return self

    def __exit__(self, *_: object) -> None:
        self.backend.synchronize()
        self.seconds = time.perf_counter() - self._start[0]
        self.launches = self.backend.launches - self._start[1]


@dataclass
class _Coarse:
    """A level of the hierarchy; `coarse_of` maps the next finer level's vertices here."""

    graph: DeviceGraph
    coarse_of: Array | None
    watch: Stopwatch


def coarsest_size(k: int) -> int:
    """Return the number of vertices at which coarsening ends (Jet's own code)."""
    return 8 * k if 8 * k <= 1024 else max(1024, 2 * k)


def part_limit(total_vertex_weight: int, k: int, imbalance: float) -> int:
    """Return the largest part weight allowed: floor((1 + imbalance) * ceil(W / k))."""
    ideal = -(-total_vertex_weight // k)
    return int(ideal * (1 + imbalance) + 1e-9)


def partition_multilevel(
    backend: Backend, graph: Graph, k: int, imbalance: float, seed: int, options: Options
) -> tuple[np.ndarray, list[Level], dict[str, float]]:
    """Partition `graph` into `k` parts.

    Returns the parts (int32, shape (n,)), the levels (finest first) and seconds by stage.
    """
    limit = part_limit(graph.total_vertex_weight, k, imbalance)
    started = time.perf_counter()
    hierarchy = _coarsen(backend, upload(backend, graph), k, limit, options.coarsen, seed)
    coarsened = time.perf_counter()
    parts = _initial(backend, hierarchy[-1].graph, k, imbalance, limit, options, seed)
    initialised = time.perf_counter()
    parts, levels = _uncoarsen(backend, hierarchy, parts, k, limit, options, seed)
    result = backend.to_host(parts)
    finished = time.perf_counter()
    seconds = {
        "coarsen": coarsened - started,
        "initial": initialised - coarsened,
        "refine": finished - initialised,
        "total": finished - started,
    }
    return result, levels, seconds


def _coarsen(
    backend: Backend,
    graph: DeviceGraph,
    k: int,
    limit: int,
    options: CoarsenOptions,
    seed: int,
) -> list[_Coarse]:
    """Return the hierarchy, finest first."""
    target = coarsest_size(k)
    levels = [_Coarse(graph, None, Stopwatch(backend))]
    while levels[-1].graph.n > target:
        finer = levels[-1].graph
        with Stopwatch(backend) as watch:
            match = match_vertices(backend, finer, options, limit, seed + len(levels))
            coarse, coarse_of = contract(backend, finer, match)
        if coarse.n > options.least_shrink * finer.n or coarse.n < target // 4:
            break
        levels.append(_Coarse(coarse, coarse_of, watch))
    return levels


def _initial(
    backend: Backend,
    graph: DeviceGraph,
    k: int,
    imbalance: float,
    limit: int,
    options: Options,
    seed: int,
) -> Array:
    """Partition the coarsest graph on the host."""
    arrays = (graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights)
    host = Graph(*(backend.to_host(a) for a in arrays))
    parts = partition_by_metis(host, k, imbalance, limit, seed, options.initial.tries)
    return backend.from_host(parts)


def _uncoarsen(
    backend: Backend,
    hierarchy: list[_Coarse],
    parts: Array,
    k: int,
    limit: int,
    options: Options,
    seed: int,
) -> tuple[Array, list[Level]]:
    """Refine on every level from the coarsest up; return the finest parts and the levels."""
    levels: list[Level] = []
    total = None
    for depth in range(len(hierarchy) - 1, -1, -1):
        graph = hierarchy[depth].graph
        with Stopwatch(backend) as watch:
            refined = refine_level(
                backend,
                graph,
                parts,
                k,
                limit,
                options.refine,
                finest=depth == 0,
                seed=seed,
            )
            parts = refined.parts
            coarse_of = hierarchy[depth].coarse_of
            if coarse_of is not None:
                fine = hierarchy[depth - 1].graph
                parts = backend.empty(fine.n)
                backend.parallel_for(
                    fine.n,
                    kernels.project,
                    coarse_of=coarse_of,
                    coarse_parts=refined.parts,
                    parts=parts,
                )
        if total is None:
            total = int(graph.vertex_weights.sum())
        levels.insert(
            0,
            Level(
                level=depth,
                n=graph.n,
                m=graph.nnz // 2,
                cut_before=refined.cut_before,
                cut_after=refined.cut,
                imbalance=refined.heaviest / max(-(-total // k), 1) - 1,
                iterations=refined.iterations,
                coarsen_seconds=hierarchy[depth].watch.seconds,
                refine_seconds=watch.seconds,
                coarsen_launches=hierarchy[depth].watch.launches,
                refine_launches=watch.launches,
            ),
        )
    return parts, levels
