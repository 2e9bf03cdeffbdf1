"""Initial partition of the coarsest graph: tries of METIS, the best refined, the best kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.backends.level import download
from jetpy.initial.metis import bisect_recursively, with_sorted_rows
from jetpy.metrics import edge_cut
from jetpy.refinement.jet import Refined, Refinement

REFINED_SHARE, FEWEST_REFINED = 4, 8
"""A quarter of the tries is refined, those with the smallest cuts, and eight at least."""


def partition_coarsest(refinement: Refinement) -> Refined:
    """Return the best partition found, given what refines the coarsest level.

    Best is: least weight above the limit in the heaviest part, then smallest cut, then smallest
    cut before refinement. The number of tries falls with k and the number of edges, as METIS
    takes longer; more parts average out luck.
    """
    backend, graph, problem = refinement.backend, refinement.state.graph, refinement.problem
    host = with_sorted_rows(download(backend, graph))
    initial = problem.options.initial
    affordable = initial.most_entries // graph.size
    tries = max(1, min(initial.most_tries, initial.parts_tried // problem.k, affordable))

    def refine(parts: npt.NDArray[np.int32]) -> Refined:
        refined = refinement.refine(backend.from_host(parts), finest=False)
        return replace(refined, parts=refined.parts.copy())

    def quality(refined: Refined) -> tuple[int, int]:
        measures = refined.measures
        return max(measures.heaviest - problem.limit, 0), measures.cut

    starts = [bisect_recursively(host, problem, number) for number in range(tries)]
    starts.sort(key=lambda parts: edge_cut(host, parts))
    promising = starts[: max(FEWEST_REFINED, tries // REFINED_SHARE)]
    return min(map(refine, promising), key=quality)
