"""Whole-graph partitions after changes: refined, or computed from scratch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Backend
from jetpy.graph.csr import IntArray
from jetpy.multilevel.driver import partition_uploaded, refine_uploaded
from jetpy.multilevel.outcome import Outcome, trivial_partition
from jetpy.problem.problem import Problem, as_even_as
from jetpy.progress import Progress

MAX_RENUMBERED = 1024
"""Maximum number of parts that are renumbered, because this takes cubic time."""


def partition_from_scratch(
    backend: Backend, graph: DeviceGraph, problem: Problem, progress: Progress
) -> Outcome:
    """Partition a graph from scratch; no part stays empty if there are at least k vertices."""
    trivial = trivial_partition(graph.n, graph.edge_weight // 2, problem.k)
    return trivial or partition_uploaded(backend, graph, [replace(problem, fill=True)], progress)


def refine_again(
    backend: Backend, graph: DeviceGraph, parts: IntArray, problem: Problem, progress: Progress
) -> Outcome:
    """Refine by a V-cycle; neither balance nor, at equal balance, the cut gets worse."""
    trivial = trivial_partition(graph.n, graph.edge_weight // 2, problem.k)
    if trivial is not None:
        return trivial
    problem = as_even_as(problem, np.bincount(parts, minlength=problem.k))
    options = replace(problem.options, cycles=max(problem.options.cycles, 1), cycle_limit=None)
    return refine_uploaded(backend, graph, parts, replace(problem, options=options), progress)


def best(outcomes: Iterable[Outcome], weights: IntArray, problem: Problem) -> Outcome:
    """Return the outcome with the least weight of a part outside its limits, then least cut."""

    def quality(outcome: Outcome) -> tuple[int, int]:
        held = np.bincount(outcome.parts, weights, problem.k).astype(np.int64)
        return int(problem.excess_of(held).max()), outcome.cut

    return min(outcomes, key=quality)


def renumbered(
    parts: IntArray, before: IntArray, weights: IntArray, kinds: npt.NDArray[np.int64]
) -> IntArray:
    """Renumber parts so that the maximum vertex weight keeps its part id.

    Parameters
    ----------
    parts : int32, shape (n,)
    before : int32, shape (n,)
        Previous part of each vertex; k if none.
    weights : int32, shape (n,)
    kinds : int64, shape (k,)
        `Problem.kinds`: only parts of equal kinds exchange their ids.

    Returns
    -------
    int32, shape (n,)
        `parts` unchanged if k is above 1,024.
    """
    k = len(kinds)
    if k > MAX_RENUMBERED:
        return parts
    from scipy.optimize import linear_sum_assignment  # takes long to import

    old = before < k
    pairs = before[old].astype(np.int64) * k + parts[old]
    common = np.bincount(pairs, weights[old], k * k).reshape(k, k)
    common[kinds[:, None] != kinds] = -k * (common.sum() + 1)
    numbers, new = linear_sum_assignment(common, maximize=True)
    result = np.empty(k, np.int32)
    result[new] = numbers
    return result[parts]
