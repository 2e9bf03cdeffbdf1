"""Passes of k-way refinement in plain Python. Each step recounts everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from jetpy.graph.csr import Graph
from tests.hashing import mix
from tests.tasks.workers import rows_of

PASSES = 4
EARLY, ALPHA = 25, 3
LARGEST_GAIN = 4096


def is_hopeless(count: int, total: int, squares: int) -> bool:
    """Return the rule of Osipov and Sanders for moves with this sum and square sum of gains."""
    if count < EARLY or total >= 0:
        return False
    mean = Fraction(total, count)
    return count * mean**2 > ALPHA * (Fraction(squares, count) - mean**2)


@dataclass
class KWay:
    """A partition, the limits of its parts, and the pinned vertices.

    An edge of weight 0 makes two vertices adjacent, with this exception: once a neighbour has left
    a part to which a vertex has only edges of weight 0, the vertex is not adjacent to that part
    until a neighbour enters it. `zeros` has the parts to which vertices are adjacent by weight 0.
    """

    graph: Graph
    parts: list[int]
    most: list[int]
    least: list[int]
    pinned: set[int]
    seed: int
    unit: int = 1
    zeros: list[set[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = rows_of(self.graph)
        self.weights = self.graph.vertex_weights.tolist()
        self.k = len(self.most)
        self.zeros = [
            {p for p, w in self.weights_to(v).items() if w == 0 and p != self.parts[v]}
            for v in range(self.graph.n)
        ]

    def weights_to(self, v: int) -> dict[int, int]:
        """Return the edge weight of a vertex to each part of a neighbour."""
        found: dict[int, int] = {}
        for u, w in self.rows[v]:
            found[self.parts[u]] = found.get(self.parts[u], 0) + w
        return found

    def internal(self, v: int) -> int:
        return self.weights_to(v).get(self.parts[v], 0)

    def adjacent(self, v: int) -> dict[int, int]:
        """Return the edge weight of a vertex to each other part that it is adjacent to."""
        return {
            p: w
            for p, w in self.weights_to(v).items()
            if p != self.parts[v] and (w > 0 or p in self.zeros[v])
        }

    def part_weights(self) -> list[int]:
        found = [0] * self.k
        for p, w in zip(self.parts, self.weights, strict=True):
            found[p] += w
        return found

    @property
    def cut(self) -> int:
        twice = sum(
            w
            for v in range(self.graph.n)
            for u, w in self.rows[v]
            if self.parts[u] != self.parts[v]
        )
        return twice // 2

    def overweights(self) -> list[int]:
        """Return what each part weighs above its limit."""
        return [max(0, w - m) for w, m in zip(self.part_weights(), self.most, strict=True)]

    @property
    def quality(self) -> tuple[int, int]:
        return sum(self.overweights()), self.cut

    def move(self, v: int, b: int) -> None:
        a, self.parts[v] = self.parts[v], b
        self.zeros[v].discard(b)
        for u, _ in self.rows[v]:
            if self.weights_to(u).get(a, 0) == 0:
                self.zeros[u].discard(a)
            self.zeros[u].discard(b)
            if self.parts[u] != b and self.weights_to(u)[b] == 0:
                self.zeros[u].add(b)

    def gain_at_best(self, v: int) -> int:
        return max(self.adjacent(v).values(), default=0) - self.internal(v)

    def best_part(self, v: int, slack: int) -> int | None:
        now = self.part_weights()
        rooms = {p: self.most[p] + slack - now[p] for p in range(self.k)}
        fitting = {p: w for p, w in self.adjacent(v).items() if rooms[p] >= self.weights[v]}
        return max(fitting, key=lambda p: (fitting[p], rooms[p], -p), default=None)

    def lightest_part(self, v: int) -> int | None:
        now = self.part_weights()
        rooms = {p: self.most[p] - now[p] for p in range(self.k) if p != self.parts[v]}
        fitting = [p for p in rooms if rooms[p] >= self.weights[v]]
        return max(fitting, key=lambda p: (rooms[p], -p), default=None)

    def first_queued(self, gains: dict[int, int]) -> int | None:
        """Return the first vertex of the heaviest part, or of all if no part is too heavy."""
        over = self.overweights()
        queued = list(gains)
        if any(over):
            heavy = [p for p in range(self.k) if over[p] and any(self.parts[v] == p for v in gains)]
            p = max(heavy, key=lambda p: (over[p], -p), default=-1)
            queued = [v for v in gains if self.parts[v] == p]
        return max(queued, key=lambda v: (gains[v], mix(v ^ self.seed)), default=None)

    def next_move(self, gains: dict[int, int], slack: int) -> tuple[int, int] | None:
        """Return a vertex and its new part; `gains` of queued vertices change on the way."""
        is_heavy = any(self.overweights())
        while (v := self.first_queued(gains)) is not None:
            own, to = self.parts[v], self.best_part(v, 0 if is_heavy else slack)
            if to is None and is_heavy:
                to = self.lightest_part(v)
            is_kept = self.part_weights()[own] - self.weights[v] < self.least[own]
            if to is None or is_kept or self.parts.count(own) == 1:
                del gains[v]
                continue
            gain = self.weights_to(v).get(to, 0) - self.internal(v)
            if gain >= gains[v]:
                return v, to
            gains[v] = gain
        return None

    def improve(self, slack: int, vain: int) -> bool:
        """Make one pass, and return whether it has improved the quality."""
        best, kept, since = self.quality, 0, []
        moves: list[tuple[int, int]] = []
        over = self.overweights()
        gains = {
            v: self.gain_at_best(v)
            for v in range(self.graph.n)
            if v not in self.pinned and (self.adjacent(v) or over[self.parts[v]])
        }
        locked = set(self.pinned)
        while len(moves) - kept < vain and (found := self.next_move(gains, slack)):
            v, to = found
            before = self.cut
            del gains[v]
            locked.add(v)
            moves.append((v, self.parts[v]))
            self.move(v, to)
            for u, _ in self.rows[v]:
                if u not in locked:
                    gains.pop(u, None)
                    if self.adjacent(u):
                        gains[u] = self.gain_at_best(u)
            gain = before - self.cut
            units = min(abs(gain) // self.unit, LARGEST_GAIN)
            since.append(units if gain > 0 else -units)
            if self.quality < best:
                best, kept, since = self.quality, len(moves), []
            elif is_hopeless(len(since), sum(since), sum(g * g for g in since)):
                break
        for v, origin in moves[kept:]:
            self.move(v, origin)
        return kept > 0

    def refine(self) -> None:
        """Make passes while they improve the quality enough."""
        slack = sum(self.weights) // self.graph.n
        borders = sum(bool(self.adjacent(v)) for v in range(self.graph.n))
        vain = min(max(borders // 10, 200), 300)
        for _ in range(PASSES):
            excess, cut = self.quality
            if not self.improve(slack, vain):
                break
            if self.quality[0] == excess and 1000 * (cut - self.cut) < cut:
                break
