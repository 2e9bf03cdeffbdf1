"""Problems for `order`, `nested_dissection`, `updated`, `minimum_degree` and `symbolic`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import jetpy
import jetpy.distributed
from jetpy.distributed.communicator import Communicator
from jetpy.graph.csr import Graph
from jetpy.ordering.dense_rows import without_dense_rows
from tests.distributed.test_pieces import block_of, evenly
from tests.distributed.threads import run_on_threads
from tests.fuzz.checks import Finding, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_graph
from tests.fuzz.node_limits import NodeLimits, any_node_limits, on_all, smallest_graph
from tests.fuzz.oracles import Ints
from tests.ordering.changes import changed
from tests.ordering.constraints import LAST, TOGETHER, any_constraints, breaches

PRESETS = ["fast", "default", "best"]
CHOICES: Choices = {
    "order": ["minimum degree", "random", "natural", *PRESETS],
    "ordering method": ["nested dissection", "order"],
    "rows last": ["none", *LAST],
    "rows together": ["none", "none", *TOGETHER],
    "entries changed": [0, 0, 0, 1, 10, 100],
    "rows added": [0, 1, 5],
    "ordering processes": [0, 2, 3],
    "ordering session": [False, False, True],
    "order to start from": ["none", "none", "random", "minimum degree", "another seed"],
}


@dataclass(frozen=True, eq=False)
class Ordered:
    graph: Graph
    order: str
    given: Ints
    leaf_size: int
    seed: int
    limits: NodeLimits | None = None
    method: str = "nested dissection"
    constraints: dict[str, Any] = field(default_factory=dict)
    changes: tuple[int, int] = 0, 0
    processes: int = 0
    is_saved: bool = False
    start: str = "none"

    def __str__(self) -> str:
        limits = "" if self.limits is None else f", {self.limits}"
        limits += "".join(f", {name}" for name in self.constraints)
        return (
            f"ordering: {self.graph.name}, {self.method}, {self.order}, leaves {self.leaf_size}, "
            f"seed {self.seed}{limits}, changes {self.changes}, processes {self.processes}"
            f"{', saved' * self.is_saved}, start {self.start}"
        )

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, n, perm = self.graph, self.graph.n, self.given
        if self.order == "minimum degree":
            found = jetpy.minimum_degree(graph, **self.constraints)
            perm = found.perm.astype(np.int64)
            yield equal("permutation", np.sort(perm), np.arange(n))
            yield equal("permutation", perm[found.iperm], np.arange(n))
        if self.order in PRESETS:
            start = self.any_start()
            dissected = partial(self.dissected, start=start)
            (found, *others), large = on_all(dissected, engines, self.limits)
            yield from large
            if start is not None and not self.constraints and not len(without_dense_rows(graph)[2]):
                most = jetpy.symbolic(graph, start).operations
                yield same("operations of the start", max(found.operations, most), most)
            perm = found.perm.astype(np.int64)
            yield equal("permutation", np.sort(perm), np.arange(n))
            for other in others:
                yield equal("engines agree", other.perm, found.perm)
            if self.processes:
                for part in run_on_threads(self.processes, partial(self._process, start=start)):
                    yield equal("processes agree", part.perm, found.perm)
            yield same(
                "choices agree", [o.choices for o in others], [found.choices for _ in others]
            )
            yield from chosen(graph, found, is_exact="together" not in self.constraints)
            yield from separated(graph, found)
            yield from self.updated(found, engines)
        yield same("rows last and together", list(breaches(perm, self.constraints)), [])
        structure = jetpy.symbolic(graph, perm)
        parents, counts = eliminated(graph, perm)
        yield equal("elimination tree", structure.parents, parents)
        yield equal("column counts", structure.counts, counts)
        yield same("fill", structure.fill, int(counts.sum()))
        yield same("operations", structure.operations, sum(int(c) ** 2 for c in counts))
        is_free = self.order == "minimum degree" and not self.constraints
        if is_free and len(graph.indices) == 2 * (n - int((parents < 0).sum())):
            yield same("no fill of forests", structure.fill, n + len(graph.indices) // 2)

    def updated(self, old: jetpy.Ordering, engines: Sequence[Engine]) -> Iterator[Finding]:
        """Change the pattern twice, and check the updated orderings."""
        rng, (count, rows), graph = np.random.default_rng(self.seed), self.changes, self.graph
        constraints = {**self.constraints}
        for _ in range(2):
            graph = changed(rng, graph, count // 2, count - count // 2, rows)
            found, *others = (old.updated(graph, **engine) for engine in engines)
            if self.is_saved:
                with TemporaryDirectory() as folder:
                    old.save_session(Path(folder, "order.npz"))
                    read = jetpy.read_ordering(Path(folder, "order.npz"))
                others.append(read.updated(graph, **engines[0]))
            for other in others:
                yield equal("engines agree when updated", other.perm, found.perm)
            yield equal("permutation", np.sort(found.perm), np.arange(graph.n))
            yield from separated(graph, found)
            if "together" in constraints:
                constraints["together"] = np.append(constraints["together"], np.full(rows, -1))
            yield same("rows last and together", list(breaches(found.perm, constraints)), [])
            parents, counts = eliminated(graph, found.perm.astype(np.int64))
            yield equal("elimination tree", found.symbolic.parents, parents)
            yield equal("column counts", found.symbolic.counts, counts)
            old = found

    def _process(
        self, comm: Communicator, start: Ints | None
    ) -> jetpy.distributed.DistributedOrdering:
        """Order by one of several processes."""
        bounds = evenly(self.graph.n, comm.size)
        block = block_of(self.graph, bounds, comm.rank)
        given = {"preset": self.order, "seed": self.seed, **self.constraints}
        options: dict[str, Any] = {**given, "start": start, "threads": 1}
        own = block.indptr, block.indices
        if "together" in options:
            options["together"] = options["together"][slice(*bounds[comm.rank :][:2])]
        if self.method == "order":
            return jetpy.distributed.order(comm, own, **options)
        return jetpy.distributed.nested_dissection(comm, own, leaf_size=self.leaf_size, **options)

    def any_start(self) -> Ints | None:
        """Return the order to start from, if any."""
        if self.start == "minimum degree":
            return jetpy.minimum_degree(self.graph).perm.astype(np.int64)
        if self.start == "another seed":
            options: dict[str, Any] = {"preset": "fast", "seed": self.seed + 1, "threads": 1}
            return jetpy.nested_dissection(self.graph, **options).perm.astype(np.int64)
        if self.start == "random":
            return np.random.default_rng(self.seed).permutation(self.graph.n)
        return None

    def dissected(self, engine: Engine, start: Ints | None) -> jetpy.Ordering:
        given = {"preset": self.order, "seed": self.seed, **self.constraints, **engine}
        given["start"] = start
        if self.method == "order":
            return jetpy.order(self.graph, **given)
        return jetpy.nested_dissection(self.graph, leaf_size=self.leaf_size, **given)


def chosen(graph: Graph, found: jetpy.Ordering, *, is_exact: bool) -> Iterator[Finding]:
    """Check the choices of `order`: the cheapest methods, and their operations."""
    for choice in found.choices:
        own = choice.operations[choice.method]
        yield same("cheapest method", own, min(choice.operations.values()))
    if is_exact and sum(choice.rows for choice in found.choices) == graph.n:
        total = sum(choice.operations[choice.method] for choice in found.choices)
        yield same("operations", total, found.operations)


def separated(graph: Graph, found: jetpy.Ordering) -> Iterator[Finding]:
    """Check that each edge joins a node of the separator tree and itself or one above it."""
    tree = found.tree
    assert tree is not None
    yield same("tree", int(tree.starts[-1]), graph.n)
    node = np.repeat(np.arange(len(tree)), tree.sizes)[found.iperm]
    low, high = np.sort((node[graph.sources(0, graph.n)], node[graph.indices]), axis=0)
    while (low < high).any():
        low = np.where(low < high, tree.parents[low], low)
        if (low < 0).any():
            break
    yield equal("separated", low, high)


def eliminated(graph: Graph, perm: Ints) -> tuple[Ints, Ints]:
    """Return the elimination tree and the column counts by the rows below each column."""
    place = np.empty(graph.n, np.int64)
    place[perm] = np.arange(graph.n)
    below: list[set[int]] = [set() for _ in range(graph.n)]
    for v in range(graph.n):
        for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]:
            below[min(place[u], place[v])].add(int(max(place[u], place[v])))
    parents = np.full(graph.n, -1, np.int64)
    for j, rows in enumerate(below):
        if rows:
            parents[j] = min(rows)
            below[parents[j]] |= rows - {int(parents[j])}
    return parents, np.array([1 + len(rows) for rows in below], np.int64)


def ordered(rng: Random) -> Ordered:
    order = rng.pick("order", CHOICES["order"])
    limits = any_node_limits(rng) if order in PRESETS else None
    graph = any_graph(rng, most=None, largest=600, smallest=smallest_graph(limits))
    given = rng.permutation(graph.n) if order == "random" else np.arange(graph.n)
    leaf_size, seed = int(rng.integers(1, 60)), int(rng.integers(0, 1000))
    constraints, method, changes = {}, "nested dissection", (0, 0)
    if order in PRESETS:
        changes = tuple(rng.pick(what, CHOICES[what]) for what in ("entries changed", "rows added"))
        method = rng.pick("ordering method", CHOICES["ordering method"])
    if order not in ("random", "natural"):
        last, together = (rng.pick(what, CHOICES[what]) for what in ("rows last", "rows together"))
        constraints = any_constraints(rng, graph.n, last, together)
    processes, start = 0, "none"
    if order in PRESETS:
        start = rng.pick("order to start from", CHOICES["order to start from"])
    if order in PRESETS and limits is None:
        processes = rng.pick("ordering processes", CHOICES["ordering processes"])
    is_saved = order in PRESETS and limits is None  # limits change presets, which files name
    is_saved = is_saved and rng.pick("ordering session", CHOICES["ordering session"])
    given_to = leaf_size, seed, limits, method, constraints, changes, processes, is_saved, start
    return Ordered(graph, order, given, *given_to)
