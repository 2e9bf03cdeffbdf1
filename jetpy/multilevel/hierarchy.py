"""The levels of a hierarchy: coarsening, injection and projection of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, log2
from typing import ClassVar

from jetpy.coarsening.constraints import WeightBounds
from jetpy.coarsening.hubs import count_hubs
from jetpy.coarsening.methods import coarsening_of, is_dense
from jetpy.device.device_graph import DeviceGraph, carry, carry_graph
from jetpy.device.processes import ALONE, Processes
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.initial.coarsest import are_for_tasks
from jetpy.initial.communities import find_communities, is_searchable
from jetpy.kernel_language import Width
from jetpy.multilevel.index_width import narrow_graph
from jetpy.multilevel.projection import inject_parts, label, project_parts
from jetpy.problem.options import CoarsenOptions
from jetpy.problem.problem import Problem, loosened
from jetpy.progress import Progress
from jetpy.refinement.finish import finish
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.measures import Measures

SMALL, SMALL_ON_GPU = 20_000, 1 << 20
"""Maximum number of vertices of levels that share a refinement, because creating one takes longer
than using it. On a GPU, the creation of a refinement waits for many allocations."""


@dataclass(eq=False)
class LastRefinement:
    """The most recent refinement of a large level, or of all small levels.

    Attributes
    ----------
    room : int
        Number of vertices of the largest small level of the back end; 0 for a large level.
    """

    room: int = 0
    _problem: Problem | None = None
    _refinement: Refinement | None = None

    def at(self, level: HierarchyLevel, problem: Problem) -> Refinement:
        """Return the refinement moved to a level, or a new one if that is impossible.

        `problem` is the problem of all levels.
        """
        last = self._refinement
        if (
            last is None
            or self._problem is not problem
            or last.backend is not level.backend
            or last.state.room < level.graph.n
        ):
            own = level.own_problem(problem)
            last = level.refinement_type(
                level.backend, level.graph, own, level.pinned, self.room, level.processes
            )
        elif last.state.graph is not level.graph:
            last.move(level.graph, level.own_problem(problem), level.pinned)
        self._problem, self._refinement = problem, last
        return last

    def forget(self) -> None:
        """Free the memory of the refinement, which divides what larger levels need in one piece."""
        self._refinement = None


@dataclass(frozen=True, eq=False)
class HierarchyLevel:
    """A level of a hierarchy, on a back end chosen by its size.

    `coarse_of` maps the next finer level's vertices to those of this level (None on the finest
    level); it is on the finer level's back end. `watch` timed its coarsening. Only vertices of the
    same block are contracted; `blocks` is int32, shape (n,), or None for a single block. `pinned`
    (int32, shape (n,), or None) are the parts of vertices that never move, -1 for free vertices.
    `processes` all have the level as a whole. `communities` (int32 from 0 on, shape (n,), or None)
    restrict contraction, too, where there are neither blocks nor pinned vertices.
    """

    backend: Backend
    graph: DeviceGraph
    coarse_of: Array | None
    watch: Stopwatch
    blocks: Array | None = None
    pinned: Array | None = None
    processes: Processes = ALONE
    communities: Array | None = None
    last: LastRefinement = field(default_factory=LastRefinement)
    small: LastRefinement = field(default_factory=LastRefinement)
    refinement_type: ClassVar[type[Refinement]] = Refinement

    def __post_init__(self) -> None:
        if self.is_small:
            self.small.room = max(self.small.room, self.graph.n)

    @property
    def is_small(self) -> bool:
        """Whether the level shares its refinement with other levels."""
        if self.refinement_type is not Refinement:
            return False
        if self.backend.is_asynchronous:
            return self.graph.n <= SMALL_ON_GPU
        return self.graph.n <= SMALL and self.graph.long_rows.count == 0

    def as_finest(self, blocks: Array | None = None) -> HierarchyLevel:
        """Return the level as the finest of another hierarchy, within other blocks."""
        return replace(
            self, blocks=blocks, communities=None, last=LastRefinement(), small=LastRefinement()
        )

    def own_problem(self, problem: Problem) -> Problem:
        """Return the problem of this level; coarse levels have higher limits."""
        return problem if self.coarse_of is None else loosened(problem, self.graph.global_n)

    def refinement(self, problem: Problem) -> Refinement:
        """Return the refinement of the level; it is reused while the problem is the same.

        Small levels share one refinement, which this call moves to the level.
        """
        if self.is_small:
            return self.small.at(self, problem)
        self.small.forget()
        return self.last.at(self, problem)

    @property
    def labels(self) -> Array | None:
        """Labels of vertices; only vertices of equal label are contracted.

        They are equal for vertices of the same block and pinned part, or of the same community.
        Labels are int32, shape (n,); None if all are equal.
        """
        if self.pinned is not None:
            return label(self.backend, self.pinned, self.blocks)
        return self.communities if self.blocks is None else self.blocks

    def with_communities(self, seed: int) -> HierarchyLevel:
        """Return the level with the communities that restrict contraction, if there are any."""
        found = find_communities(self.backend, self.graph, seed)
        return self if found is None else replace(self, communities=found)

    def needs_communities(self, options: CoarsenOptions) -> bool:
        """Return whether communities are to be found on this level."""
        is_free = self.blocks is None and self.pinned is None and self.communities is None
        is_narrow = not self.backend.is_wide
        return is_free and is_narrow and is_searchable(self.graph, options.communities)

    def refine(
        self, problem: Problem, parts: Array, depth: int, known: Measures | None = None
    ) -> Refined:
        """Refine parts (int32, shape (n,)) on this level, which has depth `depth`.

        `known` are their measures, if available.
        """
        flows = problem.options.refine.has_flows(depth)
        return self.refinement(problem).refine(parts, finest=depth == 0, known=known, flows=flows)

    def with_ghosts(self, parts: Array) -> Array:
        """Return the parts of all vertices that this process has, given those it owns: all."""
        return parts

    def finish(self, problem: Problem, refined: Refined) -> Refined:
        """Finish after the refinement of the finest level (`jetpy.refinement.finish`)."""
        return finish(self.refinement(problem), refined)

    def given_out(self, whole: Refined) -> Refined:
        """Return `whole` with the parts of the vertices that this process owns: all."""
        return whole

    def contract(
        self, options: CoarsenOptions, bounds: WeightBounds, salt: int
    ) -> tuple[DeviceGraph, Array]:
        """Return the coarse graph, and the coarse vertex of each vertex (int32, shape (n,)).

        `salt` breaks ties.
        """
        coarsening = coarsening_of(self.graph, options)
        return coarsening(self.backend, self.graph, options, bounds, salt, self.labels)

    def is_for_tasks(self, problem: Problem) -> bool:
        """Return whether tasks partition this coarse level, so that there is no coarser one."""
        is_free = self.blocks is None and self.pinned is None
        return self.coarse_of is not None and is_free and are_for_tasks(self.graph, problem)

    def without_edges(self) -> HierarchyLevel:
        """Return the level for projection only, which frees the edges of its graph."""
        return replace(self, graph=self.graph.without_edges(self.backend))

    def alone(self) -> HierarchyLevel:
        """Return the level with the whole graph on this process."""
        return self

    def taken(self, parts: Array) -> Array:
        """Return the parts of all vertices, given those of this process."""
        return parts

    def with_narrow_kernels(self, problem: Problem) -> HierarchyLevel:
        """Return the level as the finest level of a 32-bit graph (`narrow_graph`)."""
        graph = narrow_graph(self.backend, self.graph, problem)
        own = self.blocks, self.pinned, self.processes
        return finest_level(self.backend.with_width(Width.NARROW), graph, *own)

    def next_level(self, coarse: DeviceGraph, coarse_of: Array, watch: Stopwatch) -> HierarchyLevel:
        """Return the level of the next coarser graph, on a back end chosen by its size."""
        suited = self.backend.for_size(coarse.size)
        graph = carry_graph(coarse, self.backend, suited)
        small = self.small if suited is self.backend else LastRefinement()
        level = HierarchyLevel(
            suited, graph, coarse_of, watch, processes=self.processes, small=small
        )
        if self.blocks is not None:
            level = replace(level, blocks=inject(self, level, self.blocks))
        if self.pinned is not None:
            level = replace(level, pinned=inject(self, level, self.pinned))
        if self.communities is not None:
            level = replace(level, communities=inject(self, level, self.communities))
        return level


def finest_level(
    backend: Backend,
    graph: DeviceGraph,
    blocks: Array | None = None,
    pinned: Array | None = None,
    processes: Processes = ALONE,
) -> HierarchyLevel:
    """Return a graph as the finest level of a hierarchy; see `HierarchyLevel`."""
    watch = Stopwatch(backend, "coarsen", 0)
    return HierarchyLevel(backend, graph, None, watch, blocks, pinned, processes)


def coarsest_size(options: CoarsenOptions, n: int, k: int) -> int:
    """Return the number of vertices at which coarsening of a graph of n vertices ends, for k parts.

    `CoarsenOptions` describes the rules. By the rule 'adaptive', dense graphs are coarsened further
    until four tries are affordable, but not below an eighth of this number.
    """
    if options.coarsest == "jet":
        return 8 * k if 8 * k <= 1024 else max(1024, 2 * k)
    if options.coarsest == "per-part":
        return options.per_part * k
    if options.coarsest == "finest-share":
        return max(k, int(n / (20 * log2(max(k, 2)))))
    return max(512, min(32 * k, max(2048, 16 * k)))


def coarsen(
    finest: HierarchyLevel,
    steps: Sequence[Problem],
    progress: Progress,
    depth: int = 0,
    variant: int = 0,
    until: Callable[[DeviceGraph], bool] | None = None,
    is_passed: Callable[[Sequence[HierarchyLevel]], bool] = lambda _: False,
) -> list[HierarchyLevel]:
    """Return the hierarchy of a level, finest level first.

    Coarsening ends at the number of vertices of `coarsest_size`, or at the first level that tasks
    partition. `depth` is the depth of `finest`; each `variant` breaks ties differently. The
    hierarchy ends early at the first level for which `until` returns true. Given some levels,
    `is_passed` returns whether the last of them needs no edges once there is a coarser one.

    If the first dense level has no hubs, as in meshes, no level is coarsened by groups.
    """
    problem = steps[-1]
    seed = problem.seed + 7919 * variant
    options = problem.options.coarsen
    target = coarsest_size(options, finest.graph.global_n, steps[0].k)
    # if some weights are 0, a limit may be less than a unit
    heaviest = max(1, problem.limit) if options.bounded else problem.total // problem.unit
    bounds = WeightBounds(heaviest, max(1, problem.average or 1))
    levels = [finest]
    entries = problem.options.initial.max_entries
    affordable = inf if entries is None else entries // 4
    are_sought = are_hubs_sought = True
    while levels[-1].graph.global_n > target or levels[-1].graph.global_size > affordable:
        finer = levels[-1]
        if finer.is_for_tasks(steps[0]):
            break
        if until is not None and until(finer.graph):
            break
        salt = (seed + len(levels)) & 0x7FFFFFFF
        with Stopwatch(finer.backend, "coarsen", depth + len(levels)) as watch:
            if are_sought and finer.needs_communities(options):
                are_sought = False
                levels[-1] = finer = finer.with_communities(salt)
            if are_hubs_sought and is_dense(finer.graph, options):
                are_hubs_sought = False
                if count_hubs(finer.backend, finer.graph) == 0:
                    options = replace(options, dense=None)
            coarse, coarse_of = finer.contract(options, bounds, salt)
        n = coarse.global_n
        most = min(options.min_shrink * finer.graph.global_n, finer.graph.global_n - 1)
        if n > most or n < target // 8:
            break
        next_level = finer.next_level(coarse, coarse_of, watch)
        if is_passed(levels):
            levels[-1] = finer.without_edges()
        levels.append(next_level)
        del finer, next_level, coarse
        progress("coarsen", finest.graph.global_n - n, finest.graph.global_n - target)
    if until is None:
        levels[-1] = levels[-1].alone()
    return levels


def inject(finer: HierarchyLevel, level: HierarchyLevel, parts: Array) -> Array:
    """Return parts of the finer level as parts of `level`; contracted vertices share a part."""
    coarse_parts = inject_parts(finer.backend, level.graph.n, level.coarse_of, parts)
    return carry(coarse_parts, finer.backend, level.backend)


def project(level: HierarchyLevel, parts: Array, finer: Sequence[HierarchyLevel]) -> Array:
    """Return parts of a level as parts of the next finer level, the last of `finer`, if any."""
    if not finer:
        return parts
    backend = finer[-1].backend
    return project_parts(backend, level.coarse_of, carry(parts, level.backend, backend))
