"""Vertex separators as in the papers, in plain Python. Each step recounts everything."""

from __future__ import annotations

from dataclasses import dataclass, field

from jetpy.graph.csr import Graph
from tests.hashing import mix
from tests.tasks.workers import rows_of

SEPARATOR = 2
MAX_VAIN = 300
SMALL_PENALTY, UNIT = 3, 1024


@dataclass
class Separation:
    """Sides 0 and 1 and the separator, 2; the limits of both sides; pinned vertices.

    `outside` has the weights of the sides outside of the level, `skew` the penalty of a lopsided
    separator that is large, which counts on the finest level only.
    """

    graph: Graph
    sides: list[int]
    most: tuple[int, int]
    seed: int = 0
    pinned: dict[int, int] = field(default_factory=dict)
    outside: tuple[int, int] = (0, 0)
    skew: int = 0
    is_finest: bool = True

    def __post_init__(self) -> None:
        self.neighbours = [[u for u, _ in row] for row in rows_of(self.graph)]
        self.weights = self.graph.vertex_weights.tolist()

    @property
    def side_weights(self) -> list[int]:
        """Return the weights of both sides and of the separator."""
        found = [*self.outside, 0]
        for v, side in enumerate(self.sides):
            found[side] += self.weights[v]
        return found

    @property
    def quality(self) -> tuple[int, int]:
        """Return the excess of the heavier side and the score."""
        first, second, cut = self.side_weights
        total = first + second + cut
        excess = max(0, first - self.most[0], second - self.most[1])
        if not first or not second:
            excess = total
        lopsided = UNIT * max(0, 2 * max(first, second) - total) // total
        penalty = SMALL_PENALTY + (self.skew * cut // total if self.is_finest else 0)
        return excess, cut * (4 * UNIT**2 + penalty * lopsided**2)

    def entering(self, v: int, side: int) -> list[int]:
        """Return the vertices that enter the separator if a vertex moves to a side."""
        return [u for u in self.neighbours[v] if self.sides[u] == 1 - side]

    def gain(self, v: int, side: int) -> int:
        return self.weights[v] - sum(self.weights[u] for u in self.entering(v, side))

    def first(self, side: int, locked: set[int]) -> int | None:
        """Return the separator's vertex of the highest gain for a side, then highest hash."""
        free = [v for v, s in enumerate(self.sides) if s == SEPARATOR and v not in locked]
        queued = [v for v in free if self.pinned.get(v) != 1 - side]
        return max(queued, key=lambda v: (self.gain(v, side), mix(v ^ self.seed)), default=None)

    def fits(self, v: int, side: int) -> bool:
        return self.side_weights[side] + self.weights[v] <= self.most[side]

    def move(self, v: int, side: int) -> None:
        for u in self.entering(v, side):
            self.sides[u] = SEPARATOR
        self.sides[v] = side

    def next_move(self, locked: tuple[set[int], set[int]]) -> tuple[int, int] | None:
        """Return a vertex and its side: the higher gain first, then the lighter side."""
        lighter = int(self.side_weights[1] < self.side_weights[0])
        found = [(s, v) for s in (0, 1) if (v := self.first(s, locked[s])) is not None]
        best = max(
            found, key=lambda one: (self.gain(one[1], one[0]), one[0] == lighter), default=None
        )
        return None if best is None else (best[1], best[0])

    def improve(self) -> bool:
        """Make one pass, and return whether it has improved the quality.

        The log has a place for each vertex; a move and each vertex that it brings take one.
        """
        best, kept, is_better = self.quality, list(self.sides), False
        locked: tuple[set[int], set[int]] = (set(), set())
        vain, logged, most = 0, 0, min(MAX_VAIN, 2 * self.sides.count(SEPARATOR))
        while vain < most and (found := self.next_move(locked)):
            v, side = found
            needed = 1 + len(self.entering(v, side))
            if not self.fits(v, side) or logged + needed > self.graph.n:
                locked[side].add(v)
                continue
            self.move(v, side)
            for own in locked:
                own.add(v)
            logged += needed
            vain += 1
            if self.quality < best:
                best, kept, is_better, vain = self.quality, list(self.sides), True, 0
        self.sides = kept
        return is_better

    def grow(self, salt: int) -> None:
        """Grow side 0 from a vertex, and keep the best separator on the way."""
        n = self.graph.n
        start = mix(mix(self.seed + salt)) * n >> 32
        self.sides = [1] * n
        kept = list(self.sides)
        self.sides[start] = SEPARATOR
        best, locked = self.quality, set()
        while (v := self.first(0, locked)) is not None:
            locked.add(v)
            if self.fits(v, 0):
                self.move(v, 0)
                if self.quality < best:
                    best, kept = self.quality, list(self.sides)
        self.sides = kept

    def separate(self) -> None:
        """Make a separator of a bisection: its border on the side where this weighs less."""
        borders = [
            [v for v, s in enumerate(self.sides) if s == side and self.entering(v, side)]
            for side in (0, 1)
        ]
        for v in min(borders, key=lambda border: sum(self.weights[v] for v in border)):
            self.sides[v] = SEPARATOR
