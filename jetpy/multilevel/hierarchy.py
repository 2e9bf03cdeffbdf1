"""The levels of a graph: built by coarsening, and how parts get from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from jetpy.coarsening.methods import COARSENINGS
from jetpy.device.device_graph import DeviceGraph, carry, carry_graph
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.multilevel.index_width import narrow_graph
from jetpy.multilevel.projection import inject_parts, label, project_parts
from jetpy.problem.options import CoarsenOptions
from jetpy.problem.problem import Problem, loosened
from jetpy.progress import Progress
from jetpy.refinement.finish import finish
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.measures import Measures

SMALL = 20_000
"""Vertices of the largest levels that share a refinement: making one takes longer than using it."""


@dataclass(eq=False)
class LastRefinement:
    """The refinement that was used last, of one large level or of all small ones.

    Attributes
    ----------
    room : int
        Vertices of the largest small level; 0 if the refinement is of a large one.
    """

    room: int = 0
    _problem: Problem | None = None
    _refinement: Refinement | None = None

    def at(self, level: HierarchyLevel, problem: Problem) -> Refinement:
        """Return the refinement, moved to a level, or a new one where that is not possible.

        `problem` is that of all levels.
        """
        last = self._refinement
        if (
            last is None
            or self._problem is not problem
            or last.backend is not level.backend
            or last.state.room < level.graph.n
        ):
            own = level.own_problem(problem)
            last = level.refinement_type(level.backend, level.graph, own, level.pinned, self.room)
        elif last.state.graph is not level.graph:
            last.move(level.graph, level.own_problem(problem), level.pinned)
        self._problem, self._refinement = problem, last
        return last


@dataclass(frozen=True, eq=False)
class HierarchyLevel:
    """A level of a hierarchy, on the back end that suits its size.

    `coarse_of` maps the next finer level's vertices to this one's (None on the finest level) and
    is on that one's back end. `watch` is that of its coarsening. `blocks` (int32, shape (n,), or
    None for a single one) are never left: only vertices of the same one become one. `pinned`
    (int32, shape (n,), or None) are the parts of vertices that never move, -1 of others.
    """

    backend: Backend
    graph: DeviceGraph
    coarse_of: Array | None
    watch: Stopwatch
    blocks: Array | None = None
    pinned: Array | None = None
    last: LastRefinement = field(default_factory=LastRefinement)
    small: LastRefinement = field(default_factory=LastRefinement)
    refinement_type: ClassVar[type[Refinement]] = Refinement

    def __post_init__(self) -> None:
        if self.is_small:
            self.small.room = max(self.small.room, self.graph.n)

    @property
    def is_small(self) -> bool:
        """Whether it shares its refinement with other levels."""
        return (
            self.backend.prefers_lists
            and self.graph.n <= SMALL
            and self.graph.long_rows.count == 0
            and self.refinement_type is Refinement
        )

    def own_problem(self, problem: Problem) -> Problem:
        """Return the problem of all levels as that of this one: coarse ones have looser limits."""
        return problem if self.coarse_of is None else loosened(problem, self.graph.global_n)

    def refinement(self, problem: Problem) -> Refinement:
        """Return what refines the level: the same as the last time, if the problem is.

        Small levels share one refinement: to ask for that of another level moves it there.
        """
        return (self.small if self.is_small else self.last).at(self, problem)

    @property
    def labels(self) -> Array | None:
        """Only vertices of equal labels become one: those of a block, or pinned to the same part.

        Labels are int32, shape (n,); None where all are equal.
        """
        if self.pinned is None:
            return self.blocks
        return label(self.backend, self.pinned, self.blocks)

    def refine(
        self, problem: Problem, parts: Array, depth: int, known: Measures | None = None
    ) -> Refined:
        """Refine parts (int32, shape (n,)) of the level, whose number is `depth`.

        `known` are their measures, where the caller has them.
        """
        flows = problem.options.refine.has_flows(depth)
        return self.refinement(problem).refine(parts, finest=depth == 0, known=known, flows=flows)

    def finish(self, problem: Problem, refined: Refined) -> Refined:
        """Do what is left when the finest level has been refined (`jetpy.refinement.finish`)."""
        return finish(self.refinement(problem), refined)

    def contract(self, options: CoarsenOptions, limit: int, salt: int) -> tuple[DeviceGraph, Array]:
        """Return the next coarser graph, and the coarse vertex of each (int32, shape (n,)).

        Its vertices weigh at most `limit`; `salt` chooses among equals.
        """
        coarsening = COARSENINGS[options.method]
        return coarsening(self.backend, self.graph, options, limit, salt, self.labels)

    def alone(self) -> HierarchyLevel:
        """Return the level as one that a process has for itself, with its whole graph."""
        return self

    def taken(self, parts: Array) -> Array:
        """Return parts that this process has as those of the level."""
        return parts

    def narrowed(self, problem: Problem) -> HierarchyLevel:
        """Return the level as the finest one of a graph that 32 bits hold (`narrow_graph`)."""
        graph = narrow_graph(self.backend, self.graph, problem)
        return finest_level(self.backend.narrowed(), graph, self.blocks, self.pinned)

    def next_level(self, coarse: DeviceGraph, coarse_of: Array, watch: Stopwatch) -> HierarchyLevel:
        """Return the level of the next coarser graph, on the back end that suits it."""
        suited = self.backend.for_size(coarse.size)
        graph = carry_graph(coarse, self.backend, suited)
        level = HierarchyLevel(suited, graph, coarse_of, watch, small=self.small)
        if self.blocks is not None:
            level = replace(level, blocks=inject(self, level, self.blocks))
        if self.pinned is not None:
            level = replace(level, pinned=inject(self, level, self.pinned))
        return level


def finest_level(
    backend: Backend,
    graph: DeviceGraph,
    blocks: Array | None = None,
    pinned: Array | None = None,
) -> HierarchyLevel:
    """Return a graph as the first level of a hierarchy; the rest as `HierarchyLevel` has it."""
    return HierarchyLevel(backend, graph, None, Stopwatch(backend, "coarsen", 0), blocks, pinned)


def coarsest_size(k: int, per_part: int | None = None) -> int:
    """Return the number of vertices at which coarsening ends, `per_part` for each part if given.

    Jet's own code goes down to 8 k, from k = 128 on to max(1024, 2 k). Stopping earlier pays:
    bisecting 32 vertices a part costs milliseconds and gives smaller cuts in the end. Dense
    graphs are coarsened down to an eighth of that, until four tries are affordable.
    """
    if per_part is not None:
        return per_part * k
    return max(512, min(32 * k, max(2048, 16 * k)))


def coarsen(
    finest: HierarchyLevel,
    steps: Sequence[Problem],
    progress: Progress,
    depth: int = 0,
    variant: int = 0,
    until: Callable[[DeviceGraph], bool] | None = None,
) -> list[HierarchyLevel]:
    """Return the hierarchy of a level, that one first.

    `depth` is the number of the level that `finest` is; each `variant` makes other choices. The
    hierarchy ends early with the first level that `until` is true of.
    """
    problem = steps[-1]
    seed = problem.seed + 7919 * variant
    options = problem.options.coarsen
    target = coarsest_size(steps[0].k, options.per_part)
    levels = [finest]
    affordable = problem.options.initial.max_entries // 4
    while levels[-1].graph.global_n > target or levels[-1].graph.global_size > affordable:
        finer = levels[-1]
        if until is not None and until(finer.graph):
            break
        salt = (seed + len(levels)) & 0x7FFFFFFF
        with Stopwatch(finer.backend, "coarsen", depth + len(levels)) as watch:
            coarse, coarse_of = finer.contract(options, problem.limit, salt)
        n = coarse.global_n
        if n > options.min_shrink * finer.graph.global_n or n < target // 8:
            break
        levels.append(finer.next_level(coarse, coarse_of, watch))
        progress("coarsen", finest.graph.global_n - n, finest.graph.global_n - target)
    if until is None:
        levels[-1] = levels[-1].alone()
    return levels


def inject(finer: HierarchyLevel, level: HierarchyLevel, parts: Array) -> Array:
    """Return the finer level's parts as a level's: vertices that became one share theirs."""
    coarse_parts = inject_parts(finer.backend, level.graph.n, level.coarse_of, parts)
    return carry(coarse_parts, finer.backend, level.backend)


def project(level: HierarchyLevel, parts: Array, finer: Sequence[HierarchyLevel]) -> Array:
    """Return a level's parts as those of the next finer level, the last of a list, if any."""
    if not finer:
        return parts
    backend = finer[-1].backend
    return project_parts(backend, level.coarse_of, carry(parts, level.backend, backend))
