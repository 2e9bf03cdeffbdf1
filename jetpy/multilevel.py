"""The multilevel driver: coarsen, partition the coarsest graph, project and refine.

The only module that knows the order of the stages (Jet, Algorithm 2.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph, upload
from jetpy.coarsening.contraction import contract
from jetpy.coarsening.matching import match_vertices
from jetpy.graph import Graph
from jetpy.initial.metis import partition_by_metis
from jetpy.partition import Level
from jetpy.problem import Problem
from jetpy.refinement.jet import Refined, refine_level
from jetpy.workloads import projection as kernels

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total)."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Parts (int32, shape (n,)), their cut, the levels (finest first) and seconds by stage."""

    parts: npt.NDArray[np.int32]
    cut: int
    levels: Sequence[Level]
    seconds: Mapping[str, float]


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


CYCLE = lambda d, h: 0

@dataclass(frozen=True, eq=False)
class _Coarse:
    """A level of the hierarchy; `coarse_of` maps the next finer level's vertices to it."""

    graph: DeviceGraph
    coarse_of: Array | None
    watch: Stopwatch
    parts: Array | None = None


def coarsest_size(k: int) -> int:
    """Return the number of vertices at which coarsening ends.

    Jet's own code goes down to 8 k, from k = 128 on to max(1024, 2 k); we stop at no fewer than
    512, where several tries of METIS still cost little and find more.
    """
    return max(512, 8 * k) if k <= 128 else max(1024, 2 * k)


def partition_multilevel(
    backend: Backend, graph: Graph, problem: Problem, progress: Progress = no_progress
) -> Outcome:
    """Partition `graph` from scratch."""
    watches = [Stopwatch(backend) for _ in range(3)]
    with watches[0]:
        hierarchy = _coarsen(backend, upload(backend, graph), problem, progress)
    with watches[1]:
        parts = _initial(backend, hierarchy[-1].graph, problem)
    with watches[2]:
        refined, levels = _uncoarsen(backend, hierarchy, parts, problem, progress)
        result = backend.to_host(refined.parts)
    return Outcome(result, refined.cut, levels, _seconds(*(w.seconds for w in watches)))


def refine_partition(
    backend: Backend,
    graph: Graph,
    parts: npt.NDArray[np.int32],
    problem: Problem,
    progress: Progress = no_progress,
) -> Outcome:
    """Refine a given partition (int32, shape (n,)) on the graph itself."""
    with Stopwatch(backend) as watch:
        hierarchy = [_Coarse(upload(backend, graph), None, Stopwatch(backend))]
        start = backend.from_host(parts.copy())
        refined, levels = _uncoarsen(backend, hierarchy, start, problem, progress)
        result = backend.to_host(refined.parts)
    return Outcome(result, refined.cut, levels, _seconds(0.0, 0.0, watch.seconds))


def trivial_outcome(parts: npt.NDArray[np.int32], cut: int) -> Outcome:
    """Return the outcome of a problem that leaves nothing to decide."""
    return Outcome(parts, cut, [], _seconds(0.0, 0.0, 0.0))


def _seconds(coarsen: float, initial: float, refine: float) -> dict[str, float]:
    total = coarsen + initial + refine
    return {"coarsen": coarsen, "initial": initial, "refine": refine, "total": total}


def _coarsen(
    backend: Backend,
    graph: DeviceGraph,
    problem: Problem,
    progress: Progress,
    parts: Array | None = None,
    salt: int = 0,
) -> list[_Coarse]:
    """Return the hierarchy, finest first; pairs stay within `parts` where these are given."""
    target = coarsest_size(problem.k)
    options = problem.options.coarsen
    levels = [_Coarse(graph, None, Stopwatch(backend), parts)]
    while levels[-1].graph.n > target:
        finer, finer_parts = levels[-1].graph, levels[-1].parts
        seed = (problem.seed + 1000 * salt + len(levels)) & 0x7FFFFFFF
        with Stopwatch(backend) as watch:
            match = match_vertices(backend, finer, options, problem.limit, seed, finer_parts)
            coarse, coarse_of = contract(backend, finer, match)
            coarse_parts = None
            if finer_parts is not None:
                coarse_parts = backend.empty(coarse.n)
                backend.parallel_for(
                    finer.n, kernels.inject, coarse_of=coarse_of, parts=finer_parts, coarse_parts=coarse_parts
                )
        if coarse.n > options.least_shrink * finer.n or coarse.n < target // 4:
            break
        levels.append(_Coarse(coarse, coarse_of, watch, coarse_parts))
        progress("coarsen", graph.n - coarse.n, graph.n - target)
    return levels


def _initial(backend: Backend, graph: DeviceGraph, problem: Problem) -> Array:
    """Partition the coarsest graph on the host."""
    arrays = (graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights)
    host = Graph(*(backend.to_host(a) for a in arrays))
    return backend.from_host(partition_by_metis(host, problem))


def _uncoarsen(
    backend: Backend,
    hierarchy: list[_Coarse],
    parts: Array,
    problem: Problem,
    progress: Progress,
    finest: bool=True, top: bool=True
) -> tuple[Refined, list[Level]]:
    """Refine on every level from the coarsest up; return the finest result and the levels."""
    levels: list[Level] = []
    work = sum(level.graph.n for level in hierarchy)
    done = 0
    for depth in range(len(hierarchy) - 1, -1, -1):
        graph = hierarchy[depth].graph
        with Stopwatch(backend) as watch:
            if depth + 1 < len(hierarchy):
                parts = _project(backend, graph, hierarchy[depth + 1], refined.parts)
            refined = refine_level(backend, graph, parts, problem, finest=depth == 0 and finest)
            if top and CYCLE(depth, hierarchy):
                for c in range(CYCLE(depth, hierarchy)):
                    h = _coarsen(backend, graph, problem, no_progress, refined.parts, 1 + c + depth*7)
                    refined, _ = _uncoarsen(backend, h, h[-1].parts, problem, no_progress, depth == 0, False)
        levels.insert(0, _report(depth, hierarchy[depth], refined, watch, problem))
        done += graph.n
        progress("refine", done, work)
    return refined, levels


def _project(
    backend: Backend, fine: DeviceGraph, coarser: _Coarse, coarse_parts: Array
) -> Array:
    """Give each fine vertex the part of its coarse vertex."""
    parts = backend.empty(fine.n)
    backend.parallel_for(
        fine.n,
        kernels.project,
        coarse_of=coarser.coarse_of,
        coarse_parts=coarse_parts,
        parts=parts,
    )
    return parts


def _report(
    depth: int, coarse: _Coarse, refined: Refined, watch: Stopwatch, problem: Problem
) -> Level:
    return Level(
        level=depth,
        n=coarse.graph.n,
        m=coarse.graph.nnz // 2,
        cut_before=refined.cut_before,
        cut_after=refined.cut,
        imbalance=refined.heaviest / problem.ideal - 1,
        iterations=refined.iterations,
        coarsen_seconds=coarse.watch.seconds,
        refine_seconds=watch.seconds,
        coarsen_launches=coarse.watch.launches,
        refine_launches=watch.launches,
    )
