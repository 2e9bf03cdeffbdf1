"""Roots of recursive bisection, and parts that need no bisection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.device.processes import ALONE, Processes
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.initial.metis import MAX_IMBALANCE, heaviest_vertices
from jetpy.initial.pairing import pair
from jetpy.initial.subgraphs import subgraphs
from jetpy.initial.tasks import Job, run_together
from jetpy.problem.options import SmallOptions
from jetpy.problem.problem import Problem
from jetpy.refinement.packing import pack
from jetpy.workloads.common.groups import NO_PART

Vertices = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Root:
    """Vertices (ascending) to be divided into `parts` parts, numbered from `first`.

    `shares`, `limits` and `lower_limits` (int64, shape (parts,)) are the relative target weights,
    and the maximum and minimum weights of the parts.
    """

    members: Vertices
    first: int
    parts: int
    shares: Numbers
    limits: Numbers
    lower_limits: Numbers


def find_roots(
    graph: Graph, blocks: IntArray | None, problem: Problem, pinned: IntArray | None = None
) -> tuple[npt.NDArray[np.int32], list[Root]]:
    """Return parts (int32, shape (n,)) of vertices that need no bisection, and roots of the others.

    There is a root for each block (int32, shape (n,)), or one for all vertices. Vertices much
    heavier than the average part get a part each. Blocks of less than two vertices per part are
    paired. If target weights differ, or vertices are pinned to parts (int32, shape (n,), -1 for
    others), heavy vertices get no separate parts, and these blocks are packed.
    """
    is_plain = problem.targets is None and pinned is None
    arity = problem.group_size
    parts, pairings = np.zeros(graph.n, np.int32), np.zeros(graph.n, np.int32)
    roots: list[Root] = []
    paired: list[Root] = []
    for block, members in _members(graph, blocks, problem.groups):
        first = block * arity
        if is_plain:
            members, first = _without_heavy(graph, members, first, arity, parts)
        n, k = len(members), (block + 1) * arity - first
        root = _root(graph, members, first, k, problem)
        if n >= 2 * k > 2:
            roots.append(root)
        elif not is_plain:
            parts[:] = _packed(graph, problem, pinned)
        elif n <= k or k == 1:
            parts[members] = first + np.arange(n) * (k > 1)
        else:
            paired.append(root)
            pairings[members] = len(paired)
    if paired:
        for number, members, inside in subgraphs(graph, pairings, len(paired) + 1):
            if number > 0:
                root = paired[number - 1]
                parts[members] = root.first + pair(inside, root.parts)
    return parts, roots


def divide_roots(
    backend: Backend,
    graph: Graph,
    parts: npt.NDArray[np.int32],
    roots: Sequence[Root],
    seeds: Sequence[int],
    effort: SmallOptions,
    pinned: IntArray | None = None,
    processes: Processes = ALONE,
) -> list[npt.NDArray[np.int32]]:
    """Return a partition (int32, shape (n,)) for each seed, in which each root is divided.

    `parts` and `pinned` are those of `find_roots`. The back end is on the host. All processes have
    the same graph, and share the work.
    """
    if not roots or not seeds:
        return [parts] * len(seeds)
    if len(roots[0].members) == graph.n:
        inside = [graph]
    else:
        numbers = np.zeros(graph.n, np.int32)
        for number, root in enumerate(roots, 1):
            numbers[root.members] = number
        inside = [own for n, _, own in subgraphs(graph, numbers, len(roots) + 1) if n > 0]
    jobs = [
        Job(own, root.shares, root.limits, root.lower_limits, seeds, pinned)
        for own, root in zip(inside, roots, strict=True)
    ]
    found = [one.parts for one in run_together(jobs, backend, effort, processes)]
    partitions = [parts.copy() for _ in seeds]
    for number, root in enumerate(roots):
        own_parts = found[number * len(seeds) : (number + 1) * len(seeds)]
        for partition, own in zip(partitions, own_parts, strict=True):
            partition[root.members] = root.first + own
    return partitions


def _members(graph: Graph, blocks: IntArray | None, count: int) -> list[tuple[int, Vertices]]:
    """Return the blocks that have vertices, with their vertices in ascending order."""
    if blocks is None:
        return [(0, np.arange(graph.n))]
    order = np.argsort(blocks, kind="stable")
    ends = np.cumsum(np.bincount(blocks, minlength=count))
    parted = np.split(order, ends[:-1])
    return [(block, members) for block, members in enumerate(parted) if len(members)]


def _root(graph: Graph, members: Vertices, first: int, k: int, problem: Problem) -> Root:
    own = slice(first, first + k)
    shares, limits = problem.shares[own], problem.limits[own]
    weight = int(graph.vertex_weights[members].sum(dtype=np.int64))
    most = ((1 + MAX_IMBALANCE) * weight * shares / shares.sum()).astype(np.int64) + 1
    return Root(members, first, k, shares, np.minimum(limits, most), problem.lower_limits[own])


def _without_heavy(
    graph: Graph, members: Vertices, first: int, k: int, parts: npt.NDArray[np.int32]
) -> tuple[Vertices, int]:
    """Give each of the heaviest vertices a part; return the other vertices and their first part."""
    heavy = heaviest_vertices(graph.vertex_weights[members], k)
    parts[members[heavy]] = first + np.arange(len(heavy))
    return np.delete(members, heavy), first + len(heavy)


def _packed(graph: Graph, problem: Problem, pinned: IntArray | None) -> npt.NDArray[np.int32]:
    """Return the parts (int32, shape (n,)) of the only block, packed by weight."""
    parts = np.full(graph.n, NO_PART, np.int32) if pinned is None else pinned.copy()
    free, weights = parts == NO_PART, graph.vertex_weights
    held = np.bincount(parts[~free], weights[~free], problem.k).astype(np.int64)
    parts[free] = pack(weights[free], problem.limits - held, problem.lower_limits - held)
    return parts
