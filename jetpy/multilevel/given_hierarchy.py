"""Hierarchies that outlive a run: coarsening alone, and runs on the levels of a hierarchy.

A graph that needs 64-bit kernels is treated as in a run from scratch: its fine levels have these
kernels, up to the first level that fits into 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, carry, carry_graph, divide_weights, upload
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.graph.dlpack import is_on_gpu, on_host
from jetpy.graph.levels import GraphLevel, coarse_name, fitting
from jetpy.graph.on_gpu import GraphOnGpu, OnGpu
from jetpy.multilevel.driver import refine_levels, refine_wide, solve_hierarchies, solve_narrow
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen, finest_level
from jetpy.multilevel.index_width import is_narrow
from jetpy.multilevel.outcome import Outcome, Solution
from jetpy.problem.problem import Problem, in_units
from jetpy.progress import Progress, no_progress
from jetpy.workloads.multilevel.projection import weigh_parts


def coarsen_graph(
    backend: Backend, graph: Graph, problem: Problem, progress: Progress, *, on_gpu: bool = False
) -> list[GraphLevel]:
    """Return the levels that a run from scratch would have, and the coarser ones.

    A run ends coarsening at a level that tasks partition, because it needs no coarser one. With
    `on_gpu`, all arrays of levels that 32-bit kernels support stay on the back end's GPU.
    """
    device, unit = divide_weights(backend, upload(backend, graph))
    problem = to_the_coarsest(in_units(problem, unit, device.n))
    finest = finest_level(backend, device)
    if not backend.is_wide:
        levels = coarsen(finest, [problem], progress)
    else:
        levels = coarsen(finest, [problem], progress, until=partial(is_narrow, problem=problem))
        if is_narrow(levels[-1].graph, problem):
            narrow = levels[-1].with_narrow_kernels(problem)
            levels += coarsen(narrow, [problem], no_progress)[1:]
    exported = _Export(backend, unit, graph.total_vertex_weight, on_gpu)
    graphs = [exported.finest(graph, device) if on_gpu else graph]
    graphs += [
        exported.graph(level, coarse_name(graph.name, depth))
        for depth, level in enumerate(levels[1:], 1)
    ]
    maps = [exported.map(finer, level.coarse_of) for finer, level in pairwise(levels)]
    return [
        GraphLevel(own, coarse_of, level.watch.seconds)
        for own, coarse_of, level in zip(graphs, [*maps, None], levels, strict=True)
    ]


def to_the_coarsest(problem: Problem) -> Problem:
    """Return the problem with coarsening that does not end at a level for tasks."""
    initial = replace(problem.options.initial, task_size=0)
    return replace(problem, options=replace(problem.options, initial=initial))


def partition_levels(
    backend: Backend, levels: Sequence[GraphLevel], problem: Problem, progress: Progress
) -> Outcome:
    """Partition the coarsest graph of a hierarchy, and refine the partition on all levels."""
    with Stopwatch(backend, "coarsen"):
        hierarchy, inner, problem = _upload(backend, levels, problem)
    if not backend.is_wide:
        solution = solve_hierarchies([hierarchy], [problem], progress)
    else:
        if inner:
            below = solve_hierarchies([inner], [problem], no_progress)
        else:
            below = solve_narrow(hierarchy[-1], [problem])
        solution = refine_wide(hierarchy, below, [problem], progress)
    return _outcome(backend, solution)


def refine_from_level(
    backend: Backend,
    levels: Sequence[GraphLevel],
    parts: npt.NDArray[np.int32],
    problem: Problem,
    progress: Progress,
) -> Outcome:
    """Refine a partition (int32, shape (n,)) of the last of some levels on all of them."""
    with Stopwatch(backend, "coarsen"):
        hierarchy, inner, problem = _upload(backend, levels, problem)
    if len(inner) > 1:
        below = _refined(inner, parts, problem, no_progress)
        solution = refine_wide(hierarchy, below, [problem], progress)
    else:
        solution = _refined(hierarchy, parts, problem, progress)
    return _outcome(backend, solution)


def _refined(
    hierarchy: list[HierarchyLevel],
    parts: npt.NDArray[np.int32],
    problem: Problem,
    progress: Progress,
) -> Solution:
    start = hierarchy[-1].backend.from_host(parts.copy())
    return refine_levels(hierarchy, [problem], start, None, progress)


def _outcome(backend: Backend, solution: Solution) -> Outcome:
    """Return the outcome of a solution of the finest level."""
    with Stopwatch(backend, "refine"):
        parts, cut = backend.to_host(solution.refined.parts), solution.refined.measures.cut
    return Outcome(parts, cut, cut, solution.levels)


def _upload(
    backend: Backend, levels: Sequence[GraphLevel], problem: Problem
) -> tuple[list[HierarchyLevel], list[HierarchyLevel], Problem]:
    """Copy levels to a back end, and divide the vertex weights by their common divisor.

    Returns
    -------
    hierarchy : list of HierarchyLevel
        All levels; on a 64-bit back end, those up to the first that fits into 32 bits.
    inner : list of HierarchyLevel
        On a 64-bit back end, the last level of `hierarchy` and all coarser ones with 32-bit
        kernels, if it fits into 32 bits; otherwise empty.
    problem : Problem
        The problem in the units of the levels.
    """
    device, unit = divide_weights(backend, upload(backend, levels[0].graph))
    problem = in_units(problem, unit, device.n)
    hierarchy = _extended(finest_level(backend, device), levels, unit, problem)
    last = hierarchy[-1]
    if not backend.is_wide or not is_narrow(last.graph, problem):
        return hierarchy, [], problem
    narrow = last.with_narrow_kernels(problem)
    return hierarchy, _extended(narrow, levels[len(hierarchy) - 1 :], unit, problem), problem


def _extended(
    finest: HierarchyLevel, levels: Sequence[GraphLevel], unit: int, problem: Problem
) -> list[HierarchyLevel]:
    """Return a level and the coarser ones; `levels` begins with the graph of `finest`.

    With 64-bit kernels, the last one is the first that fits into 32 bits.
    """
    hierarchy = [finest]
    for depth, (fine, coarse) in enumerate(pairwise(levels), 1):
        finer = hierarchy[-1]
        if finest.backend.is_wide and is_narrow(finer.graph, problem):
            break
        coarse_of = _map_on(finer.backend, fine.coarse_of)
        graph = _divided(finer, coarse_of, upload(finer.backend, coarse.graph), unit)
        hierarchy.append(
            finer.next_level(graph, coarse_of, Stopwatch(finer.backend, "coarsen", depth))
        )
    return hierarchy


def _divided(finer: HierarchyLevel, coarse_of: Array, graph: DeviceGraph, unit: int) -> DeviceGraph:
    """Divide the vertex weights of the graph below a level by a unit.

    If the unit is 0, all weights are 0, and become sums of those on the finer level.
    """
    if unit == 1:
        return graph
    if unit > 1:
        return replace(graph, vertex_weights=graph.vertex_weights // unit)
    backend = finer.backend
    sums = backend.full(graph.n, 0, backend.sum_type)
    backend.parallel_for(
        finer.graph.n, weigh_parts, graph=finer.graph, parts=coarse_of, part_weights=sums
    )
    return replace(graph, vertex_weights=sums)


def _map_on(backend: Backend, coarse_of: Any) -> Array:
    """Return a map on a back end, without a copy if it is on the back end's GPU."""
    if is_on_gpu(coarse_of) and coarse_of.device.id == backend.gpu:
        return coarse_of
    return backend.from_host(on_host(coarse_of))


