"""The state of one level's refinement: the partition, its table and the update of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend, Workunit
from jetpy.backends.level import DeviceGraph
from jetpy.graph import INT32_MAX
from jetpy.problem import Metric, Problem
from jetpy.refinement.orders import Order
from jetpy.workloads import connectivity as kernels
from jetpy.workloads import projection as projection_kernels

COUNTERS = 64
"""Counters that a sum over many vertices is spread over, so that threads do not meet at one."""
BLOCK = 512
"""Vertices in a row that share such a counter."""
REBUILD, WATCHED, SHORT = 2 * COUNTERS, 2 * COUNTERS + 1, 2 * COUNTERS + 2
"""Places in the account, after the part weights."""
REBUILD_SHARE = 8
"""Rows are rebuilt rather than updated when more than 1/8 of the vertices moved."""
SHARE, INDICES = 8, 1 << 18
"""Indices that share the edges of a moved vertex, and most of them all, in a recorded launch."""
SPARE = 1024
"""Watched vertices that a launch from a recording has room for, beside half as many again."""
LOOSE = 0.75
"""A vertex without adjacent parts is watched if its edges weigh at most this share of what those
of the average vertex do, each per vertex weight."""


@dataclass(frozen=True, eq=False)
class Members:
    """Some vertices: the first `count` of a list (int32, on the back end); -1 is none."""

    vertices: Array
    count: int


@dataclass(frozen=True, eq=False)
class Measures:
    """Cut and part weights (int64, shape (k,), host).

    The cut is the weight of the undirected edges between parts, each times the distance of these.
    Projection to a finer level leaves both as they are.
    """

    cut: int
    part_weights: npt.NDArray[np.int64]

    @property
    def heaviest(self) -> int:
        """Weight of the heaviest part."""
        return int(self.part_weights.max())

    def overload(self, problem: Problem) -> int:
        """Return the most that a part weighs above its limit; not positive where none does."""
        return int((self.part_weights - problem.limits).max())


class RefinementState:
    """A partition of one level, mutable, with everything that depends on it kept up to date.

    An iteration looks at the watched vertices only: those that had an adjacent part at some time
    since the start, and those that little ties to their own. Where the back end prefers lists,
    it lists the ones that matter before each launch. Elsewhere it is a fixed sequence of launches
    over the watched vertices, without a look at any result: a `Recording`.

    Attributes
    ----------
    parts : int32, shape (n,)
    measures : Measures
        Of `parts` at the start.
    kept : int32, shape (n,)
        The parts at the time of the last orders to keep them.
    best : int32, shape (n,)
        Cached best destination: -1 no adjacent part, -2 unknown, -3 not watched.
    destinations : int32, shape (n,)
        Where an iteration puts each vertex; -1 if it stays.
    sources : int32, shape (n,)
        Where it was before.
    movers : int32
        The vertices just moved (see `move` in `jetpy.workloads.connectivity`).
    rows, slots, weights : the connectivity table (`jetpy.workloads.connectivity`)
    watched : Members
        Most in ascending order. On a GPU, launches have room for some more, so that recordings
        last.
    loose : int
        Most weight of the edges, in 128ths per vertex weight, of a vertex that is always watched.
    limits : int64, shape (k,)
        Largest weights of the parts, on the back end.
    account : Mirror of shape (k + SHORT + 1,)
        Part weights, change of the cut, moved vertices and more (see `move` in
        `jetpy.workloads.connectivity`).
    orders : Mirror of shape (len(Order),)
        What an iteration is to do, and how refinement goes (`jetpy.workloads.conduct`).
    """

    def __init__(self, backend: Backend, graph: DeviceGraph, problem: Problem) -> None:
        self.backend, self.graph, self.problem = backend, graph, problem
        self.k = k = problem.k
        self._objective = upload_objective(backend, graph, problem.metric)
        self.limits = backend.from_host(problem.limits)
        n = graph.n
        self.parts, self.sources, self.kept = backend.empty(n), backend.empty(n), backend.empty(n)
        self.best, self.gains, self.own = backend.empty(n), backend.empty(n), backend.empty(n)
        self.locks = backend.full(n, 0)
        self.priorities, self.destinations = backend.empty(n), backend.empty(n)
        self.account = backend.mirror(k + SHORT + 1)
        self.orders = backend.mirror(len(Order))
        self.rows = backend.empty(n)
        size = backend.scan(n, kernels.size_rows, indptr=graph.indptr, rows=self.rows, k=k)
        self.slots, self.weights = backend.empty(size), backend.empty(size)
        self._list = backend.full(max(n, 1), -1)
        self._list_size = -(-n // (COUNTERS * BLOCK)) * BLOCK
        self.movers = backend.empty(COUNTERS * self._list_size)
        self.watched = Members(self._list, 0)

    def start(self, parts: Array, known: Measures | None = None) -> None:
        """Take over the contents of `parts` (int32, shape (n,)).

        `known` are its measures, where the caller has them.
        """
        backend, n = self.backend, self.graph.n
        self.parts[:] = parts
        self.sources[:] = parts
        self.kept[:] = parts
        self.measures = known or self._measure(parts)
        hubs = self.graph.hubs
        hubs.launch_lanes(kernels.clear_rows, indptr=self.graph.indptr, k=self.k, **self.table)
        hubs.launch(
            n,
            kernels.build_rows,
            parts=self.parts,
            priorities=self.priorities,
            destinations=self.destinations,
            best=self.best,
            own=self.own,
            sources=self.sources,
            watched=self._list,
            k=self.k,
            **self._objective,
            **self.adjacency,
            **self.table,
        )
        weight = max(1, int(self.measures.part_weights.sum()))
        self.loose = int(min(LOOSE * 128 * self.graph.edge_weight / weight, INT32_MAX))
        account = self.account.host
        account[: self.k] = self.measures.part_weights
        account[self.k + WATCHED] = self._list_in_order()
        backend.push(self.account)
        self.make_room()

    def _measure(self, parts: Array) -> Measures:
        """Compute the measures of a partition from scratch."""
        backend, n = self.backend, self.graph.n
        part_weights = backend.full(self.k, 0)
        backend.parallel_for(
            n,
            projection_kernels.weigh_parts,
            graph=self.graph,
            parts=parts,
            part_weights=part_weights,
        )
        cost = cost_of(backend, self.graph, parts, self.problem.metric, self.k)
        return Measures(cost, backend.to_host(part_weights).astype(np.int64))

    def make_room(self) -> None:
        """Let launches reach all watched vertices."""
        count = max(1, int(self.account.host[self.k + WATCHED]))
        if self.backend.prefers_lists:
            if count > self._in_order + self._in_order // 4 + SPARE:
                self._list_in_order()
            self.watched = Members(self._list, count)
        elif count > self.watched.count:
            self._list_in_order()
            self.watched = Members(self._list, min(self.graph.n, count + count // 2 + SPARE))

    def _list_in_order(self) -> int:
        """List the watched vertices in ascending order, which is quicker to work on."""
        self._in_order = self.backend.scan(
            self.graph.n,
            kernels.list_watched,
            vertex_weights=self.graph.vertex_weights,
            loose=self.loose,
            best=self.best,
            own=self.own,
            watched=self._list,
        )
        return self._in_order

    @property
    def table(self) -> dict[str, Array]:
        """The table's arrays, as workunits name them."""
        return {"rows": self.rows, "slots": self.slots, "weights": self.weights}

    @property
    def adjacency(self) -> dict[str, Array]:
        """The graph's adjacency, as workunits name it."""
        return {
            "indptr": self.graph.indptr,
            "indices": self.graph.indices,
            "edge_weights": self.graph.edge_weights,
        }

    def list_members(
        self, among: Members, workunit: Workunit, vertices: Array, **arguments: Any
    ) -> Members:
        """Return all of some vertices that a workunit lists, and maybe others.

        `vertices` has room for a list of them.
        """
        if not self.backend.prefers_lists:
            return among
        count = self.backend.scan(
            among.count,
            workunit,
            candidates=among.vertices,
            vertices=vertices,
            **arguments,
        )
        return Members(vertices, count)

    @property
    def sections(self) -> int:
        """Counters that stand for each one where vertices are counted by part and slot."""
        return 8 if self.k <= 128 and self.backend.prefers_lists else 1

    @property
    def moves(self) -> dict[str, object]:
        """What it takes to move vertices, as workunits name it."""
        return {
            "parts": self.parts,
            "sources": self.sources,
            "destinations": self.destinations,
            "vertex_weights": self.graph.vertex_weights,
            "movers": self.movers,
            "account": self.account.device,
            "orders": self.orders.device,
            "list_size": self._list_size,
            "k": self.k,
            **self._objective,
        }

    def launch_update(self) -> None:
        """Bring the table, the cut and the best destinations up to date with moves just made.

        Moved vertices must be watched, and destinations of hubs be set (-1: it has not moved).
        """
        backend, hubs, n = self.backend, self.graph.hubs, self.graph.n
        rows = {
            "best": self.best,
            "own": self.own,
            "watched": self._list,
            **self.moves,
            **self.adjacency,
            **self.table,
        }
        may_rebuild = backend.prefers_lists or self.watched.count == n
        if may_rebuild:
            backend.parallel_for(1, kernels.choose_update, n=n, share=REBUILD_SHARE, **self.moves)
        indices, share, rebuilt = min(INDICES, len(self.movers) * SHARE), SHARE, None
        if backend.prefers_lists:
            counts = self.account.host[self.k + COUNTERS : self.k + 2 * COUNTERS]
            indices, share = COUNTERS * int(counts.max()), 1
            rebuilt = self.account.host[self.k + REBUILD]
        if rebuilt != 1:
            hubs.launch(indices, kernels.subtract_moves, share=share, **rows)
            hubs.launch(indices, kernels.add_moves, share=share, **rows)
        if rebuilt != 0 and may_rebuild:
            hubs.launch(n, kernels.rebuild_rows, **rows)
            hubs.launch_lanes(kernels.rebuild_hubs, **rows)


