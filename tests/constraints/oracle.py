"""Moves that keep parts connected, in plain Python. Each step recounts everything.

It has no spanning trees, heaps or linked lists. All numbers are Python integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from jetpy.graph.csr import Graph
from jetpy.workloads.constraints.component_balance import ANYWHERE, MAX_FAILURES
from jetpy.workloads.constraints.components import FEW_EDGES, STEPS_PER_SEARCH
from tests.hashing import mix

Key = tuple[int, int]
UNLIMITED = 1 << 60


def components(rows: Sequence[Iterable[int]], vertices: Iterable[int]) -> list[set[int]]:
    """Return the connected components of an induced subgraph, ordered by lowest vertex."""
    left, found = set(vertices), []
    while left:
        component, waiting = set(), [min(left)]
        while waiting:
            v = waiting.pop()
            if v in left:
                left.remove(v)
                component.add(v)
                waiting += rows[v]
        found.append(component)
    return found


@dataclass(eq=False)
class Search:
    """The vertices that merged searches have found, and the number still to be expanded."""

    vertices: set[int]
    waiting: int = 1

    def take(self, others: Iterable[Search]) -> None:
        for other in others:
            self.vertices |= other.vertices
            self.waiting += other.waiting


@dataclass
class Moves:
    """A partition; part k, if it exists, contains vertices that must not move.

    `members` lists the vertices of each part, the last that joined first.
    """

    graph: Graph
    parts: list[int]
    limits: list[int]
    movable: list[bool]
    seed: int
    max_steps: int = UNLIMITED
    failed_slots: int = 0
    changes: list[int] = field(default_factory=list)
    failed: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    lower_limits: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.k = len(self.limits)
        self.lower_limits = self.lower_limits or [0] * self.k
        self.rows = [
            self.graph.indices[start:stop].tolist() for start, stop in pairwise(self.graph.indptr)
        ]
        self.edges = [
            self.graph.edge_weights[start:stop].tolist()
            for start, stop in pairwise(self.graph.indptr)
        ]
        self.weights = self.graph.vertex_weights.tolist()
        self.members = [
            [v for v, p in enumerate(self.parts) if p == own] for own in range(self.k + 1)
        ]
        self.movable = [may and p < self.k for may, p in zip(self.movable, self.parts, strict=True)]
        self.changes = [0] * (self.k + 1)

    def room(self, p: int) -> int:
        """Return the weight that a part may still gain; part k never gains any."""
        return self.limits[p] - self.weight_of(self.members[p]) if p < self.k else -UNLIMITED

    def spare(self, p: int) -> int:
        """Return the weight that a part may lose."""
        return self.weight_of(self.members[p]) - self.lower_limits[p]

    def weight_of(self, vertices: Iterable[int]) -> int:
        return sum(self.weights[v] for v in vertices)

    def connection(self, vertices: Iterable[int]) -> dict[int, int]:
        """Return the weight of the edges from some vertices to the others of each part."""
        inside, found = set(vertices), dict[int, int]()
        for v in inside:
            for u, weight in zip(self.rows[v], self.edges[v], strict=True):
                if u not in inside:
                    found[self.parts[u]] = found.get(self.parts[u], 0) + weight
        return found

    def has_many_edges(self, v: int) -> bool:
        return len(self.rows[v]) > FEW_EDGES

    # Groups that can leave a part

    def group(self, v: int) -> list[int]:
        """Return the group that leaves its part together with a vertex; empty if none can.

        Searches from all neighbours expand one vertex each in turn, and merge if they meet. All but
        the search that lasts longest leave, in the order in which they were found.
        """
        if not self.movable[v]:
            return []
        found = [u for u in self.rows[v] if self.parts[u] == self.parts[v]]
        searches = [Search({u}) for u in found]
        waiting, put_off, is_late = list(found), list[int](), False
        steps = -STEPS_PER_SEARCH * len(found)
        while count_active(searches) > 1 and steps <= self.max_steps:
            if not waiting:
                waiting, put_off, is_late = put_off, [], True
            u = waiting.pop(0)
            if self.has_many_edges(u) and not is_late:
                put_off.append(u)
                continue
            steps += len(self.rows[u])
            [own] = [search for search in searches if u in search.vertices]
            for w in self.rows[u]:
                if w != v and self.parts[w] == self.parts[v] and w not in own.vertices:
                    met = [search for search in searches if w in search.vertices]
                    searches = [search for search in searches if search not in met]
                    own.take(met or [Search({w})])
                    if not met:
                        waiting.append(w)
                        found.append(w)
            if count_active(searches) > 1:
                own.waiting -= 1
        if count_active(searches) > 1:
            return []
        over = set().union(*(own.vertices for own in searches if own.waiting == 0))
        group = [v, *(u for u in found if u in over)]
        return group if all(self.movable[u] for u in group) else []

    def may_leave(self, group: Sequence[int], p: int) -> bool:
        """Return whether the group is not empty and leaves at least one vertex in its part."""
        return 0 < len(group) < len(self.members[p])

    def move(self, group: Sequence[int], q: int) -> None:
        p = self.parts[group[0]]
        for v in group:
            self.members[p].remove(v)
            self.members[q].insert(0, v)
            self.parts[v] = q
        self.changes[p] += 1
        self.changes[q] += 1

    # A smaller cut

    def lower_cut(self) -> None:
        """Move the group of the vertex with the highest gain until no move gains."""
        queue: dict[int, Key] = {}
        done: set[int] = set()
        for v in range(self.graph.n):
            self.queue_again(v, queue, done)
        while queue:
            v = self.take_first(queue, done)
            p, group = self.parts[v], self.group(v)
            if not self.may_leave(group, p):
                continue
            connection, weight = self.connection(group), self.weight_of(group)
            open_parts = [q for q in connection if q != p and self.room(q) >= weight]
            if not open_parts or self.spare(p) < weight:
                continue
            q = max(open_parts, key=lambda q: (connection[q], self.room(q), -q))
            if connection[q] > connection.get(p, 0):
                self.move(group, q)
                for u in group:
                    for w in [u, *self.rows[u]]:
                        self.queue_again(w, queue, done)

    def queue_again(self, v: int, queue: dict[int, Key], done: set[int]) -> None:
        if not self.movable[v] or self.is_kept(v, queue, done):
            return
        connection = self.connection([v])
        own = connection.pop(self.parts[v], 0)
        if connection:
            queue[v] = max(connection.values()) - own, mix(v ^ self.seed)
        else:
            queue.pop(v, None)

    def is_kept(self, v: int, queue: dict[int, Key], done: set[int]) -> bool:
        """Return whether a vertex with many edges keeps its key, or stays out of the queue."""
        return self.has_many_edges(v) and (v in queue or v in done)

    def take_first(self, queue: dict[int, Key], done: set[int]) -> int:
        v = max(queue, key=lambda v: queue[v])
        del queue[v]
        if self.has_many_edges(v):
            done.add(v)
        return v

    # Balance

    def balance(self, where: int) -> None:
        """Push weight out of overweight parts, one after the other, while that helps."""
        has_helped = True
        while has_helped:
            has_helped = False
            for p in range(self.k):
                failures = 0
                while self.room(p) < 0 and failures < MAX_FAILURES:
                    path = self.path_to_anywhere(p) if where == ANYWHERE else self.path_to_room(p)
                    if path is None:
                        break
                    if self.push_along(path, where):
                        has_helped, failures = True, 0
                    else:
                        failures += 1

    def path_to_anywhere(self, p: int) -> list[int] | None:
        q = max(range(self.k), key=lambda q: (self.room(q), -q))
        return [p, q] if self.room(q) > 0 else None

    def path_to_room(self, p: int) -> list[int] | None:
        """Return a shortest path of parts from p to one with room, without failed pairs."""
        paths = {p: [p]}
        waiting = [p]
        while waiting:
            giver = waiting.pop(0)
            for q in [self.parts[u] for v in self.members[giver] for u in self.rows[v]]:
                if q not in paths and not self.has_failed(giver, q):
                    paths[q] = [*paths[giver], q]
                    waiting.append(q)
                    if self.room(q) > 0:
                        return paths[q]
        return None

    def slot(self, p: int, q: int) -> int:
        """Return the slot that records a failed pair (p, q); pairs may share a slot."""
        return mix((p ^ self.seed) + (q << 16)) * self.failed_slots >> 32

    def has_failed(self, p: int, q: int) -> bool:
        found = self.failed.get(self.slot(p, q))
        return found == (p, q, self.changes[p] + self.changes[q])

    def push_along(self, path: Sequence[int], where: int) -> bool:
        """Move weight along a path, last part first; return whether the first part lost any."""
        amount = min(-self.room(path[0]), self.room(path[-1]))
        for p, q in reversed([*pairwise(path)]):
            moved = self.transfer(amount, p, q, where)
            if moved == 0:
                self.failed[self.slot(p, q)] = p, q, self.changes[p] + self.changes[q]
                return False
            amount = min(amount, moved)
        return True

    def transfer(self, amount: int, p: int, q: int, where: int) -> int:
        """Move groups of at most `amount` from p to q, otherwise the lightest heavier group."""
        queue: dict[int, Key] = {}
        done: set[int] = set()
        for v in self.members[p]:
            self.queue_for(v, p, q, where, queue, done)
        heavier, lightest, left = None, self.room(q) + 1, amount
        while left > 0 and queue:
            v = self.take_first(queue, done)
            group = self.group(v) if self.parts[v] == p else []
            weight = self.weight_of(group)
            if not self.may_leave(group, p) or weight > min(self.room(q), self.spare(p)):
                continue
            if weight <= left:
                left -= weight
                self.move_and_queue(group, p, q, where, queue, done)
            elif weight < lightest:
                heavier, lightest = v, weight
        moved = amount - left
        if left > 0 and heavier is not None and self.parts[heavier] == p:
            group = self.group(heavier)
            weight = self.weight_of(group)
            if self.may_leave(group, p) and weight <= min(self.room(q), self.spare(p)):
                self.move_and_queue(group, p, q, where, queue, done)
                moved += weight
        return moved

    def move_and_queue(
        self,
        group: Sequence[int],
        p: int,
        q: int,
        where: int,
        queue: dict[int, Key],
        done: set[int],
    ) -> None:
        self.move(group, q)
        for v in group:
            for u in self.rows[v]:
                self.queue_for(u, p, q, where, queue, done)

    def queue_for(
        self, v: int, p: int, q: int, where: int, queue: dict[int, Key], done: set[int]
    ) -> None:
        """Queue a vertex of p by the gain of moving it to q, if it can move there."""
        if self.parts[v] == p and self.movable[v] and not self.is_kept(v, queue, done):
            connection = self.connection([v])
            if where == ANYWHERE or q in connection:
                gain = connection.get(q, 0) - connection.get(p, 0)
                queue[v] = gain, mix(v ^ self.seed)


def count_active(searches: Iterable[Search]) -> int:
    """Return the number of searches that still have vertices to expand."""
    return sum(search.waiting > 0 for search in searches)
