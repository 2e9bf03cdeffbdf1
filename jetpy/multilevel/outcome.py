"""Results of the driver, and its report on stages and levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Backend
from jetpy.evaluation.levels import Level
from jetpy.graph.csr import Graph
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.problem.metrics import edge_cut
from jetpy.problem.problem import Problem
from jetpy.refinement.jet import Refined


@dataclass(frozen=True, eq=False)
class Outcome:
    """Parts (int32, shape (n,)), their cut and the levels, finest first.

    `cost` is the objective of refinement: the sum over cut edges of weight times distance of the
    parts. `generations` is the number of partitions found or recombined. `disconnected` has the
    reason for each part that should be connected but is not. `records` has the parts of each
    generation that was better than all before, if they were asked for.
    """

    parts: npt.NDArray[np.int32]
    cut: int
    cost: int
    levels: Sequence[Level] = ()
    generations: int = 1
    disconnected: Mapping[int, str] = field(default_factory=dict)
    records: Sequence[npt.NDArray[np.int32]] = ()

    def with_parts(self, graph: Graph, parts: npt.NDArray[np.int32]) -> Outcome:
        """Return the outcome with other parts (int32, shape (n,)) and their cut."""
        cut = edge_cut(graph, parts)
        return replace(self, parts=parts, cut=cut, cost=cut)


@dataclass(frozen=True, eq=False)
class Solution:
    """Refined parts on the back end, and the levels, finest first."""

    refined: Refined
    levels: Sequence[Level] = ()


def cpu_threads(backend: Backend) -> int:
    """Return the number of CPU threads of a back end; on a GPU, they run small levels."""
    return backend.host.threads


def trivial_outcome(parts: npt.NDArray[np.int32], cut: int) -> Outcome:
    """Return the outcome of a trivial problem."""
    return Outcome(parts, cut, cut)


def trivial_partition(n: int, total_edge_weight: int, k: int) -> Outcome | None:
    """Return the outcome if k is 1 or each vertex gets a part; None for other problems."""
    if k == 1:
        return trivial_outcome(np.zeros(n, np.int32), 0)
    if n <= k:
        return trivial_outcome(np.arange(n, dtype=np.int32), total_edge_weight)
    return None


def level_report(depth: int, level: HierarchyLevel, refined: Refined, problem: Problem) -> Level:
    """Describe refined level `depth`; `Level.timed` adds the time of refinement."""
    return Level(
        level=depth,
        n=level.graph.global_n,
        m=level.graph.global_nnz // 2,
        cut_before=refined.cut_before,
        cut_after=refined.measures.cut,
        imbalance=problem.imbalance_of(refined.measures.part_weights),
        iterations=refined.iterations,
        coarsen_seconds=level.watch.seconds,
        refine_seconds=0.0,
        coarsen_launches=level.watch.launches,
        refine_launches=0,
    )
