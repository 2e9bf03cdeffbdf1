"""What is done to the partition of the input graph when it has been refined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph, download
from jetpy.balance.filling import fill
from jetpy.balance.packing import fit
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.measures import Measures
from jetpy.workloads import balance as kernels


def finish(refinement: Refinement, refined: Refined) -> Refined:
    """Return a partition that keeps the limit, if packing can, and without empty parts, if asked.

    Neither is needed often. What was packed is refined again; what was filled is not, as refinement
    may empty parts.
    """
    problem = refinement.problem
    if problem.groups == 1 and refined.measures.overload(problem) > 0:
        refined = _pack(refinement, refined)
    if problem.fill and not refined.measures.part_weights.all():
        refined = _fill(refinement, refined)
    return refined


def _pack(refinement: Refinement, refined: Refined) -> Refined:
    """Return what packing makes of a partition, refined again; the same if nothing can be done."""
    backend, problem, device = refinement.backend, refinement.problem, refinement.state.graph
    graph = download(backend, device)
    if refined.measures.heaviest == graph.vertex_weights.max():
        return refined
    parts = backend.to_host(refined.parts)
    internal = internal_weights(backend, device, refined.parts)
    fitted = fit(graph, parts, internal, problem.limit, problem.k)
    if np.array_equal(fitted, parts):
        return refined
    again = refinement.refine(backend.from_host(fitted), finest=True)
    iterations = refined.iterations + again.iterations
    return replace(again, cut_before=refined.cut_before, iterations=iterations)


def _fill(refinement: Refinement, refined: Refined) -> Refined:
    """Return the partition with a vertex in each part, if there are vertices enough."""
    backend, k, device = refinement.backend, refinement.problem.k, refinement.state.graph
    graph = download(backend, device)
    internal = internal_weights(backend, device, refined.parts)
    filled, growth = fill(graph, backend.to_host(refined.parts), internal, k)
    weights = np.bincount(filled, graph.vertex_weights, k).astype(np.int64)
    measures = Measures(refined.measures.cut + growth, weights)
    return replace(refined, parts=backend.from_host(filled), measures=measures)


def internal_weights(backend: Backend, graph: DeviceGraph, parts: Array) -> npt.NDArray[np.int64]:
    """Return the weight of the edges of each vertex to its own part, int64, shape (n,)."""
    internal = backend.empty(graph.n, np.int64)
    backend.parallel_for(
        graph.n, kernels.weigh_internal, graph=graph, parts=parts, internal=internal
    )
    return backend.to_host(internal)
