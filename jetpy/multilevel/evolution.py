"""Evolutionary search: partitions are added to a population and recombined.

Source: Sanders, Schulz, "Distributed evolutionary graph partitioning" (KaFFPaE), ALENEX 2012. In
contrast to the paper, the population grows during the whole run, instead of up to a size that
depends on the time limit. No decision depends on the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from math import isqrt
from random import Random

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import divide_weights, upload
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import Graph
from jetpy.multilevel.driver import improve_level, recombine, solve_level
from jetpy.multilevel.hierarchy import HierarchyLevel, finest_level
from jetpy.multilevel.outcome import Outcome, Solution
from jetpy.multilevel.overlay import difference
from jetpy.problem.options import Effort
from jetpy.problem.problem import SEEDS, Problem, in_units
from jetpy.progress import Progress, no_progress

SEED_STEP = 0x1E3779B9
"""Difference between seeds of successive generations; large, as users choose consecutive seeds."""
STEPS = 1000
"""Resolution of the progress of a run."""


class GenerationBudget:
    """Decides whether there is time for another generation, given the times of earlier ones.

    Parameters
    ----------
    effort : Effort
    agree : callable
        Returns whether all processes find that there is time, given whether this one does.
    """

    def __init__(self, effort: Effort, agree: Callable[[bool], bool] = bool) -> None:
        self.effort, self._agree = effort, agree
        self._start = self._last = time.perf_counter()
        self._took: dict[bool, float] = {}

    def allows(self, generation: int, new: bool) -> bool:
        """Return whether a generation, a `new` partition or not, may begin; the first may."""
        most, seconds = self.effort.generations, self.effort.time_limit
        if generation == 0:
            return True
        if most is not None and generation >= most:
            return False
        expected = self._took.get(new, max(self._took.values()))
        if seconds is None:
            return True
        return self._agree(time.perf_counter() - self._start + expected <= seconds)

    def end(self, new: bool) -> None:
        """Record the end of a generation."""
        before, self._last = self._last, time.perf_counter()
        self._took[new] = self._last - before

    def share(self, done: int) -> float:
        """Return the fraction of the run that is over after `done` generations."""
        most, seconds = self.effort.generations, self.effort.time_limit
        of_generations = 0.0 if most is None else done / most
        of_time = 0.0 if seconds is None else (self._last - self._start) / seconds
        return min(max(of_generations, of_time), 1.0)


def of_generation(problem: Problem, number: int) -> Problem:
    """Return the problem with the seed of a generation."""
    return replace(problem, seed=(problem.seed + SEED_STEP * number) % SEEDS)


def evolve(
    backend: Backend,
    graph: Graph,
    problem: Problem,
    effort: Effort,
    progress: Progress = no_progress,
    pinned: npt.NDArray[np.int32] | None = None,
    home: npt.NDArray[np.int32] | None = None,
    *,
    keep_records: bool = False,
) -> Outcome:
    """Return the best of a population of partitions, within the limits of `effort`.

    The first generation is a multilevel run. A generation depends on the seed, its index and
    earlier generations; the clock only ends the run. `pinned` (int32, shape (n,)) are the parts in
    which vertices must be, -1 for free vertices. `home` (int32, shape (n,)) are the previous parts,
    -1 for none: the first generation is recombined with their refinement. With `keep_records`, the
    outcome also has the partition of each generation that was better than all before.
    """
    backend = backend.for_size(graph.n + 2 * graph.m)
    pace = GenerationBudget(effort)
    with Stopwatch(backend, "coarsen"):
        device, unit = divide_weights(backend, upload(backend, graph))
        kept = None if pinned is None else backend.from_host(pinned)
    own = in_units(problem, unit, graph.n)
    records: list[npt.NDArray[np.int32]] = []

    def record(found: Solution) -> None:
        records.append(backend.to_host(found.refined.parts))

    listen = record if keep_records else ignore
    finest = finest_level(backend, device, None, kept)
    best, generations = evolve_level(finest, own, pace, progress, home, listen)
    with Stopwatch(backend, "refine"):
        parts, cut = backend.to_host(best.refined.parts), best.refined.measures.cut
    return Outcome(parts, cut, cut, best.levels, generations, records=records)


def ignore(_: Solution) -> None:
    """Do nothing with a new best partition."""


def evolve_level(
    whole: HierarchyLevel,
    problem: Problem,
    pace: GenerationBudget,
    progress: Progress = no_progress,
    home: npt.NDArray[np.int32] | None = None,
    record: Callable[[Solution], None] = ignore,
) -> tuple[Solution, int]:
    """Run `evolve` on the graph of a level, in the form that `solve_level` takes.

    `home` are the previous parts of the vertices that this process owns. `record` is called with
    the partition of each generation that is better than all before.

    Returns
    -------
    Solution
        The best partition.
    int
        Number of generations.
    """
    backend = whole.backend
    population: list[Solution] = []
    lowest: tuple[int, int] | None = None
    for generation in count():
        new = is_new(generation)
        if not pace.allows(generation, new):
            break
        own = of_generation(problem, generation)
        if new:
            within = progress if generation == 0 else no_progress
            child = solve_level(whole.as_finest(), [own], within)
            if generation == 0 and home is not None:
                found = backend.to_host(child.refined.parts[: len(home)])
                start = backend.from_host(np.where(home < 0, found, home))
                before = improve_level(whole.as_finest(), start, own, within)
                child = recombine(whole, own, *by_quality(child, before, own))
            population.append(child)
        else:
            child = recombine(whole, own, *choose_parents(population, own))
            with Stopwatch(backend, "refine"):
                replace_similar(whole, problem, population, child)
        quality = child.refined.measures.quality(problem)
        if lowest is None or quality < lowest:
            lowest = quality
            record(child)
        pace.end(new)
        if pace.effort.generations != 1:
            progress("evolve", round(STEPS * pace.share(generation + 1)), STEPS)
    best = min(population, key=lambda member: member.refined.measures.quality_and_evenness(problem))
    return best, generation


def is_new(generation: int) -> bool:
    """Return whether a generation (from 0) is a new partition: 0, 1, 4, 9 and all other squares."""
    return isqrt(generation) ** 2 == generation


def choose_parents(population: Sequence[Solution], problem: Problem) -> tuple[Solution, Solution]:
    """Return two members, the better one first; each wins a tournament of two random members."""
    random = Random(problem.seed)  # Python guarantees the sequence of random() alone

    def quality(member: Solution) -> tuple[int, int]:
        return member.refined.measures.quality(problem)

    def win(members: Sequence[Solution]) -> Solution:
        return min((members[int(random.random() * len(members))] for _ in range(2)), key=quality)

    first = win(population)
    return by_quality(first, win([member for member in population if member is not first]), problem)


def by_quality(one: Solution, two: Solution, problem: Problem) -> tuple[Solution, Solution]:
    """Return two members, the better one first; `one` first if they are equally good."""
    qualities = [member.refined.measures.quality(problem) for member in (one, two)]
    return (one, two) if qualities[0] <= qualities[1] else (two, one)


def replace_similar(
    whole: HierarchyLevel, problem: Problem, population: list[Solution], child: Solution
) -> None:
    """Replace the member most similar to a child, among the members that are not better.

    There is one, because a child is not worse than its parents. Source: Sanders, Schulz (2012).
    """
    quality = child.refined.measures.quality(problem)
    members = enumerate(population)
    places = [i for i, member in members if member.refined.measures.quality(problem) >= quality]
    new = whole.with_ghosts(child.refined.parts)
    olds = (whole.with_ghosts(population[i].refined.parts) for i in places)
    distances = [difference(whole.backend, whole.graph, old, new) for old in olds]
    population[places[distances.index(min(distances))]] = child
