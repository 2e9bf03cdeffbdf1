"""Recombination: adjacent parts are merged and split again, until all parts keep their limits.

The part with the largest violation of its limits passes it on to an adjacent part, this one to the
next, up to a part that can take it. Each pair of parts is split by a cut of a spanning tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from jetpy.constraints.connected.contiguity import ContiguityProblem
from jetpy.constraints.connected.spanning_trees import Ids, region_of
from jetpy.constraints.connected.tree_cuts import Side, TreeCuts
from jetpy.graph.csr import IntArray
from jetpy.graph.ranges import entries_of

PATHS = 4
"""Number of paths that are tried at once; the best one is taken."""
MAX_TRIES = 8
"""Number of times that a part tries paths."""
PATIENCE = 8
"""Recombination ends when this share of the effort has brought no improvement."""


class Trial(NamedTuple):
    """The result of a path: total violation, change of the cut, and new parts of vertices."""

    violation: int
    cut: int
    vertices: Ids
    parts: IntArray


def recombine(contiguity: ContiguityProblem, parts: IntArray, trees: TreeCuts) -> IntArray:
    """Return parts (int32, shape (n,)) that violate the limits less.

    Connected parts stay connected.
    """
    state = _Recombination(contiguity, parts.copy(), trees)
    tries = np.zeros(contiguity.k, np.int64)
    enough = trees.effort - trees.total // PATIENCE
    while trees.effort > max(enough, 0):
        violations = contiguity.violations(state.weights)
        worst = int(np.where(tries < MAX_TRIES, violations, 0).argmax())
        if violations[worst] == 0 or tries[worst] == MAX_TRIES:
            break
        if state.improve(worst, int(tries[worst]) * PATHS):
            tries[:] = 0
            enough = trees.effort - trees.total // PATIENCE
        else:
            tries[worst] += 1
    return state.parts


def split(contiguity: ContiguityProblem, trees: TreeCuts) -> IntArray | None:
    """Return connected parts (int32, shape (n,)) near their limits, split off without a start.

    The graph and then each side is split into two, whose numbers of parts are about equal. None if
    a side could not be split.
    """
    graph = contiguity.graph
    parts = np.zeros(graph.n, np.int32)
    waiting = [(region_of(graph, np.arange(graph.n)), np.arange(contiguity.k))]
    while waiting:
        region, ids = waiting.pop()
        if len(ids) == 1:
            parts[region.vertices] = ids[0]
            continue
        halves = np.array_split(ids, 2)
        sides = _halves(contiguity, int(region.weights.sum()), halves[0], halves[1])
        mask = trees.bisect(region, sides, np.zeros(len(region.vertices), np.int32))
        if mask is None:
            return None
        waiting += [(region.within(mask), halves[0]), (region.within(~mask), halves[1])]
    return parts


def _halves(contiguity: ContiguityProblem, weight: int, one: Ids, two: Ids) -> tuple[Side, Side]:
    """Return the sides for two sets of parts, which share a weight.

    A set of several parts gets half of the tolerance, so that its parts can be split off later.
    """
    low = [int(contiguity.lower_limits[ids].sum()) for ids in (one, two)]
    high = [int(contiguity.limits[ids].sum()) for ids in (one, two)]
    spare, width = weight - sum(low), max(sum(high) - sum(low), 1)
    sides = []
    for ids, least, most in zip((one, two), low, high, strict=True):
        if len(ids) > 1:
            share = least + spare * (most - least) // width
            least, most = (least + share) // 2, (most + share) // 2
        sides.append(Side(least, most, tuple(ids.tolist())))
    return sides[0], sides[1]


class _Recombination:
    """A partition, its part weights, and the adjacent parts of each part."""

    def __init__(self, contiguity: ContiguityProblem, parts: IntArray, trees: TreeCuts) -> None:
        self._contiguity, self._trees = contiguity, trees
        self.parts = parts
        self.weights = contiguity.weigh(parts)
        self._adjacent: list[set[int]] = [set() for _ in range(contiguity.k)]
        self._find_adjacent(range(contiguity.k))

    def improve(self, p: int, skipped: int) -> bool:
        """Lower the violation along the best of a few paths from p; return whether it helped."""
        before = int(self._contiguity.violations(self.weights).sum())
        trials = [
            trial
            for path in islice(self._paths(p), skipped, skipped + PATHS)
            if (trial := self._try(path)) is not None and trial.violation < before
        ]
        if not trials:
            return False
        best = min(trials, key=lambda trial: trial[:2])
        changed = np.union1d(self.parts[best.vertices], best.parts).tolist()
        self.parts[best.vertices] = best.parts
        self.weights = self._contiguity.weigh(self.parts)
        self._find_adjacent(changed)
        return True

    def _find_adjacent(self, changed: Sequence[int]) -> None:
        """Find the adjacent parts of parts that have changed."""
        graph, k = self._contiguity.graph, self._contiguity.k
        for p in changed:
            for q in self._adjacent[p]:
                self._adjacent[q].discard(p)
            self._adjacent[p] = set()
        for p in changed:
            _, entries = entries_of(graph, np.flatnonzero(self.parts == p))
            near = np.unique(self.parts[graph.indices[entries]]).tolist()
            for q in set(near) - {p, k}:
                self._adjacent[p].add(q)
                self._adjacent[q].add(p)

    def _paths(self, p: int) -> list[list[int]]:
        """Return paths from p to other parts, preferably to near parts that can take its violation.

        An empty part is adjacent to all.
        """
        contiguity = self._contiguity
        over = int(self.weights[p] - contiguity.limits[p])
        under = int(contiguity.lower_limits[p] - self.weights[p])
        if over > 0:
            amount, rooms = over, contiguity.limits - self.weights
        else:
            amount, rooms = under, self.weights - contiguity.lower_limits
        came_from, depth, reached = {p: p}, {p: 0}, [p]
        for q in reached:
            near = self._adjacent[q] if self._adjacent[q] else range(contiguity.k)
            for r in sorted(near):
                if r not in came_from:
                    came_from[r] = q
                    depth[r] = depth[q] + 1
                    reached.append(r)
        ends = [q for q in reached[1:] if rooms[q] > 0]
        ends.sort(key=lambda q: (rooms[q] < amount, depth[q], -rooms[q], q))
        return [_path_to(q, came_from) for q in ends]

    def _try(self, path: list[int]) -> Trial | None:
        """Return the result of passing the violation along a path; the partition stays."""
        contiguity, parts = self._contiguity, self.parts
        region = region_of(contiguity.graph, np.flatnonzero(np.isin(parts, path)))
        local = parts[region.vertices]
        result = local.copy()
        for p, q in pairwise(path):
            inside = np.isin(result, (p, q))
            pair = region.within(inside)
            total = int(pair.weights.sum())
            first = Side(int(contiguity.lower_limits[p]), int(contiguity.limits[p]), (p,))
            last = Side(int(contiguity.lower_limits[q]), int(contiguity.limits[q]), (q,))
            sides = (first, last if q == path[-1] else Side(0, total, (q,)))
            mask = self._trees.bisect(pair, sides, result[inside])
            if mask is None:
                return None
            result[inside] = np.where(mask, p, q)
        weights = self.weights.copy()
        for p in path:
            weights[p] = int(region.weights[result == p].sum())
        violation = int(contiguity.violations(weights).sum())
        return Trial(violation, region.cut(result) - region.cut(local), region.vertices, result)


def _path_to(q: int, came_from: dict[int, int]) -> list[int]:
    """Return the path to q from the part that came from itself."""
    path = [q]
    while came_from[path[-1]] != path[-1]:
        path.append(came_from[path[-1]])
    return path[::-1]
