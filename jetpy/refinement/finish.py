"""Final steps on the partition of the input graph, after its refinement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import download
from jetpy.graph.csr import Graph, IntArray
from jetpy.problem.problem import Problem
from jetpy.refinement.filling import fill, internal_weights
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.measures import Measures
from jetpy.refinement.packing import fit, pack
from jetpy.refinement.raising import raise_to_lower_limits
from jetpy.workloads.common.groups import NO_PART


def finish(refinement: Refinement, refined: Refined) -> Refined:
    """Return a partition that keeps the limits, if packing can, and has no empty part, if required.

    Both steps are rarely needed. A packed partition is refined again. A filled one is not, because
    refinement may empty parts.
    """
    problem = refinement.problem
    if problem.groups == 1 and refined.measures.overload(problem) > 0:
        refined = _pack(refinement, refined)
    placeholders = 0 if problem.placeholders is None else problem.placeholders
    if problem.fill and (refined.measures.part_weights <= placeholders).any():
        refined = _fill(refinement, refined)
    return refined


def _pack(refinement: Refinement, refined: Refined) -> Refined:
    """Return the packed partition, refined again, or `refined` if packing changes nothing."""
    backend, problem, device = refinement.backend, refinement.problem, refinement.state.graph
    graph = download(backend, device)
    has_own_limits = problem.targets is not None or problem.part_lower_limits is not None
    is_plain = not has_own_limits and refinement.pinned is None
    if is_plain and refined.measures.heaviest == graph.vertex_weights.max():
        return refined
    parts = backend.to_host(refined.parts)
    internal = backend.to_host(internal_weights(backend, device, refined.parts))
    pinned = refinement.pinned
    free = np.ones(graph.n, np.bool_) if pinned is None else backend.to_host(pinned) == NO_PART
    fitted = fit(graph, parts, internal, problem.limits, free)
    if problem.part_lower_limits is not None:
        fitted = _raised(graph, fitted, problem, free)
    if np.array_equal(fitted, parts):
        return refined
    again = refinement.refine(backend.from_host(fitted), finest=True)
    iterations = refined.iterations + again.iterations
    return replace(again, cut_before=refined.cut_before, iterations=iterations)


def _raised(
    graph: Graph, parts: IntArray, problem: Problem, free: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int32]:
    """Return parts that keep the lower limits, too: raised ones, or if that fails, packed ones."""
    raised = raise_to_lower_limits(graph, parts, problem, free)
    weights, k = graph.vertex_weights, problem.k
    if not problem.excess_of(np.bincount(raised, weights, k).astype(np.int64)).any():
        return raised
    packed = raised.copy()
    held = np.bincount(raised[~free], weights[~free], k).astype(np.int64)
    packed[free] = pack(weights[free], problem.limits - held, problem.lower_limits - held)

    def excess(own: IntArray) -> int:
        return int(problem.excess_of(np.bincount(own, weights, k).astype(np.int64)).sum())

    return min(raised, packed, key=excess)


def _fill(refinement: Refinement, refined: Refined) -> Refined:
    """Return the partition with a vertex in each part, if there are enough vertices."""
    backend, device, problem = refinement.backend, refinement.state.graph, refinement.problem
    spare = None
    if problem.part_lower_limits is not None:
        spare = (refined.measures.part_weights - problem.lower_limits).clip(0)
    limits, placeholders = problem.part_limits, problem.placeholders
    if limits is not None and placeholders is not None:
        limits = limits - placeholders
    own = refinement.pinned, limits, spare, placeholders
    vertices, new, growth = fill(backend, device, refined.parts, problem.k, *own)
    moved, parts = backend.from_host(vertices), refined.parts
    held = backend.to_host(device.vertex_weights[moved])
    weights = refined.measures.part_weights.copy()
    np.subtract.at(weights, backend.to_host(parts[moved]), held)
    weights[new] += held
    parts[moved] = backend.from_host(new)
    return replace(refined, measures=Measures(refined.measures.cut + growth, weights))
