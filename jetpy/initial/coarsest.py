"""Initial partition of the coarsest graph: tries of METIS, the best refined, the best kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array
from jetpy.backends.level import download
from jetpy.graph import Graph, IntArray
from jetpy.initial.assignment import assign_parts
from jetpy.initial.blocks import split_blocks
from jetpy.initial.metis import bisect_recursively, with_sorted_rows
from jetpy.metrics import mapped_cut
from jetpy.problem import Problem
from jetpy.refinement.jet import Refined, Refinement

REFINED_SHARE, FEWEST_REFINED = 4, 8
"""A quarter of the tries is refined, those with the smallest cuts, and eight at least."""


def partition_coarsest(refinement: Refinement, groups: Array | None) -> Refined:
    """Return the best partition found, given what refines the coarsest level.

    `groups` are those of its vertices (int32, shape (n,)), where there are several. Best is: least
    weight of a part above its limit, then smallest cut, then smallest cut before refinement.
    """
    backend, problem = refinement.backend, refinement.problem
    graph = with_sorted_rows(download(backend, refinement.state.graph))
    within = None if groups is None else backend.to_host(groups)
    tries = _tries(problem, refinement.state.graph.size)
    starts = [_start(graph, within, problem, number) for number in range(tries)]

    def refine(parts: npt.NDArray[np.int32]) -> Refined:
        refined = refinement.refine(backend.from_host(parts), finest=False)
        return replace(refined, parts=refined.parts.copy())

    def quality(refined: Refined) -> tuple[int, int]:
        measures = refined.measures
        return max(measures.overload(problem), 0), measures.cut

    starts.sort(key=lambda parts: mapped_cut(graph, parts, problem.metric, problem.k))
    promising = starts[: max(FEWEST_REFINED, len(starts) // REFINED_SHARE)]
    return min(map(refine, promising), key=quality)


def _tries(problem: Problem, size: int) -> int:
    """Return how often METIS is tried on so many vertices and directed edges together.

    The number of tries falls with k and the number of edges, as METIS takes longer; more parts
    average out luck.
    """
    initial = problem.options.initial
    affordable = initial.most_entries // size
    return max(1, min(initial.most_tries, initial.parts_tried // problem.k, affordable))


def _start(
    graph: Graph, groups: IntArray | None, problem: Problem, attempt: int
) -> npt.NDArray[np.int32]:
    """Return what METIS finds (int32, shape (n,)); `attempt` varies the seed."""
    seed = problem.seed * 1009 + attempt
    if groups is not None:
        return split_blocks(graph, groups, problem, seed)
    parts = bisect_recursively(graph, problem.k, problem.imbalance, seed)
    return assign_parts(graph, parts, problem) if problem.metric.kind == 1 else parts