class _Export:
    """Turns levels into graphs and maps for users.

    Parameters
    ----------
    backend : Backend
        Of the finest level.
    unit : int
        The divisor of all vertex weights; 0 if they are 0.
    total : int
        Total vertex weight of the graph.
    on_gpu : bool
        Whether arrays stay on the GPU.
    """

    def __init__(self, backend: Backend, unit: int, total: int, on_gpu: bool) -> None:
        self._backend, self._unit, self._total, self._on_gpu = backend, unit, total, on_gpu

    def finest(self, graph: Graph, device: DeviceGraph) -> Graph:
        """Return the finest graph on the GPU, given it with divided vertex weights."""
        is_there = isinstance(graph, GraphOnGpu) and graph.on_gpu is not None
        if is_there or self._backend.is_wide:
            return graph
        return GraphOnGpu.of(self._arrays(device), graph.name, graph.names, graph.locate)

    def graph(self, level: HierarchyLevel, name: str) -> Graph:
        """Return the graph of a coarse level."""
        if self._on_gpu and not level.backend.is_wide:
            target = self._backend.with_width(level.backend.width)
            copied = carry_graph(level.graph, level.backend, target)
            return GraphOnGpu.of(self._arrays(copied), name)
        own, host = level.graph, level.backend.to_host
        weights = fitting(host(own.vertex_weights) * self._unit)
        indptr = host(own.indptr)
        if own.nnz <= INT32_MAX:
            indptr = indptr.astype(np.int32, copy=False)
        return Graph(indptr, host(own.indices), fitting(host(own.edge_weights)), weights, name)

    def map(self, finer: HierarchyLevel, coarse_of: Array) -> Array:
        """Return the map of a level to the next coarser one."""
        if not self._on_gpu:
            return finer.backend.to_host(coarse_of)
        is_there = finer.backend.gpu == self._backend.gpu
        return coarse_of if is_there else carry(coarse_of, finer.backend, self._backend)

    def _arrays(self, device: DeviceGraph) -> OnGpu:
        weights = device.vertex_weights if self._unit == 1 else device.vertex_weights * self._unit
        rows = device.indptr, device.indices, device.edge_weights
        return OnGpu(*rows, weights, device.edge_weight, self._total)
