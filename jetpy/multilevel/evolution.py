"""A population of partitions: new ones join it, others are recombined, the best is kept.

Source: Sanders, Schulz, "Distributed evolutionary graph partitioning" (KaFFPaE), ALENEX 2012. What
is different: the population grows for as long as the run goes on, rather than to a size that the
time left for it allows, so that no decision depends on the clock.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import isqrt
from random import Random

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, divide_weights, upload
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import Graph
from jetpy.multilevel.driver import improve, recombine, solve
from jetpy.multilevel.outcome import Outcome, Solution, all_seconds, stage_seconds
from jetpy.multilevel.overlay import difference
from jetpy.problem.options import Effort
from jetpy.problem.problem import SEEDS, Problem, in_units
from jetpy.progress import Progress, no_progress

SEED_STEP = 0x1E3779B9
"""Between the seeds of successive generations; large, as users choose seeds that are one apart."""
STEPS = 1000
"""How finely the progress of a run is told."""


class GenerationBudget:
    """Tells whether there is time for another generation, from how long the last ones took."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self._start = self._last = time.perf_counter()
        self._took: dict[bool, float] = {}

    def allows(self, generation: int, new: bool) -> bool:
        """Whether a generation, which is a new partition or not, may begin; the first one may."""
        most, seconds = self.effort.generations, self.effort.time_limit
        if generation == 0:
            return True
        if most is not None and generation >= most:
            return False
        expected = self._took.get(new, max(self._took.values()))
        return seconds is None or time.perf_counter() - self._start + expected <= seconds

    def end(self, new: bool) -> None:
        """Hear that a generation is over."""
        before, self._last = self._last, time.perf_counter()
        self._took[new] = self._last - before

    def share(self, done: int) -> float:
        """Return the share of the run that is over after so many generations."""
        most, seconds = self.effort.generations, self.effort.time_limit
        of_generations = 0.0 if most is None else done / most
        of_time = 0.0 if seconds is None else (self._last - self._start) / seconds
        return min(max(of_generations, of_time), 1.0)


def evolve(
    backend: Backend,
    graph: Graph,
    problem: Problem,
    effort: Effort,
    progress: Progress = no_progress,
    pinned: npt.NDArray[np.int32] | None = None,
    home: npt.NDArray[np.int32] | None = None,
) -> Outcome:
    """Return the best of a population of partitions, after as many generations as effort allows.

    The first generation is a multilevel run. What a generation does depends on the seed, on its
    number, and on those before it; the clock only ends the run. `pinned` (int32, shape (n,)) are
    the parts of vertices that are to be there, -1 of others; `home` (likewise) are the parts so
    far: the first generation is recombined with what refinement makes of them.
    """
    pace = GenerationBudget(effort)
    with Stopwatch(backend, "coarsen") as transfer:
        device, unit = divide_weights(backend, upload(backend, graph))
        kept = None if pinned is None else backend.from_host(pinned)
    own = in_units(problem, unit)
    best, generations = evolve_uploaded(backend, device, own, pace, progress, kept, home)
    with Stopwatch(backend, "refine") as fetching:
        parts, cut = backend.to_host(best.refined.parts), best.refined.measures.cut
    spent = [best.seconds, stage_seconds(coarsen=transfer.seconds, refine=fetching.seconds)]
    return Outcome(parts, cut, cut, best.levels, all_seconds(spent), generations)


def evolve_uploaded(
    backend: Backend,
    graph: DeviceGraph,
    problem: Problem,
    pace: GenerationBudget,
    progress: Progress = no_progress,
    pinned: Array | None = None,
    home: npt.NDArray[np.int32] | None = None,
) -> tuple[Solution, int]:
    """Do what `evolve` does with a graph that is on the back end, as `solve` takes it.

    Returns
    -------
    Solution
        The best partition, with the seconds of all generations.
    int
        Number of generations.
    """
    spent: list[Mapping[str, float]] = []
    population: list[Solution] = []
    for generation in count():
        new = is_new(generation)
        if not pace.allows(generation, new):
            break
        own = replace(problem, seed=(problem.seed + SEED_STEP * generation) % SEEDS)
        if new:
            within = progress if generation == 0 else no_progress
            child = solve(backend, graph, [own], None, within, pinned)
            if generation == 0 and home is not None:
                start = np.where(home < 0, backend.to_host(child.refined.parts), home)
                before = improve(backend, graph, backend.from_host(start), own, within, pinned)
                spent += [child.seconds, before.seconds]
                child = recombine(backend, graph, own, *by_quality(child, before, own), pinned)
            population.append(child)
        else:
            child = recombine(backend, graph, own, *choose_parents(population, own), pinned)
            with Stopwatch(backend, "refine") as replacing:
                replace_similar(backend, graph, problem, population, child)
            spent.append(stage_seconds(refine=replacing.seconds))
        spent.append(child.seconds)
        pace.end(new)
        if pace.effort.generations != 1:
            progress("evolve", round(STEPS * pace.share(generation + 1)), STEPS)
    best = min(population, key=lambda member: member.refined.measures.quality(problem))
    return replace(best, seconds=all_seconds(spent)), generation


def is_new(generation: int) -> bool:
    """Whether a generation, from 0 on, is a new partition: if it is a square, as 0, 1, 4 and 9."""
    return isqrt(generation) ** 2 == generation


def choose_parents(population: Sequence[Solution], problem: Problem) -> tuple[Solution, Solution]:
    """Return two members, the better one first: each the better of two that the seed chooses."""
    random = Random(problem.seed)  # of it, Python promises that random() remains as it is

    def quality(member: Solution) -> tuple[int, int]:
        return member.refined.measures.quality(problem)

    def win(members: Sequence[Solution]) -> Solution:
        return min((members[int(random.random() * len(members))] for _ in range(2)), key=quality)

    first = win(population)
    return by_quality(first, win([member for member in population if member is not first]), problem)


def by_quality(one: Solution, two: Solution, problem: Problem) -> tuple[Solution, Solution]:
    """Return two members, the better one first; the first one if they are as good."""
    qualities = [member.refined.measures.quality(problem) for member in (one, two)]
    return (one, two) if qualities[0] <= qualities[1] else (two, one)


def replace_similar(
    backend: Backend,
    graph: DeviceGraph,
    problem: Problem,
    population: list[Solution],
    child: Solution,
) -> None:
    """Replace a member by a child of two others: of those that are not better, the most similar.

    There is one, as a child is not worse than its parents. Source: as above.
    """
    quality = child.refined.measures.quality(problem)
    members = enumerate(population)
    places = [i for i, member in members if member.refined.measures.quality(problem) >= quality]
    distances = [
        difference(backend, graph, population[i].refined.parts, child.refined.parts) for i in places
    ]
    population[places[distances.index(min(distances))]] = child
