"""Connected regions split into connected parts within limits, by cuts of random spanning trees.

Source: DeFord, Duchin, Solomon, "Recombination: a family of Markov chains for redistricting",
Harvard Data Science Review 3 (2021), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jetpy.constraints.connected.contiguity import Mask, Weights
from jetpy.constraints.connected.spanning_trees import Forest, Ids, Region, draw_trees
from jetpy.graph.csr import IntArray
from jetpy.problem.limits import outside

BATCH, MAX_TREES = 1 << 12, 64
"""Approximate number of nodes in the trees that are drawn at once, and largest number of trees."""
LARGE_BATCH, FEW_TREES = 1 << 20, 8
"""A few trees are drawn at once even if they have more nodes, up to this larger number. Cuts of
several branches are computed at once up to as many nodes and edges."""
MAX_BATCHES = 8
MAX_CUTS = 32
"""Maximum number of branches of a batch, of those with least violation, whose cut is computed."""


@dataclass(frozen=True)
class Side:
    """Limits of the weight of one side of a cut, and the parts that it contains."""

    lower: int
    upper: int
    parts: tuple[int, ...]

    def violations(self, weights: Weights) -> Weights:
        """Return how far weights are outside the limits."""
        return outside(weights, self.lower, self.upper)


class Cut(NamedTuple):
    """Violation of the limits, weight of cut edges, and vertices of the first side."""

    violation: int
    weight: int
    first_side: Mask


class TreeCuts:
    """Cuts of random spanning trees, until the trees have cost as much as they may.

    Parameters
    ----------
    pinned : int32, shape (n,)
        Part in which each vertex must be, -1 for free vertices.
    seed : int
    effort : int
        Approximate number of nodes and edges from which trees may be drawn.

    Attributes
    ----------
    total, effort : int
        This number, and how much of it is left.
    """

    def __init__(self, pinned: IntArray, seed: int, effort: int) -> None:
        self._pinned, self._seed, self._drawn = pinned, seed, 0
        self.total = self.effort = effort

    def bisect(self, region: Region, sides: tuple[Side, Side], now: Ids | Mask) -> Mask | None:
        """Return the vertices of the first side (bool, shape (r,)) of the best cut.

        It violates the limits least, and among the cuts found with equal violation, it is the
        smallest. Trees are drawn in batches until the limits are kept. Half of them follow the
        best cut so far, at first the current sides.

        Parameters
        ----------
        region : Region
        sides : pair of Side
        now : int, shape (r,)
            Current sides of the vertices; all may be equal.

        Returns
        -------
        bool, shape (r,), or None
            None if no cut leaves fixed vertices on their sides.
        """
        r = len(region.vertices)
        if r < 2:
            return None
        fixed = [np.isin(self._pinned[region.vertices], side.parts) for side in sides]
        size = r + len(region.tails)
        trees = min(max(BATCH // r, min(FEW_TREES, LARGE_BATCH // size), 1), MAX_TREES)
        best: Cut | None = None
        for _ in range(MAX_BATCHES):
            if self.effort <= 0 or (best is not None and best.violation == 0):
                break
            self.effort -= BATCH + trees * size
            forest = draw_trees(region, now, trees, self._drawn, self._seed)
            self._drawn += trees
            if forest is None:
                return None
            found = _best_cut(region, forest, sides, fixed)
            if found is not None and (best is None or found[:2] < best[:2]):
                best, now = found, found.first_side
        return None if best is None else best.first_side


def _best_cut(
    region: Region, forest: Forest, sides: tuple[Side, Side], fixed: Sequence[Mask]
) -> Cut | None:
    """Return the best cut of the trees; `fixed` are the fixed vertices of each side."""
    weights = forest.sums(region.weights)
    held = [forest.sums(mask.astype(np.int64)) for mask in fixed]
    total = int(region.weights.sum())
    violations, allowed = [], []
    for one, two in ((0, 1), (1, 0)):
        violations.append(sides[one].violations(weights) + sides[two].violations(total - weights))
        allowed.append((held[one] == fixed[one].sum()) & (held[two] == 0))
        allowed[-1][:: forest.r] = False
    flat = np.concatenate(violations)
    options = np.flatnonzero(np.concatenate(allowed))
    if not len(options):
        return None
    least = int(flat[options].min())
    options = options[flat[options] == least]
    is_second, branches = np.divmod(options[:: -(-len(options) // MAX_CUTS)], len(weights))
    cuts = _cuts_of(branches, region, forest)
    best = int(cuts.argmin())
    [inside] = forest.branches(branches[best : best + 1])
    return Cut(least, int(cuts[best]), inside == (is_second[best] == 0))


def _cuts_of(branches: Ids, region: Region, forest: Forest) -> Weights:
    """Return the weight of the cut of each branch; few are computed at once in a large region."""
    size = len(region.vertices) + len(region.tails)
    count = min(-(-len(branches) * size // LARGE_BATCH), len(branches))
    chunks = np.array_split(branches, count)
    return np.concatenate([region.cuts(forest.branches(chunk)) for chunk in chunks])