class Recording:
    """A sequence of launches on a state, made again and again.

    Played from a recording, as long as launches need no more room than when it was made, unless
    the back end prefers lists: then launches differ from one time to the next.
    """

    def __init__(self, state: RefinementState) -> None:
        self._state = state
        self._watched: Members | None = None
        self._program: Callable[[], None] = lambda: None

    def play(self, launches: Callable[[], None]) -> None:
        """Make the launches."""
        state = self._state
        if state.backend.prefers_lists:
            launches()
            return
        if self._watched is not state.watched:
            self._watched = state.watched
            self._program = state.backend.record(launches)
        self._program()


def upload_metric(backend: Backend, metric: Metric) -> dict[str, Any]:
    """Return the distances of parts, as workunits name them."""
    return {"metric": metric.kind, "distances": backend.from_host(metric.distances)}


def upload_objective(backend: Backend, graph: DeviceGraph, metric: Metric) -> dict[str, Any]:
    """Return these, and in which units gains are kept and losses sorted into slots.

    Gains are kept as 32-bit numbers, at most the weight of all edges times the largest distance.
    """
    most = graph.edge_weight * metric.farthest
    return {
        "unit": 1 << max(most.bit_length() - 31, 0),
        "scale": max(metric.farthest >> 10, 1),
        **upload_metric(backend, metric),
    }


def cost_of(backend: Backend, graph: DeviceGraph, parts: Array, metric: Metric, k: int) -> int:
    """Return the weight of the undirected edges, each times the distance of its parts."""
    directed = backend.reduce(
        graph.n,
        projection_kernels.cost_of_vertex,
        graph=graph,
        parts=parts,
        metric=SimpleNamespace(
            metric_kind=metric.kind, distances=backend.from_host(metric.distances), k=k
        ),
    )
    return directed // 2
