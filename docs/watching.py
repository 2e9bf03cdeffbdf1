"""Record each iteration of refinement, for docs.figures: its task, cut, part weights and moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

import jetpy
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.problem.options import Options, RefineOptions
from jetpy.problem.problem import make_problem
from jetpy.refinement.jet import Refinement
from jetpy.workloads.common.control_block import Control, Counter, Task
from jetpy.workloads.common.groups import NO_PRIORITY

IMBALANCE = 0.03
LONG_WAY = {"small.max_vertices": 0, "initial.task_size": 0}
"""Options without tasks, which partition small graphs and coarse levels without iterations."""

Parts = np.ndarray[tuple[int, ...], np.dtype[np.int32]]


@dataclass(frozen=True, eq=False)
class Iteration:
    """One iteration of refinement on one level.

    Attributes
    ----------
    level : int
        Index of the refinement of a level, in order of time.
    n : int
        Number of vertices of the level.
    task : int
        Kind of the iteration (`Task`).
    cut, heaviest : int
        Cut, and weight of the heaviest part, after the iteration.
    limit : int
        Maximum part weight.
    before, after : int32, shape (n,)
        Part of each vertex, before and after the iteration.
    wanted : int32, shape (n,)
        For Jetlp: the parts if all vertices that passed the first filter had moved.
    """

    level: int
    n: int
    task: int
    cut: int
    heaviest: int
    limit: int
    before: Parts
    after: Parts
    wanted: Parts


class Watched(Refinement):
    """Refinement that runs one iteration per launch and records it in `seen`."""

    seen: list[Iteration]
    started = 0

    def start(self, *arguments: Any, **more: Any) -> Any:
        """Count this refinement and start it."""
        Watched.started += 1
        return super().start(*arguments, **more)

    def enqueue_iterations(self) -> None:
        """Launch one iteration."""
        state = self.state
        self.parts_before = state.partition.parts[: state.graph.n].copy()
        self.begin()
        self.refiner.launch()
        wants = state.vertices.priorities[: state.graph.n] != NO_PRIORITY
        self.parts_wanted = np.where(
            wants, state.vertices.targets[: state.graph.n], self.parts_before
        )
        self.rebalancing.launch()
        state.launch_update()

    def wait_and_serve(self) -> bool:
        """Wait for the iteration, serve its requests, and record it."""
        goes_on = super().wait_and_serve()
        now = self.state.iteration
        if now.control[Control.TASK] != Task.NOTHING and not now.counters[Counter.TOO_FEW]:
            self.keep()
        return goes_on

    def keep(self) -> None:
        """Append the finished iteration to `seen`."""
        state, graph = self.state, self.state.graph
        parts = state.partition.parts[: graph.n].copy()
        rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
        is_cut = parts[rows] != parts[graph.indices]
        self.seen.append(
            Iteration(
                level=Watched.started,
                n=graph.n,
                task=int(state.iteration.control[Control.TASK]),
                cut=int(graph.edge_weights[is_cut].sum()) // 2,
                heaviest=int(np.bincount(parts, graph.vertex_weights, self.problem.k).max()),
                limit=self.problem.limit,
                before=self.parts_before,
                after=parts,
                wanted=self.parts_wanted,
            )
        )


@contextmanager
def watching() -> Iterator[list[Iteration]]:
    """Yield a list to which every run in this context appends its iterations."""
    Watched.seen = []
    with mock.patch.object(HierarchyLevel, "refinement_type", Watched):
        yield Watched.seen


def backend() -> Any:
    """Return the back end `cpu` with one thread; more threads find the same parts."""
    return get_backend("cpu", 1)


@cache
def mesh(n: int) -> jetpy.Graph:
    """Return a Delaunay triangulation of `n` random points."""
    return jetpy.generators.delaunay(n)


def watched_run(graph: jetpy.Graph, k: int) -> tuple[jetpy.Partition, list[Iteration]]:
    """Partition a graph by levels of refinement, and return the partition and its iterations.

    The parts are checked against a run that records nothing. No graph is small (`SmallOptions`),
    because small graphs are not refined by iterations.
    """
    with watching() as seen:
        result = jetpy.partition(graph, k, options=LONG_WAY, backend="cpu", threads=1)
    usual = jetpy.partition(graph, k, options=LONG_WAY, backend="cpu")
    assert np.array_equal(result.parts, usual.parts)
    return result, seen


def refine_once(graph: jetpy.Graph, parts: Parts, k: int, refine: RefineOptions) -> Iteration:
    """Refine `parts` for one iteration and return this iteration."""
    options = Options(refine=refine)
    problem = make_problem(graph.total_vertex_weight, k, IMBALANCE, 0, options)
    with watching() as seen:
        refinement = Watched(backend(), upload(backend(), graph), problem)
        refinement.start(parts, refine.finest_ratios[0], refine.tolerance, None)
        while not seen:
            refinement.enqueue_iterations()
            refinement.wait_and_serve()
    return seen[0]
