"""Approximate minimum degree of a block with its halo, in plain Python with sets of neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from jetpy.graph.csr import Graph
from tests.tasks.workers import rows_of


class MinimumDegree:
    """A quotient graph: variables are adjacent to elements, and to other variables.

    The first `elements` members are elements from the beginning, which weigh 0.

    Ties go to the variable that entered the list of its degree last. The last list has all degrees
    that are as large as the number of variables, or larger.
    """

    def __init__(self, graph: Graph, members: Sequence[int], elements: int = 0) -> None:
        rows = [[u for u, _ in row] for row in rows_of(graph)]
        self.block = set(members)
        halo = dict.fromkeys(u for v in members for u in rows[v] if u not in self.block)
        self.variables = {v: [*rows[v]] for v in members}
        self.variables |= {h: [v for v in members if h in rows[v]] for h in halo}
        self.last = len(self.variables) - 1
        self.inside = {e: self.variables.pop(e) for e in members[:elements]}
        """Variables of each element."""
        self.elements = {
            v: [e for e in near if e in self.inside] for v, near in self.variables.items()
        }
        for v, near in self.variables.items():
            self.variables[v] = [u for u in near if u not in self.inside]
        self.weights = {v: int(graph.vertex_weights[v]) for v in self.variables}
        self.merged = {v: [v] for v in self.variables}
        self.remaining = sum(self.weights.values())
        self.degrees = {v: self.first_degree(v) for v in self.variables}
        self.lists: dict[int, list[int]] = {}
        for v in reversed(members[elements:]):
            self.enlist(v)
        self.order: list[int] = []
        while len(self.order) < len(members) - elements:
            self.eliminate(min(d for d, variables in self.lists.items() if variables))

    def first_degree(self, v: int) -> int:
        """Return a bound of the degree: elements may overlap."""
        inside = [[u for u in self.inside[e] if u != v] for e in self.elements[v]]
        near = [u for one in [*inside, self.variables[v]] for u in one]
        return min(sum(self.weights[u] for u in near), self.remaining)

    def enlist(self, v: int) -> None:
        self.lists.setdefault(min(self.degrees[v], self.last), []).append(v)

    def join(self, v: int, u: int) -> None:
        """Merge v into u."""
        self.weights[u] += self.weights.pop(v)
        self.merged[u] += self.merged[v]

    def eliminate(self, degree: int) -> None:
        """Make the first variable of a degree an element, and update all that are in it."""
        p = self.lists[degree].pop()
        near = [u for e in self.elements[p] for u in self.inside.pop(e)] + self.variables[p]
        own = [u for u in dict.fromkeys(near) if u in self.weights and u != p]
        for v in own:
            if v in self.block:
                self.lists[min(self.degrees[v], self.last)].remove(v)
        outside = {
            e: sum(self.weights.get(u, 0) for u in inside if u not in own)
            for e, inside in self.inside.items()
        }
        for v in own:
            self.update(v, p, own, outside)
        self.inside = {e: inside for e, inside in self.inside.items() if outside[e]}
        own = self.without_copies([v for v in own if v in self.weights])
        self.remaining -= self.weights.pop(p)
        total = sum(self.weights[v] for v in own)
        for v in own:
            weight = self.weights[v]
            degree = self.degrees[v] + total - weight
            self.degrees[v] = min(degree, self.remaining - weight)
            if v in self.block:
                self.enlist(v)
        self.inside[p] = own
        self.order += self.merged[p]

    def update(self, v: int, p: int, own: list[int], outside: dict[int, int]) -> None:
        """Remove what the new element covers, or merge a variable that has nothing else with p."""
        elements = [e for e in self.elements[v] if outside.get(e)]
        others = [u for u in self.variables[v] if u in self.weights and u not in own and u != p]
        if not elements and not others and v in self.block:
            self.join(v, p)
            return
        degree = sum(outside[e] for e in elements) + sum(self.weights[u] for u in others)
        self.degrees[v] = min(self.degrees[v], degree)
        self.elements[v] = [*elements, p]
        self.variables[v] = others[1:] + others[:1]

    def without_copies(self, own: list[int]) -> list[int]:
        """Merge variables with the same neighbours into the last of them; return the others."""
        last: dict[tuple[bool, frozenset[int], frozenset[int]], int] = {}
        for v in reversed(own):
            near = frozenset(self.elements[v]), frozenset(self.variables[v])
            u = last.setdefault((v in self.block, *near), v)
            if u != v:
                self.join(v, u)
        return [v for v in own if v in self.weights]
