"""The multilevel driver: coarsen, partition the coarsest graph, project and refine.

The only module that knows the order of the stages (Jet, Algorithm 2.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph, carry, carry_graph, divide_weights, upload
from jetpy.balance.finish import finish
from jetpy.coarsening.methods import COARSENINGS
from jetpy.graph import Graph
from jetpy.initial.coarsest import partition_coarsest
from jetpy.options import Options
from jetpy.problem import EDGE_CUT, Problem, in_units, within
from jetpy.projection import inject_parts, project_parts
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.state import Measures, cost_of
from jetpy.result import Level
from jetpy.subgraphs import within_blocks

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total)."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Parts (int32, shape (n,)), their cut, the levels (finest first) and seconds by stage.

    `cost` is what refinement reduces: each cut edge times the distance of its parts.
    """

    parts: npt.NDArray[np.int32]
    cut: int
    cost: int
    levels: Sequence[Level]
    seconds: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Solution:
    """Refined parts on the back end, the levels (finest first), seconds of the three stages."""

    refined: Refined
    levels: Sequence[Level]
    seconds: tuple[float, float, float]


@dataclass
class Stopwatch:
    """Wall seconds and launches of a stage, on one level or (None) on several."""

    backend: Backend
    stage: str
    level: int | None = None
    seconds: float = 0.0
    launches: int = 0
    _start: tuple[float, int] = field(default=(0.0, 0))

    def __enter__(self) -> Stopwatch:
        self.backend.enter(self.stage, self.level)
        self._start = (time.perf_counter(), self.backend.all_launches)
        return self

    def __exit__(self, *_: object) -> None:
        self.backend.synchronize()
        self.seconds = time.perf_counter() - self._start[0]
        self.launches = self.backend.all_launches - self._start[1]
        self.backend.leave()


@dataclass(frozen=True, eq=False)
class _Coarse:
    """A level of a hierarchy, on the back end that suits its size.

    `coarse_of` maps the next finer level's vertices to this one's (None on the finest level) and
    is on that one's back end.
    """

    backend: Backend
    graph: DeviceGraph
    coarse_of: Array | None
    watch: Stopwatch
    last: list[Refinement] = field(default_factory=list)

    def refinement(self, problem: Problem) -> Refinement:
        """Return what refines the level: the same as the last time, if the problem is."""
        if not self.last or self.last[0].problem is not problem:
            self.last[:] = [Refinement(self.backend, self.graph, problem)]
        return self.last[0]


def coarsest_size(k: int, per_part: int | None = None) -> int:
    """Return the number of vertices at which coarsening ends, `per_part` for each part if given.

    Jet's own code goes down to 8 k, from k = 128 on to max(1024, 2 k). Stopping earlier pays:
    bisecting 32 vertices a part costs METIS milliseconds and gives smaller cuts in the end. Dense
    graphs are coarsened down to an eighth of that, until METIS can afford four tries.
    """
    if per_part is not None:
        return per_part * k
    return max(512, min(32 * k, max(2048, 16 * k)))


def partition_multilevel(
    backend: Backend, graph: Graph, steps: Sequence[Problem], progress: Progress = no_progress
) -> Outcome:
    """Partition `graph` from scratch.

    With several steps, coarse levels are cut into the parts of the first; on finer ones, the parts
    of each step are cut into those of the next. The last step is what is asked for.
    """
    with Stopwatch(backend, "coarsen") as transfer:
        device = upload(backend, graph)
    outcome = partition_uploaded(backend, device, steps, progress)
    stages = [outcome.seconds[stage] for stage in ("coarsen", "initial", "refine")]
    return replace(outcome, seconds=_seconds(stages[0] + transfer.seconds, *stages[1:]))


def partition_uploaded(
    backend: Backend,
    device: DeviceGraph,
    steps: Sequence[Problem],
    progress: Progress = no_progress,
) -> Outcome:
    """Partition a graph that is on the back end from scratch, as `partition_multilevel` does."""
    reduced, unit = divide_weights(backend, device)
    solution = _solve(backend, reduced, [in_units(s, unit) for s in steps], None, progress)
    with Stopwatch(backend, "refine") as fetching:
        refined = solution.refined
        cut, cost = refined.measures.cut, refined.measures.cut * steps[-1].metric.factor
        if steps[-1].metric is not EDGE_CUT:
            cut = cost_of(backend, device, refined.parts, EDGE_CUT, steps[-1].k)
        parts = backend.to_host(refined.parts)
    coarsen, initial, refine = solution.seconds
    seconds = _seconds(coarsen, initial, refine + fetching.seconds)
    return Outcome(parts, cut, cost, solution.levels, seconds)


