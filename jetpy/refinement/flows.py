"""Maximum flows between pairs of parts; they find cuts that single moves do not find.

Source: Sanders, Schulz, "Engineering multilevel graph partitioning algorithms", ESA 2011; the order
of the pairs: Gottesbüren, Heuer, Sanders, "Parallel flow-based hypergraph partitioning", SEA 2022.
The host computes flows, also for a GPU, because one thread processes a whole pair; networks are
built where the graph is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, carry, carry_graph
from jetpy.device.processes import ALONE, Processes
from jetpy.engines.base import Array, Backend
from jetpy.lazy import cached_property
from jetpy.problem.problem import EDGE_CUT, Problem
from jetpy.refinement.device_flows import DeviceFlows
from jetpy.refinement.host_flows import HostFlows
from jetpy.refinement.measures import Measures
from jetpy.refinement.pair_flows import PairFlows
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.loads import Loads
from jetpy.workloads.flows.regions import KEPT_OUTSIDE, OUTSIDE, Pair

MAX_CUT, MAX_CUT_COARSE = 0.1, 0.05
"""Maximum cut, as a share of the edge weight, for flows on the finest level and on coarse levels.
Above it, flows gain little and take long."""
MAX_DEGREE = 128
"""Vertices of a higher degree are in no region, because one index of a launch visits all edges of a
vertex."""
REGION_SHARE = 4
"""A region weighs at most 1 / REGION_SHARE of each part."""
MAX_EDGES, MIN_EDGES = 16_000, 1_000
"""Flows leave out pairs of parts with more than MAX_EDGES / k edges between them and more than
`MIN_EDGES`. There, as in three-dimensional meshes, flows take long, and refinement on finer levels
finds most of what they gain."""
DENSE, DENSE_SHARE = 16, 4
"""On coarse levels with an average degree of at least `DENSE`, as those of stencils and of nodes of
quadratic tetrahedra, pairs may have 1 / DENSE_SHARE of these edges: almost nothing of what flows
gain there remains."""
MIN_YIELD, TRIAL_ARCS = 100, 200_000
"""Flows of a level end if they have gained less than 1 / MIN_YIELD of its cut for each time that
their networks have had as many arcs as the level, but not before `TRIAL_ARCS` arcs. With more
sweeps, they may gain less in proportion."""
LEVEL_SHARE, PARTS = 4, 16
"""Flows of a level also end when their networks have had more arcs than `TRIAL_ARCS` and than
1 / LEVEL_SHARE of the level's; with more than `PARTS` parts, k / PARTS times as many, because more
pairs then have no part in common, so that more threads can work. This bound and `MAX_EDGES` apply
to a single sweep, because several sweeps are for the smallest cut."""
HOST_SIZE = 600_000
"""Where a level has at most this number of vertices and directed edges, copying it to the host
takes less time than the launches that build its networks on a GPU."""


@dataclass(eq=False)
class Yield:
    """The cut and the directed edges of a level, and what flows gain there with how many arcs.

    All of it is the same on every back end.
    """

    cut: int
    nnz: int
    sweeps: int
    k: int
    gain: int = 0
    arcs: int = 0

    def add(self, rows: npt.NDArray[np.int64]) -> None:
        """Add the gains and the arcs of pairs, given their rows, shape (pairs, Pair.COUNT)."""
        self.gain += int(rows[:, Pair.GAIN].sum())
        self.arcs += int(rows[:, Pair.ARCS].sum())

    @property
    def ends(self) -> bool:
        """Whether more flows would take too long, or probably gain little for their time."""
        if self.arcs < TRIAL_ARCS:
            return False
        most = max(TRIAL_ARCS, self.nnz // LEVEL_SHARE) * max(1, self.k // PARTS)
        is_long = self.sweeps == 1 and self.arcs >= most
        return is_long or self.gain * self.nnz * MIN_YIELD * self.sweeps < self.cut * self.arcs


def builds_on_device(backend: Backend, graph: DeviceGraph) -> bool:
    """Return whether the networks of a level are built where its graph is, and flows on the host.

    Otherwise the host does both. The parts are the same.
    """
    return backend.copies and graph.size > HOST_SIZE


def builder_of(backend: Backend, graph: DeviceGraph) -> tuple[Backend, type[PairFlows]]:
    """Return where the networks of a level are built, and by what."""
    if builds_on_device(backend, graph):
        return backend, DeviceFlows
    return backend.host, HostFlows


def are_due(graph: DeviceGraph, problem: Problem, measures: Measures, *, finest: bool) -> bool:
    """Return whether flows should run on a level, given the measures of a partition."""
    share = MAX_CUT if finest else MAX_CUT_COARSE
    return (
        problem.metric is EDGE_CUT
        and graph.global_size <= problem.options.refine.flow_size
        and 0 < 2 * measures.cut <= share * graph.edge_weight
    )


class Flows:
    """Flow refinement of one level, for any number of partitions.

    Each of the `processes` improves some pairs of a turn. `several` has further weights, as for
    `PairFlows`, with the loads of the parts that are given.
    """

    def __init__(
        self,
        backend: Backend,
        graph: DeviceGraph,
        problem: Problem,
        pinned: Array | None = None,
        processes: Processes = ALONE,
        several: Loads | None = None,
    ) -> None:
        self.problem, self._processes, self._several = problem, processes, several
        self._source, self._device, self._pinned = backend, graph, pinned
        self.backend, self._method = builder_of(backend, graph)

    @cached_property
    def method(self) -> PairFlows:
        """What improves the pairs of a turn."""
        graph = carry_graph(self._device, self._source, self.backend)
        k, hops = self.problem.k, self.problem.options.refine.flow_hops
        shared = self._processes, self._several
        return self._method(self.backend, graph, k, hops, self._places(), *shared)

    def improve(
        self, parts: Array, measures: Measures, *, finest: bool = True
    ) -> tuple[Array, Measures]:
        """Return a partition (int32, shape (n,)) with smaller cuts between pairs, and its measures.

        `parts` may be changed in place.
        """
        found = carry(parts, self._source, self.backend)
        weights = measures.part_weights.copy()
        cut, unsettled = measures.cut, np.ones(self.problem.k, np.bool_)
        sweeps = self.problem.options.refine.flow_sweeps
        yields = Yield(cut, self._device.global_nnz, sweeps, self.problem.k)
        most = most_edges(self._device, self.problem.k, finest=finest)
        for _ in range(sweeps):
            gains = self._sweep(found, weights, unsettled, yields, most)
            cut -= int(gains.sum()) // 2
            unsettled = gains > 0
            if not unsettled.any() or yields.ends:
                break
        if cut == measures.cut:
            return parts, measures
        return carry(found, self.backend, self._source), Measures(cut, weights)

    def _sweep(
        self,
        parts: Array,
        weights: npt.NDArray[np.int64],
        unsettled: npt.NDArray[np.bool_],
        yields: Yield,
        most: int,
    ) -> npt.NDArray[np.int64]:
        """Improve each pair with an unsettled part once; return the gains by part, shape (k,).

        A single sweep leaves out pairs with more than `most` edges. The sweep stops early if
        `yields` ends the flows of the level.
        """
        cut = self.method.begin_sweep(parts)
        gains = np.zeros(self.problem.k, np.int64)
        wanted = unsettled[cut.parts].any(axis=1)
        if yields.sweeps == 1:
            wanted &= cut.edges <= most
        chosen = np.flatnonzero(wanted)
        taken = [chosen[turn] for turn in turns(cut.parts[chosen], cut.weights[chosen])]
        self.method.begin_turns(taken)
        for pairs in taken:
            own = pairs[self._processes.share(cut.edges[pairs])]
            rows = self.method.improve(pair_rows(cut.parts[own], weights, self.problem), own)
            first, second = rows[:, Pair.PARTS], rows[:, Pair.PARTS + 1]
            weights[first] -= rows[:, Pair.WEIGHT]
            weights[second] += rows[:, Pair.WEIGHT]
            gains[first] += rows[:, Pair.GAIN]
            gains[second] += rows[:, Pair.GAIN]
            yields.add(rows)
            if yields.ends:
                break
        return gains

    def _places(self) -> Array:
        if self._pinned is None:
            return self.backend.full(self._device.n, OUTSIDE)
        pinned = self._source.to_host(self._pinned)
        places = np.where(pinned == NO_PART, OUTSIDE, KEPT_OUTSIDE).astype(np.int32)
        return self.backend.from_host(places)


def most_edges(graph: DeviceGraph, k: int, *, finest: bool) -> int:
    """Return the maximum number of edges between two parts for a single sweep of flows."""
    most = max(MAX_EDGES // k, MIN_EDGES)
    is_dense = not finest and graph.global_nnz >= DENSE * graph.global_n
    return most // DENSE_SHARE if is_dense else most


def turns(
    pairs: npt.NDArray[np.int32], weights: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.int64]]:
    """Return the indices of all pairs, divided into turns in which no two pairs share a part.

    Pairs (int32, shape (count, 2)) of larger weight (int64, shape (count,)) come first.
    """
    taken: dict[int, int] = {}
    result: list[list[int]] = []
    order = np.argsort(-weights, kind="stable")
    for number, (p, q) in zip(order.tolist(), pairs[order].tolist(), strict=True):
        both = taken.get(p, 0) | taken.get(q, 0)
        turn = (~both & both + 1).bit_length() - 1
        taken[p] = taken.get(p, 0) | 1 << turn
        taken[q] = taken.get(q, 0) | 1 << turn
        if turn == len(result):
            result.append([])
        result[turn].append(number)
    return [np.array(turn) for turn in result]


def pair_rows(
    pairs: npt.NDArray[np.int32], weights: npt.NDArray[np.int64], problem: Problem
) -> npt.NDArray[np.int64]:
    """Return the `Pair` rows of pairs of parts (int32, shape (count, 2)), given all part weights.

    Both parts together keep their weight, so the lower limit of one is an upper limit of the other.
    """
    rows = np.zeros((len(pairs), Pair.COUNT), np.int64)
    rows[:, Pair.PARTS : Pair.PARTS + 2] = pairs
    rows[:, Pair.MAX_DEGREE] = MAX_DEGREE
    rows[:, Pair.ROOMS : Pair.ROOMS + 2] = weights[pairs] // REGION_SHARE
    rows[:, Pair.WEIGHTS : Pair.WEIGHTS + 2] = weights[pairs]
    limits = problem.limits[pairs]
    if problem.part_lower_limits is not None:
        in_both = weights[pairs].sum(axis=1, keepdims=True)
        limits = np.minimum(limits, in_both - problem.lower_limits[pairs[:, ::-1]])
    rows[:, Pair.LIMITS : Pair.LIMITS + 2] = limits
    return rows
