"""What recursive bisection begins with, and what needs none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.graph import Graph, IntArray
from jetpy.initial.metis import MOST_IMBALANCE, heaviest_vertices
from jetpy.initial.pairing import pair
from jetpy.initial.subgraphs import subgraphs
from jetpy.problem import Problem

Vertices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Root:
    """Vertices (in ascending order) that are to be cut into `parts` parts, from `first` on.

    No part should weigh more than `limit`.
    """

    members: Vertices
    first: int
    parts: int
    limit: int


def find_roots(
    graph: Graph, blocks: IntArray | None, problem: Problem
) -> tuple[npt.NDArray[np.int32], list[Root]]:
    """Return parts (int32, shape (n,)) of vertices that need no bisection, and roots of the others.

    There is a root for each block (int32, shape (n,)), or one for all vertices. Much heavier
    vertices than the average part get a part each; less than two vertices a part are paired.
    """
    arity = problem.group_size
    parts, pairings = np.zeros(graph.n, np.int32), np.zeros(graph.n, np.int32)
    roots: list[Root] = []
    paired: list[Root] = []
    for block, members in _members(graph, blocks, problem.groups):
        root = _without_heavy(graph, members, block * arity, arity, parts)
        n, k = len(root.members), root.parts
        weight = int(graph.vertex_weights[root.members].sum(dtype=np.int64))
        limit = min(int(problem.limits[block * arity]), int((1 + MOST_IMBALANCE) * weight / k) + 1)
        if n <= k or k == 1:
            parts[root.members] = root.first + np.arange(n) * (k > 1)
        elif n < 2 * k:
            paired.append(root)
            pairings[root.members] = len(paired)
        else:
            roots.append(Root(root.members, root.first, k, limit))
    if paired:
        for number, members, inside in subgraphs(graph, pairings, len(paired) + 1):
            if number > 0:
                root = paired[number - 1]
                parts[members] = root.first + pair(inside, root.parts)
    return parts, roots


def _members(graph: Graph, blocks: IntArray | None, count: int) -> list[tuple[int, Vertices]]:
    """Return the blocks that have vertices, and these."""
    if blocks is None:
        return [(0, np.arange(graph.n))]
    order = np.argsort(blocks, kind="stable")
    ends = np.cumsum(np.bincount(blocks, minlength=count))
    parted = np.split(order, ends[:-1])
    return [(block, members) for block, members in enumerate(parted) if len(members)]


def _without_heavy(
    graph: Graph, members: Vertices, first: int, k: int, parts: npt.NDArray[np.int32]
) -> Root:
    """Give the heaviest vertices a part each; return what is left, the limit being undefined."""
    heavy = heaviest_vertices(graph.vertex_weights[members], k)
    parts[members[heavy]] = first + np.arange(len(heavy))
    return Root(np.delete(members, heavy), first + len(heavy), k - len(heavy), 0)
