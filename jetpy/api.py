"""The functions that most people need: partition a graph, or refine a partition of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.backends import get_backend
from jetpy.backends.base import Backend
from jetpy.backends.profiler import Profiler
from jetpy.build import as_graph
from jetpy.graph import Graph
from jetpy.metrics import checked_parts
from jetpy.multilevel import (
    Outcome,
    Progress,
    no_progress,
    partition_multilevel,
    refine_partition,
    trivial_outcome,
)
from jetpy.partition import Partition
from jetpy.presets import preset as preset_options
from jetpy.problem import Problem, pose


def partition(
    graph: Any,
    k: int,
    *,
    imbalance: float = 0.03,
    seed: int = 0,
    preset: str = "default",
    backend: str = "auto",
    threads: int | None = None,
    repair: bool = False,
    progress: Progress = no_progress,
    profile: bool = False,
) -> Partition:
    """Partition a graph into `k` parts of nearly equal weight with few cut edges.

    The same input, seed and options give the same parts on every back end, with any number of
    threads, in every run. Source: Gilbert et al., "Jet", SISC 2024.

    Parameters
    ----------
    graph : Graph, SciPy sparse matrix, tuple of arrays, or networkx.Graph
        See `as_graph`; a tuple is (indptr, indices[, edge_weights[, vertex_weights]]).
    k : int
        Number of parts. With k >= n every vertex gets a part of its own and k - n are empty.
    imbalance : float
        Every part may weigh floor((1 + imbalance) * ceil(W / k)), W being the total vertex
        weight. Where vertices are so heavy that this cannot be met, the result is the most
        balanced partition found and its `feasible` is false.
    seed : int
        Chooses among equally good decisions, 0..2**31 - 1.
    preset : {'default', 'fast', 'ultra'}
        How much time to spend for a smaller cut.
    backend : {'auto', 'numba', 'kokkos-cuda', 'kokkos-openmp', 'kokkos-serial'}
        What runs the kernels; `auto` takes the first that works.
    threads : int, optional
        CPU threads; all that the process may use by default.
    repair : bool
        Mend self-loops, duplicate and one-directional edges rather than refuse them.
    progress : callable
        Called as ``progress(stage, done, total)`` with stages compile, coarsen and refine.
    profile : bool
        Time every kernel and count launches, synchronisations and bytes: see the result's
        `profile`. The parts stay the same; the run takes longer, on a GPU in particular, as
        the host waits for each kernel.

    Raises
    ------
    GraphError
        If `graph` is not a valid graph.
    OptionError
        If an option is out of range or unknown.
    BackendError
        If the back end does not work here.

    Examples
    --------
    >>> import jetpy
    >>> grid = jetpy.generators.grid(20, 20)
    >>> result = jetpy.partition(grid, 4, threads=1)
    >>> result.feasible, result.part_weights.sum()
    (True, np.int64(400))
    """
    checked = as_graph(graph, repair=repair)
    problem = pose(checked.total_vertex_weight, k, imbalance, seed, preset_options(preset))

    def work(engine: Backend) -> Outcome:
        if k == 1:
            return trivial_outcome(np.zeros(checked.n, np.int32), 0)
        if checked.n <= k:
            return trivial_outcome(np.arange(checked.n, dtype=np.int32), checked.total_edge_weight)
        return partition_multilevel(engine, checked, problem, progress)

    engine = get_backend(backend, threads)
    return _run(work, checked, problem, preset, engine, progress, profile)


def refine(
    graph: Any,
    parts: npt.ArrayLike,
    k: int | None = None,
    *,
    imbalance: float = 0.03,
    seed: int = 0,
    preset: str = "default",
    backend: str = "auto",
    threads: int | None = None,
    repair: bool = False,
    progress: Progress = no_progress,
    profile: bool = False,
) -> Partition:
    """Improve a given partition on the graph itself, without coarsening (Jet, section 4).

    The result is never worse: if `parts` keeps the balance, so does the result, and its cut is
    at most as large; if it does not, balance is sought first.

    Parameters
    ----------
    graph, imbalance, seed, preset, backend, threads, repair, progress, profile
        As for `partition`.
    parts : array of int, shape (n,)
        Part of each vertex, 0..k-1.
    k : int, optional
        Number of parts; one more than the largest entry of `parts` by default.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `partition`; GraphError also where `parts` does not fit the graph or `k`.
    """
    checked = as_graph(graph, repair=repair)
    given = checked_parts(checked, parts, k)
    count = k if k is not None else int(given.max(initial=0)) + 1
    problem = pose(checked.total_vertex_weight, count, imbalance, seed, preset_options(preset))

    def work(engine: Backend) -> Outcome:
        if count == 1 or checked.n == 0:
            return trivial_outcome(given, 0)
        return refine_partition(engine, checked, given, problem, progress)

    engine = get_backend(backend, threads)
    return _run(work, checked, problem, preset, engine, progress, profile)


def _run(
    work: Callable[[Backend], Outcome],
    graph: Graph,
    problem: Problem,
    preset: str,
    engine: Backend,
    progress: Progress,
    profile: bool,
) -> Partition:
    """Compile what is missing, do the work and put the result together."""
    compiled = engine.compile(progress=lambda done, total: progress("compile", done, total))
    launches = engine.all_launches
    profiler = Profiler(engine) if profile else None
    outcome = work(engine if profiler is None else profiler)
    title = f"{graph.name}, k = {problem.k}, {engine.name}"
    return Partition(
        graph=graph,
        parts=outcome.parts,
        k=problem.k,
        cut=outcome.cut,
        limit=problem.limit,
        seed=problem.seed,
        preset=preset,
        backend=engine.name,
        threads=engine.threads,
        seconds={"compile": compiled, **outcome.seconds},
        levels=outcome.levels,
        launches=engine.all_launches - launches,
        profile=None if profiler is None else profiler.profile(title),
    )
