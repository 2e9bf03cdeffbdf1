"""Watches refinement at work, for docs.figures: what each iteration has done, and to whom."""

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

Parts = np.ndarray[tuple[int, ...], np.dtype[np.int32]]


@dataclass(frozen=True, eq=False)
class Iteration:
    """An iteration of refinement, as it left its level.

    Attributes
    ----------
    level : int
        Number of the refinement of a level, in order of time.
    n : int
        Vertices of the level.
    task : int
        What the iteration did (`Task`).
    cut, heaviest : int
        Cut and weight of the heaviest part afterwards.
    limit : int
        What a part may weigh on the level.
    before, after : int32, shape (n,)
        The parts.
    wanted : int32, shape (n,)
        Of Jetlp: the parts if all vertices had moved that have passed the first filter.
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
    """Refinement that makes one iteration at a time and keeps what each has done."""

    seen: list[Iteration]
    started = 0

    def start(self, *arguments: Any, **more: Any) -> Any:
        """Begin as usual, with a number of its own."""
        Watched.started += 1
        return super().start(*arguments, **more)

    def enqueue_iterations(self) -> None:
        """Make one iteration."""
        state = self.state
        self.parts_before = state.parts[: state.graph.n].copy()
        self.begin()
        self.improvement.launch()
        wants = state.priorities[: state.graph.n] != NO_PRIORITY
        self.parts_wanted = np.where(wants, state.targets[: state.graph.n], self.parts_before)
        self.rebalancing.launch()
        state.launch_update()

    def wait_and_serve(self) -> bool:
        """Do what the iteration has asked the host for, and keep what became of it."""
        goes_on = super().wait_and_serve()
        state = self.state
        if state.control[Control.TASK] != Task.NOTHING and not state.counters[Counter.TOO_FEW]:
            self.keep()
        return goes_on

    def keep(self) -> None:
        """Keep the iteration that is over."""
        state, graph = self.state, self.state.graph
        parts = state.parts[: graph.n].copy()
        rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
        is_cut = parts[rows] != parts[graph.indices]
        self.seen.append(
            Iteration(
                level=Watched.started,
                n=graph.n,
                task=int(state.control[Control.TASK]),
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
    """Yield a list that gets every iteration of the runs inside."""
    Watched.seen = []
    with mock.patch.object(HierarchyLevel, "refinement_type", Watched):
        yield Watched.seen


def backend() -> Any:
    """Return the processor's back end, with one thread: the threads change nothing."""
    return get_backend("cpu", 1)


@cache
def mesh(n: int) -> jetpy.Graph:
    """Return a triangulation of random points."""
    return jetpy.generators.delaunay(n)


def watched_run(graph: jetpy.Graph, k: int) -> tuple[jetpy.Partition, list[Iteration]]:
    """Partition a graph, and return what its iterations did; they are those of any other run."""
    with watching() as seen:
        result = jetpy.partition(graph, k, backend="cpu", threads=1)
    usual = jetpy.partition(graph, k, backend="cpu")
    assert np.array_equal(result.parts, usual.parts)
    return result, seen


def refine_once(graph: jetpy.Graph, parts: Parts, k: int, refine: RefineOptions) -> Iteration:
    """Return the first iteration of refinement from given parts on."""
    options = Options(refine=refine)
    problem = make_problem(graph.total_vertex_weight, k, IMBALANCE, 0, options)
    with watching() as seen:
        refinement = Watched(backend(), upload(backend(), graph), problem)
        refinement.start(parts, refine.finest_ratios[0], None)
        while not seen:
            refinement.enqueue_iterations()
            refinement.wait_and_serve()
    return seen[0]
