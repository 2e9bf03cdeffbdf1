"""What is done to the partition of the input graph when it has been refined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetpy.backends.level import download
from jetpy.balance.filling import fill
from jetpy.balance.packing import fit
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.state import Measures


def finish(refinement: Refinement, refined: Refined) -> Refined:
    """Return a partition that keeps the limit, if packing can, and without empty parts, if asked.

    Neither is needed often. What was packed is refined again; what was filled is not, as refinement
    may empty parts.
    """
    backend, problem, k = refinement.backend, refinement.problem, refinement.problem.k
    if problem.groups == 1 and refined.measures.overload(problem) > 0:
        graph, parts = download(backend, refinement.state.graph), backend.to_host(refined.parts)
        if refined.measures.heaviest > graph.vertex_weights.max():
            fitted = backend.from_host(fit(graph, parts, problem.limit, k))
            again = refinement.refine(fitted, finest=True)
            iterations = refined.iterations + again.iterations
            refined = replace(again, cut_before=refined.cut_before, iterations=iterations)
    if problem.fill and not refined.measures.part_weights.all():
        graph, parts = download(backend, refinement.state.graph), backend.to_host(refined.parts)
        filled, growth = fill(graph, parts, k)
        weights = np.bincount(filled, graph.vertex_weights, k).astype(np.int64)
        measures = Measures(refined.measures.cut + growth, weights)
        refined = replace(refined, parts=backend.from_host(filled), measures=measures)
    return refined