def _solve(
    backend: Backend,
    graph: DeviceGraph,
    steps: Sequence[Problem],
    groups: Array | None,
    progress: Progress,
) -> Solution:
    """Partition a graph that is on the back end.

    `groups` are those of the vertices (int32, shape (n,)), where the first step has several.
    """
    finest = _Coarse(backend, graph, None, Stopwatch(backend, "coarsen", 0))
    with Stopwatch(backend, "coarsen") as coarsen:
        hierarchy, groups = _coarsen(finest, steps, groups, progress)
    with Stopwatch(backend, "initial", len(hierarchy) - 1) as initial:
        start = partition_coarsest(hierarchy[-1].refinement(steps[0]), groups)
    with Stopwatch(backend, "refine") as refine:
        refined, levels = _uncoarsen(hierarchy, steps, start.parts, start.measures, progress)
    return Solution(refined, levels, (coarsen.seconds, initial.seconds, refine.seconds))


def refine_partition(
    backend: Backend,
    graph: Graph,
    parts: npt.NDArray[np.int32],
    problem: Problem,
    progress: Progress = no_progress,
) -> Outcome:
    """Refine a given partition (int32, shape (n,)) on the graph itself."""
    with Stopwatch(backend, "refine") as transfer:
        device = upload(backend, graph)
    outcome = refine_uploaded(backend, device, parts, problem, progress)
    seconds = _seconds(0.0, 0.0, transfer.seconds + outcome.seconds["refine"])
    return replace(outcome, seconds=seconds)


def refine_uploaded(
    backend: Backend,
    device: DeviceGraph,
    parts: npt.NDArray[np.int32],
    problem: Problem,
    progress: Progress = no_progress,
) -> Outcome:
    """Refine a partition of a graph that is on the back end, as `refine_partition` does."""
    with Stopwatch(backend, "refine") as watch:
        reduced, unit = divide_weights(backend, device)
        finest = _Coarse(backend, reduced, None, Stopwatch(backend, "coarsen", 0))
        start = backend.from_host(parts.copy())
        steps = [in_units(problem, unit)]
        refined, levels = _uncoarsen([finest], steps, start, None, progress)
        result = backend.to_host(refined.parts)
    cut = refined.measures.cut
    return Outcome(result, cut, cut, levels, _seconds(0.0, 0.0, watch.seconds))


def trivial_outcome(parts: npt.NDArray[np.int32], cut: int) -> Outcome:
    """Return the outcome of a problem that leaves nothing to decide."""
    return Outcome(parts, cut, cut, [], _seconds(0.0, 0.0, 0.0))


def trivial_partition(n: int, total_edge_weight: int, k: int) -> Outcome | None:
    """Return the outcome if there is nothing to decide: one part, or one for each vertex."""
    if k == 1:
        return trivial_outcome(np.zeros(n, np.int32), 0)
    if n <= k:
        return trivial_outcome(np.arange(n, dtype=np.int32), total_edge_weight)
    return None


def _seconds(coarsen: float, initial: float, refine: float) -> dict[str, float]:
    total = coarsen + initial + refine
    return {"coarsen": coarsen, "initial": initial, "refine": refine, "total": total}


def _coarsen(
    finest: _Coarse,
    steps: Sequence[Problem],
    parts: Array | None,
    progress: Progress,
    depth: int = 0,
    cycle: int = 0,
) -> tuple[list[_Coarse], Array | None]:
    """Return the hierarchy, finest first, and the parts of the coarsest level.

    Vertices stay within `parts` where these are given. `depth` is the number of the level that
    `finest` is.
    """
    problem = steps[-1]
    seed = problem.seed + 7919 * cycle
    options = problem.options.coarsen
    coarsening = COARSENINGS[options.method]
    target = coarsest_size(steps[0].k, options.per_part)
    levels = [finest]
    affordable = problem.options.initial.most_entries // 4
    while levels[-1].graph.n > target or levels[-1].graph.size > affordable:
        finer = levels[-1]
        backend = finer.backend
        salt = (seed + len(levels)) & 0x7FFFFFFF
        with Stopwatch(backend, "coarsen", depth + len(levels)) as watch:
            coarse, coarse_of = coarsening(
                backend, finer.graph, options, problem.limit, salt, parts
            )
        if coarse.n > options.least_shrink * finer.graph.n or coarse.n < target // 8:
            break
        suited = backend.for_size(coarse.size)
        if parts is not None:
            parts = inject_parts(backend, coarse.n, coarse_of, parts)
            parts = carry(parts, backend, suited)
        coarse = carry_graph(coarse, backend, suited)
        levels.append(_Coarse(suited, coarse, coarse_of, watch))
        progress("coarsen", finest.graph.n - coarse.n, finest.graph.n - target)
    return levels, parts


