"""The core of a network in one part: a second start for the refinement of the finest level.

Social networks and R-MAT graphs have a core: vertices of high degree with many edges between them.
If these are in several parts, most edges between them are cut. Refinement does not gather them,
because each is adjacent to all parts, and full parts admit few. On other graphs, hardly any edges
connect vertices of high degree, so nothing happens. Cores: Borgatti, Everett, "Models of
core/periphery structures", Social Networks 21 (2000).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetpy.coarsening.hubs import count_hubs
from jetpy.engines.base import Array
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.problem.problem import EDGE_CUT, Problem
from jetpy.refinement.jet import Refined
from jetpy.workloads.refinement import core as kernels
from jetpy.workloads.refinement.core import Core
from jetpy.workloads.refinement.losses import BUCKETS

MIN_VERTICES = 1000
"""On smaller graphs, tries find the core."""
SHARE = 2
"""The core weighs at most 1 / SHARE of the average part."""
CUT_SHARE = 50
"""Cut edges within the core must weigh at least 1 / CUT_SHARE of the cut."""
LOSS = 3
"""The edges that are cut instead, because vertices of the core leave others of their parts, may
weigh LOSS times as much: most of these others follow."""


def may_have_core(n: int, problem: Problem) -> bool:
    """Return whether the core of a graph of n vertices is looked for."""
    is_plain = problem.metric is EDGE_CUT and problem.groups == 1
    return is_plain and n >= MIN_VERTICES and problem.options.gathers_core


def gather_core(level: HierarchyLevel, problem: Problem, refined: Refined) -> Refined:
    """Return the better of a partition and the one refined from it with its core in one part."""
    start = with_core_in_one_part(level, problem, refined)
    if start is None:
        return refined
    kept = replace(refined, parts=refined.parts.copy())
    found = level.refine(problem, start, 0)
    own = level.refinement(problem).problem
    return kept.or_better(found, own, refined.iterations + found.iterations)


def with_core_in_one_part(
    level: HierarchyLevel, problem: Problem, refined: Refined
) -> Array | None:
    """Return the parts (int32, shape (n,)) with the core in one of them, or None if not promising.

    It is the part to which the core is connected most; afterwards it may be too heavy.
    """
    backend, graph, k = level.backend, level.graph, problem.k
    if level.pinned is not None or not may_have_core(graph.global_n, problem):
        return None
    if graph.halo.total(count_hubs(backend, graph)) == 0:
        return None
    average = graph.global_nnz // graph.global_n
    weights = backend.full(BUCKETS, 0, np.int64)
    chosen = {"graph": graph, "least": average + 1}
    backend.parallel_for(graph.n, kernels.weigh_classes, weights=weights, **chosen)
    graph.halo.allreduce(weights)
    most = int(refined.measures.part_weights.sum()) // (SHARE * k)
    from_top = np.cumsum(backend.to_host(weights)[::-1])
    classes = int(np.searchsorted(from_top, most, side="right"))
    sums = [backend.full(size, 0, np.int64) for size in (k, k, 1)]
    core = Core(backend.full(graph.n_with_ghosts, 0), *sums)
    backend.parallel_for(graph.n, kernels.mark_core, lowest=BUCKETS - classes, core=core, **chosen)
    graph.halo.exchange_ghosts(core.marks)
    parts = refined.parts
    graph.long_rows.launch(graph.n, kernels.measure_core, graph=graph, parts=parts, core=core)
    graph.halo.allreduce(*sums)
    connected, attached, [twice] = map(backend.to_host, sums)
    part, gain = int(connected.argmax()), int(twice) // 2
    loss = int(attached.sum() - attached[part])
    if gain == 0 or gain * CUT_SHARE < refined.measures.cut or gain * LOSS < loss:
        return None
    start = parts.copy()
    backend.parallel_for(graph.n, kernels.move_core, part=part, parts=start, core=core)
    return start
