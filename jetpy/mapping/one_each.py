"""Mapping of at most as many tasks as PEs, with at most one task on each PE.

Dummy tasks fill up the PEs. The tasks are divided along the hierarchy into groups of exactly the
machine's sizes. Then pairs of tasks are swapped while this lowers the cost. Source: Schulz, Träff,
"Better Process Mapping and Sparse Quadratic Assignment", SEA 2017 (top-down construction, and
local search); Pellegrini, "Static Mapping by Dual Recursive Bipartitioning", SHPCC 1994, for
matrices of distances.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.mapping.greedy import place_greedily
from jetpy.mapping.problem import make_mapping_problem
from jetpy.mapping.swaps import swap_all, swap_near
from jetpy.multilevel.driver import partition_multilevel
from jetpy.multilevel.outcome import Outcome
from jetpy.problem.machine import MAX_PES_IN_MATRIX, Machine
from jetpy.problem.metrics import mapped_cut
from jetpy.problem.presets import mapping_options
from jetpy.problem.problem import SEEDS, Problem, make_problem

TRIES = 4
"""Number of top-down constructions, with consecutive seeds, if swaps are fast."""
QUICK = 1 << 25
"""Swaps are fast if the number of directed edges times PEs is at most this."""
MAX_CLOSENESS = 1 << 20
"""Closeness of PEs of distance 0, times their number; the sum over all pairs fits in an int32."""

Places = npt.NDArray[np.int32]


def place_one_each(
    backend: Backend, graph: Graph, machine: Machine, method: str, seed: int
) -> Outcome:
    """Return a PE for each task, all different; vertex weights are ignored.

    The cost is at most that of task i on PE i.

    Parameters
    ----------
    backend : Backend
    graph : Graph
        At most k tasks, and their communication.
    machine : Machine
    method : {'im', 'hm', 'hm-ultra'}
        'im' and 'hm' give the same result.
    seed : int
    """
    part = used_part(machine, graph.n)
    best = np.arange(graph.n, dtype=np.int32)
    least = mapped_cut(graph, best, machine.metric, machine.k)
    if least and not part.is_uniform:
        few = part.k <= MAX_PES_IN_MATRIX
        quick = few and len(graph.indices) * part.k <= QUICK
        starts = [best]
        if few and part.matrix is not None:
            starts.append(place_greedily(graph, part.matrix))
        for number in range(TRIES if quick else 1):
            starts += _starts(backend, graph, part, method, (seed + number) % SEEDS)
        if not quick:
            starts = [min(starts, key=lambda start: mapped_cut(graph, start, part.metric, part.k))]
        with Stopwatch(backend, "refine"):
            for start in starts:
                places = _swapped(graph, start, part)
                cost = mapped_cut(graph, places, machine.metric, machine.k)
                if cost < least:
                    best, least = places, cost
            best = in_order(best, part)
    return Outcome(best, graph.total_edge_weight, least)


def used_part(machine: Machine, n: int) -> Machine:
    """Return the first groups of a machine, with about twice as many PEs as tasks.

    Return the whole machine if it has a matrix or PEs of higher levels may be nearer to each other.
    """
    if machine.matrix is not None or not machine.is_monotone or machine.k <= 2 * n:
        return machine
    level = next(i for i, size in enumerate(machine.group_sizes) if size >= 2 * n)
    below = machine.group_sizes[level - 1] if level else 1
    arities = (*machine.hierarchy[:level], -(-2 * n // below))
    return Machine(arities, machine.distances[: level + 1])


def in_order(places: Places, machine: Machine) -> Places:
    """Renumber groups without changing the cost: by their first task, empty groups last.

    This holds on each level, and task 0 is on PE 0. Places (int32, shape (n,)) are unchanged if the
    distances are a matrix.

    >>> from jetpy.problem.machine import machine
    >>> in_order(np.array([5, 4, 1, 2], np.int32), machine("2:2:2", "1:2:3"))
    array([0, 1, 4, 6], dtype=int32)
    """
    if machine.matrix is not None:
        return places
    tasks = np.full(machine.k, INT32_MAX, np.int32)
    tasks[places] = np.arange(len(places), dtype=np.int32)
    for level, arity in enumerate(machine.hierarchy):
        size = machine.group_sizes[level] // arity
        groups = tasks.reshape(-1, arity, size)
        order = np.argsort(groups.min(axis=2), axis=1, kind="stable")
        tasks = np.take_along_axis(groups, order[:, :, None], axis=1).ravel()
    return np.argsort(tasks, kind="stable")[: len(places)].astype(np.int32)


def _starts(
    backend: Backend, graph: Graph, machine: Machine, method: str, seed: int
) -> list[Places]:
    """Return mappings by recursive division of the tasks."""
    multisection = "hm-ultra" if method == "hm-ultra" else "hm"
    tasks = _with_nobody(graph, machine.k)
    mappings = []
    if machine.hierarchy:
        steps = make_mapping_problem(machine.k, machine, multisection, 0.0, seed)
        outcome = partition_multilevel(backend, tasks, steps)
        mappings.append(outcome.parts[: graph.n])
    if machine.matrix is not None:
        problem = make_problem(machine.k, machine.k, 0.0, seed, mapping_options(multisection))
        bisected = partition_multilevel(backend, tasks, [problem])
        order = _bisected(backend, machine.matrix, problem)
        mappings.append(order[bisected.parts[: graph.n]])
    return mappings


def _with_nobody(graph: Graph, k: int) -> Graph:
    """Return a graph of k vertices of weight 1, adding vertices without edges."""
    more = np.full(k - graph.n, graph.indptr[-1], np.int32)
    indptr = np.concatenate((graph.indptr, more))
    return replace(graph, indptr=indptr, vertex_weights=np.ones(k, np.int32))


def _bisected(backend: Backend, distances: npt.NDArray[np.int32], problem: Problem) -> Places:
    """Return the PEs in an order that puts near PEs next to each other."""
    k = len(distances)
    if k > MAX_PES_IN_MATRIX:
        return np.arange(k, dtype=np.int32)
    farthest = int(distances.max())
    closeness = (farthest - distances.astype(np.int64)) * MAX_CLOSENESS
    closeness //= max(farthest, 1) * k
    np.fill_diagonal(closeness, 0)
    rows, indices = np.nonzero(closeness)
    indptr = np.searchsorted(rows, np.arange(k + 1)).astype(np.int32)
    weights = closeness[rows, indices].astype(np.int32)
    graph = Graph(indptr, indices.astype(np.int32), weights, np.ones(k, np.int32))
    outcome = partition_multilevel(backend, graph, [problem])
    return np.argsort(outcome.parts).astype(np.int32)


def _swapped(graph: Graph, places: Places, machine: Machine) -> Places:
    """Return places after swaps that lower the cost; with many PEs, only of near tasks."""
    if machine.k > MAX_PES_IN_MATRIX:
        return swap_near(graph, places, machine.metric, machine.k)
    return swap_all(graph, places, machine.metric.distances.reshape(machine.k, -1))
