"""Small graphs: one index of a launch partitions a whole graph, without the host in between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jetpy.device.device_graph import carry, carry_graph, upload
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.evaluation.levels import Level
from jetpy.graph.csr import Graph
from jetpy.initial.tasks import Batch, Found, Job, can_solve, run_shared
from jetpy.multilevel.core import gather_core, may_have_core
from jetpy.multilevel.hierarchy import HierarchyLevel, finest_level
from jetpy.multilevel.index_width import is_narrow
from jetpy.multilevel.outcome import Outcome, Solution, level_report
from jetpy.problem.problem import Problem, divided
from jetpy.progress import Progress
from jetpy.refinement.jet import Refined
from jetpy.refinement.measures import Measures

HEAVIEST = 8
"""Maximum weight of a vertex, divided by the average weight: tasks fill parts less exactly."""


def suits(problem: Problem, n: int, nnz: int) -> bool:
    """Return whether a task solves a problem of a graph with n vertices and nnz directed edges.

    This is the only rule. The options set the largest size and average degree.
    """
    small = problem.options.small
    return 0 < n <= small.max_vertices and nnz <= small.max_degree * n and can_solve(problem)


def small_level(finest: HierarchyLevel, steps: Sequence[Problem]) -> HierarchyLevel | None:
    """Return the level with the whole graph if a task partitions it, otherwise None.

    Tasks have 32-bit kernels, and know neither blocks nor pinned vertices. Collective if other
    conditions hold.
    """
    graph = finest.graph
    is_candidate = (
        len(steps) == 1
        and suits(steps[0], graph.global_n, graph.global_nnz)
        and finest.blocks is None
        and finest.pinned is None
        and (not finest.backend.is_wide or is_narrow(graph, steps[0]))
    )
    if not is_candidate:
        return None
    whole = finest.alone()
    return whole if are_similar(whole.graph.vertex_weights) else None


def are_similar(vertex_weights: Array) -> bool:
    """Return whether no vertex is much heavier than the average one."""
    heaviest, total = int(vertex_weights.max()), int(vertex_weights.sum(dtype=np.int64))
    return heaviest * len(vertex_weights) <= HEAVIEST * total


def solve_small(level: HierarchyLevel, problem: Problem, progress: Progress) -> Solution:
    """Partition the graph of a level, which has the whole graph, by a task on the host.

    Refinement repairs parts that are outside their limits, or empty.
    """
    progress("refine", 0, 1)
    with Stopwatch(level.backend, "initial"):
        own = level.with_narrow_kernels(problem) if level.backend.is_wide else level
        host = own.backend.host
        graph = carry_graph(own.graph, own.backend, host)
        batch = Batch.of([Job.of_problem(graph, problem)], host)
        [found] = batch.run(host, problem.options.small)
        measures = Measures(found.cut, found.part_weights)
        parts = carry(found.parts, host, level.backend)
    refined = Refined(parts, measures, found.cut, 0)
    with Stopwatch(level.backend, "refine") as repair:
        if found.is_complete(fill=problem.fill):
            refined = level.given_out(gather_core(level, problem, refined))
        else:
            refined = level.finish(problem, level.refine(problem, parts, 0))
    progress("refine", 1, 1)
    report = level_report(0, level, refined, problem)
    return Solution(refined, [report.timed(repair)])


def solve_many_small(
    backend: Backend, host: Backend, graphs: Sequence[Graph], problems: Sequence[Problem]
) -> list[Outcome | None]:
    """Partition small graphs, whose problems have the same options, by one launch.

    A GPU and its host share them. Each outcome is that of the graph alone; None
    where refinement has to repair a partition.
    """
    with Stopwatch(backend, "initial"):
        own = [divided(graph, problem) for graph, problem in zip(graphs, problems, strict=True)]
        jobs = [Job.of_problem(graph, problem) for graph, problem in own]
        found = run_shared(jobs, backend, host, problems[0].options.small)
    return [
        _outcome(one, host, graph, problem)
        for one, (graph, problem) in zip(found, own, strict=True)
    ]


def _outcome(found: Found, host: Backend, graph: Graph, problem: Problem) -> Outcome | None:
    if not found.is_complete(fill=problem.fill):
        return None
    measures = Measures(found.cut, found.part_weights)
    refined = Refined(found.parts, measures, found.cut, 0)
    if may_have_core(graph.n, problem):
        level = finest_level(host, upload(host, graph))
        refined = gather_core(level, problem, refined)
    cut = refined.measures.cut
    uneven = problem.imbalance_of(refined.measures.part_weights)
    level_row = Level(
        0, graph.n, graph.m, found.cut, cut, uneven, refined.iterations, 0.0, 0.0, 0, 0
    )
    return Outcome(host.to_host(refined.parts), cut, cut, [level_row])
