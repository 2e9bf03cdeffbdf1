"""Two-way growing and refinement as in the papers, in plain Python; each step recounts all."""

from __future__ import annotations

from dataclasses import dataclass, field

from jetpy.graph.csr import Graph
from jetpy.workloads.initial.two_way import MIN_TRIED
from tests.graphs import edge_dict
from tests.hashing import mix


@dataclass
class TwoWay:
    """A bisection: sides, the target weight of side 0, both weight limits, and pinned vertices."""

    graph: Graph
    sides: list[int]
    target: int
    most: tuple[int, int]
    seed: int
    pinned: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.edges = edge_dict(self.graph)

    def weight(self, side: int) -> int:
        weights = self.graph.vertex_weights.tolist()
        return sum(w for w, s in zip(weights, self.sides, strict=True) if s == side)

    @property
    def cut(self) -> int:
        return sum(w for (u, v), w in self.edges.items() if self.sides[u] < self.sides[v])

    @property
    def quality(self) -> tuple[int, int, int]:
        overload = max(0, *(self.weight(side) - self.most[side] for side in (0, 1)))
        return overload, self.cut, abs(self.weight(0) - self.target)

    def external(self, v: int) -> int:
        return sum(
            w for (a, b), w in self.edges.items() if a == v and self.sides[b] != self.sides[v]
        )

    def key(self, v: int) -> tuple[int, int]:
        degree = sum(w for (a, _), w in self.edges.items() if a == v)
        return 2 * self.external(v) - degree, mix(v ^ self.seed)

    def next_move(self, queued: set[int]) -> int | None:
        tops = [
            max((v for v in queued if self.sides[v] == s), key=self.key, default=None)
            for s in (0, 1)
        ]
        side = 0 if self.weight(0) > self.target else 1
        if None not in tops and self.quality[0] == 0:
            weights = self.graph.vertex_weights
            fits = [self.weight(1 - s) + int(weights[tops[s]]) <= self.most[1 - s] for s in (0, 1)]
            gains = [self.key(v)[0] for v in tops if v is not None]
            if fits == [True, True]:
                side = side if gains[0] == gains[1] else gains.index(max(gains))
            elif any(fits):
                side = fits.index(True)
        return tops[side]

    def improve(self) -> bool:
        """Run one pass and return whether it improved the quality."""
        best, kept, moves = self.quality, 0, []
        n = self.graph.n
        weights = self.graph.vertex_weights
        queued = {v for v in range(n) if (best[0] and weights[v]) or self.external(v) > 0}
        queued -= self.pinned
        while len(moves) - kept < max(MIN_TRIED, n // 50):
            v = self.next_move(queued)
            if v is None:
                break
            self.sides[v] = 1 - self.sides[v]
            moves.append(v)
            queued.discard(v)
            for a, b in self.edges:
                if a == v and b not in moves and b not in self.pinned:
                    (queued.add if self.external(b) > 0 else queued.discard)(b)
            if self.quality < best:
                best, kept = self.quality, len(moves)
        for v in moves[kept:]:
            self.sides[v] = 1 - self.sides[v]
        return kept > 0

    def grow(self, salt: int) -> None:
        """Grow side 0 from its pinned vertices, or from one vertex, until it has its target."""
        n, locked = self.graph.n, set(self.pinned)
        self.sides = [0 if v in self.pinned and self.sides[v] == 0 else 1 for v in range(n)]
        first = mix(mix(self.seed + salt)) * n >> 32
        starts = iter([*range(first, n), *range(first)])
        while self.weight(0) < self.target:
            free = [v for v in range(n) if v not in locked]
            u = max((v for v in free if self.external(v) > 0), key=self.key, default=None)
            if u is None:
                u = next((v for v in starts if v not in locked), None)
            if u is None:
                break
            locked.add(u)
            weight = int(self.graph.vertex_weights[u])
            if self.weight(0) + weight - self.target <= self.target - self.weight(0):
                self.sides[u] = 0

    def bisect(self, growings: int, passes: int) -> None:
        """Grow several times and refine; keep the least overload, then cut, then the first."""
        pins, found = list(self.sides), []
        for growing in range(growings):
            self.sides = list(pins)
            self.grow(growing)
            for _ in range(passes):
                if not self.improve():
                    break
            found.append((self.quality[:2], growing, self.sides))
        self.sides = min(found)[2]