def _uncoarsen(
    hierarchy: list[_Coarse],
    steps: Sequence[Problem],
    parts: Array,
    known: Measures | None,
    progress: Progress,
) -> tuple[Refined, list[Level]]:
    """Refine on every level from the coarsest up, with V-cycles where the options want them.

    `parts` are the coarsest level's in the first step, `known` their measures if the caller has
    them. Empties `hierarchy` on the way. Returns the finest result and the levels.
    """
    levels: list[Level] = []
    work, done = sum(level.graph.n for level in hierarchy), 0
    problem, *later = steps
    weight = hierarchy[0].graph.edge_weight // 2
    while hierarchy:
        level = hierarchy.pop()
        depth = len(hierarchy)
        with Stopwatch(level.backend, "refine", depth) as watch:
            refined = level.refinement(problem).refine(parts, finest=depth == 0, known=known)
            while later and (
                depth == 0 or _is_time(level, later[0], refined, problem.metric.farthest * weight)
            ):
                parts = _extend(level, refined, later)
                problem, *later = later
                refined = level.refinement(problem).refine(parts, finest=depth == 0)
            for cycle in range(_cycles(level, hierarchy, problem.options)):
                refined = _cycle(level, problem, refined, cycle, depth)
            if depth == 0:
                refined = finish(level.refinement(problem), refined)
            known = refined.measures
            parts = _project(level, refined.parts, hierarchy)
        levels.insert(0, _report(depth, level, refined, watch, problem))
        done += level.graph.n
        progress("refine", done, work)
    return refined, levels


def _is_time(level: _Coarse, step: Problem, refined: Refined, full: int) -> bool:
    """Whether a level is fine enough for a step; `full` is the cut if that were all edges.

    Where much is cut, coarse levels say little about fine ones, and large parts have to be right
    before they are cut into small ones.
    """
    share = step.options.cut_share
    return (
        share is not None
        and level.graph.n >= coarsest_size(step.k, step.options.coarsen.per_part)
        and refined.measures.cut <= share * full
    )


def _extend(level: _Coarse, refined: Refined, steps: Sequence[Problem]) -> Array:
    """Cut the parts of a level into those of the next of the steps that are left.

    All parts at once, as one graph without the edges between them, in which every vertex keeps to
    the new parts of its own old one. Source: hierarchical multisection, Samoldekin, Schulz, Woydt,
    "GPU-Accelerated Algorithms for Process Mapping" (2025), section 4.1, where each part is a
    problem of its own.
    """
    backend = level.backend
    inside = within_blocks(backend, level.graph, refined.parts)
    problem = within(steps[0], steps[-1], refined.measures.part_weights, len(steps))
    return _solve(backend, inside, [problem], refined.parts, no_progress).refined.parts


def _cycles(level: _Coarse, finer: list[_Coarse], options: Options) -> int:
    """Return the number of V-cycles on a level, given the finer levels."""
    limit = options.cycle_limit
    if limit is None:
        is_cycled = len(finer) % options.cycle_step == 0
    else:
        is_cycled = level.graph.size <= limit and not (finer and finer[-1].graph.size <= limit)
    return options.cycles if is_cycled else 0


def _cycle(finest: _Coarse, problem: Problem, start: Refined, cycle: int, depth: int) -> Refined:
    """Run a V-cycle on level `depth`: coarsen within the parts, refine them on every level.

    Never worse than `start`: contraction within parts keeps the cut and all part weights, and
    refinement keeps the best. Source: Walshaw, "Multilevel refinement for combinatorial
    optimisation problems", Annals of Operations Research 131 (2004), iterated multilevel.
    """
    hierarchy, parts = _coarsen(finest, [problem], start.parts, no_progress, depth, cycle + 1)
    known, iterations = start.measures, start.iterations
    while hierarchy:
        level = hierarchy.pop()
        current = depth + len(hierarchy)
        with Stopwatch(level.backend, "refine", current):
            refined = level.refinement(problem).refine(parts, finest=current == 0, known=known)
        known = refined.measures
        iterations += refined.iterations
        parts = _project(level, refined.parts, hierarchy)
    return replace(refined, cut_before=start.cut_before, iterations=iterations)


def _project(level: _Coarse, parts: Array, finer: list[_Coarse]) -> Array:
    """Return a level's parts as those of the next finer level, the last of a list, if any."""
    if not finer:
        return parts
    backend = finer[-1].backend
    return project_parts(backend, level.coarse_of, carry(parts, level.backend, backend))


def _report(
    depth: int, coarse: _Coarse, refined: Refined, watch: Stopwatch, problem: Problem
) -> Level:
    return Level(
        level=depth,
        n=coarse.graph.n,
        m=coarse.graph.nnz // 2,
        cut_before=refined.cut_before,
        cut_after=refined.measures.cut,
        imbalance=refined.measures.heaviest * problem.unit / problem.ideal - 1,
        iterations=refined.iterations,
        coarsen_seconds=coarse.watch.seconds,
        refine_seconds=watch.seconds,
        coarsen_launches=coarse.watch.launches,
        refine_launches=watch.launches,
    )
