"""The multilevel driver: coarsen, partition the coarsest graph, project and refine.

The only module that knows the order of the stages (Jet, Algorithm 2.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph, carry, carry_graph, upload
from jetpy.coarsening.contraction import contract
from jetpy.coarsening.matching import match_vertices
from jetpy.graph import Graph
from jetpy.initial.coarsest import partition_coarsest
from jetpy.options import Options
from jetpy.partition import Level
from jetpy.problem import Problem
from jetpy.projection import inject_parts, project_parts
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.state import Measures

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total)."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Parts (int32, shape (n,)), their cut, the levels (finest first) and seconds by stage."""

    parts: npt.NDArray[np.int32]
    cut: int
    levels: Sequence[Level]
    seconds: Mapping[str, float]


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
    problem: Problem
    coarse_of: Array | None
    watch: Stopwatch

    @cached_property
    def refinement(self) -> Refinement:
        """What refines the level, every time."""
        return Refinement(self.backend, self.graph, self.problem)


def coarsest_size(k: int) -> int:
    """Return the number of vertices at which coarsening ends.

    Jet's own code goes down to 8 k, from k = 128 on to max(1024, 2 k). Stopping earlier pays:
    bisecting 32 vertices a part costs METIS milliseconds and gives smaller cuts in the end. Dense
    graphs are coarsened down to an eighth of that, until METIS can afford four tries.
    """
    return max(512, min(32 * k, max(2048, 16 * k)))


def partition_multilevel(
    backend: Backend, graph: Graph, problem: Problem, progress: Progress = no_progress
) -> Outcome:
    """Partition `graph` from scratch."""
    with Stopwatch(backend, "coarsen") as coarsen:
        finest = _finest(backend, graph, problem)
        hierarchy, _ = _coarsen(finest, None, problem.seed, progress)
    with Stopwatch(backend, "initial", len(hierarchy) - 1) as initial:
        start = partition_coarsest(hierarchy[-1].refinement)
    with Stopwatch(backend, "refine") as refine:
        refined, levels = _uncoarsen(hierarchy, start.parts, start.measures, problem, progress)
        result = backend.to_host(refined.parts)
    seconds = _seconds(coarsen.seconds, initial.seconds, refine.seconds)
    return Outcome(result, refined.measures.cut, levels, seconds)


def refine_partition(
    backend: Backend,
    graph: Graph,
    parts: npt.NDArray[np.int32],
    problem: Problem,
    progress: Progress = no_progress,
) -> Outcome:
    """Refine a given partition (int32, shape (n,)) on the graph itself."""
    with Stopwatch(backend, "refine") as watch:
        finest = _finest(backend, graph, problem)
        start = backend.from_host(parts.copy())
        refined, levels = _uncoarsen([finest], start, None, problem, progress)
        result = backend.to_host(refined.parts)
    return Outcome(result, refined.measures.cut, levels, _seconds(0.0, 0.0, watch.seconds))


def trivial_outcome(parts: npt.NDArray[np.int32], cut: int) -> Outcome:
    """Return the outcome of a problem that leaves nothing to decide."""
    return Outcome(parts, cut, [], _seconds(0.0, 0.0, 0.0))


def _seconds(coarsen: float, initial: float, refine: float) -> dict[str, float]:
    total = coarsen + initial + refine
    return {"coarsen": coarsen, "initial": initial, "refine": refine, "total": total}


def _finest(backend: Backend, graph: Graph, problem: Problem) -> _Coarse:
    device = upload(backend, graph)
    return _Coarse(backend, device, problem, None, Stopwatch(backend, "coarsen", 0))


def _coarsen(
    finest: _Coarse, parts: Array | None, seed: int, progress: Progress, depth: int = 0
) -> tuple[list[_Coarse], Array | None]:
    """Return the hierarchy, finest first, and the parts of the coarsest level.

    Pairs stay within `parts` where these are given. `depth` is the number of the level that
    `finest` is.
    """
    problem = finest.problem
    target = coarsest_size(problem.k)
    options = problem.options.coarsen
    levels = [finest]
    affordable = problem.options.initial.most_entries // 4
    while levels[-1].graph.n > target or levels[-1].graph.size > affordable:
        finer = levels[-1]
        backend = finer.backend
        salt = (seed + len(levels)) & 0x7FFFFFFF
        with Stopwatch(backend, "coarsen", depth + len(levels)) as watch:
            match = match_vertices(backend, finer.graph, options, problem.limit, salt, parts)
            coarse, coarse_of = contract(backend, finer.graph, match)
        if coarse.n > options.least_shrink * finer.graph.n or coarse.n < target // 8:
            break
        suited = backend.for_size(coarse.size)
        if parts is not None:
            parts = inject_parts(backend, coarse.n, coarse_of, parts)
            parts = carry(parts, backend, suited)
        coarse = carry_graph(coarse, backend, suited)
        levels.append(_Coarse(suited, coarse, problem, coarse_of, watch))
        progress("coarsen", finest.graph.n - coarse.n, finest.graph.n - target)
    return levels, parts


def _uncoarsen(
    hierarchy: list[_Coarse],
    parts: Array,
    known: Measures | None,
    problem: Problem,
    progress: Progress,
) -> tuple[Refined, list[Level]]:
    """Refine on every level from the coarsest up, with V-cycles where the options want them.

    `parts` are the coarsest level's, `known` their measures if the caller has them. Empties
    `hierarchy` on the way. Returns the finest result and the levels.
    """
    levels: list[Level] = []
    work, done = sum(level.graph.n for level in hierarchy), 0
    while hierarchy:
        level = hierarchy.pop()
        depth = len(hierarchy)
        with Stopwatch(level.backend, "refine", depth) as watch:
            refined = level.refinement.refine(parts, finest=depth == 0, known=known)
            for cycle in range(_cycles(level, hierarchy, problem.options)):
                refined = _cycle(level, refined, cycle, depth)
            known = refined.measures
            parts = _project(level, refined.parts, hierarchy)
        levels.insert(0, _report(depth, level, refined, watch, problem))
        done += level.graph.n
        progress("refine", done, work)
    return refined, levels


def _cycles(level: _Coarse, finer: list[_Coarse], options: Options) -> int:
    """Return the number of V-cycles on a level, given the finer levels."""
    limit = options.cycle_limit
    if limit is None:
        is_cycled = len(finer) % options.cycle_step == 0
    else:
        is_cycled = level.graph.size <= limit and not (finer and finer[-1].graph.size <= limit)
    return options.cycles if is_cycled else 0


def _cycle(finest: _Coarse, start: Refined, cycle: int, depth: int) -> Refined:
    """Run a V-cycle on level `depth`: coarsen within the parts, refine them on every level.

    Never worse than `start`: contraction within parts keeps the cut and all part weights, and
    refinement keeps the best. Source: Walshaw, "Multilevel refinement for combinatorial
    optimisation problems", Annals of Operations Research 131 (2004), iterated multilevel.
    """
    seed = finest.problem.seed + 7919 * (cycle + 1)
    hierarchy, parts = _coarsen(finest, start.parts, seed, no_progress, depth)
    known, iterations = start.measures, start.iterations
    while hierarchy:
        level = hierarchy.pop()
        current = depth + len(hierarchy)
        with Stopwatch(level.backend, "refine", current):
            refined = level.refinement.refine(parts, finest=current == 0, known=known)
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
        imbalance=refined.measures.heaviest / problem.ideal - 1,
        iterations=refined.iterations,
        coarsen_seconds=coarse.watch.seconds,
        refine_seconds=watch.seconds,
        coarsen_launches=coarse.watch.launches,
        refine_launches=watch.launches,
    )
