"""Initial partition of the coarsest graph: several tries of METIS, each refined, the best kept."""

from __future__ import annotations

from dataclasses import replace

from jetpy.backends.level import download
from jetpy.initial.metis import bisect_recursively
from jetpy.refinement.jet import Refined, Refinement


def partition_coarsest(refinement: Refinement) -> Refined:
    """Return the best partition found, given what refines the coarsest level.

    Best is: least weight above the limit in the heaviest part, then smallest cut, then first.
    The number of tries falls with k and the number of edges, as METIS takes longer; more parts
    average out luck.
    """
    backend, graph, problem = refinement.backend, refinement.state.graph, refinement.problem
    host = download(backend, graph)
    initial = problem.options.initial
    affordable = initial.most_entries // graph.size
    tries = max(1, min(initial.most_tries, initial.parts_tried // problem.k, affordable))

    def attempt(number: int) -> Refined:
        parts = backend.from_host(bisect_recursively(host, problem, number))
        refined = refinement.refine(parts, finest=False)
        return replace(refined, parts=refined.parts.copy())

    def quality(refined: Refined) -> tuple[int, int]:
        measures = refined.measures
        return max(measures.heaviest - problem.limit, 0), measures.cut

    return min((attempt(number) for number in range(tries)), key=quality)
