"""Weak and strong rebalancing (Jet, section 4.2): evict from overweight parts at least loss."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np

from jetpy.device.halo import ALIGNED_BITS
from jetpy.engines.base import Array, Count
from jetpy.refinement.measures import Measures
from jetpy.refinement.plan import Plan
from jetpy.refinement.state import RefinementState
from jetpy.workloads.common.control_block import Counter, Tasks
from jetpy.workloads.refinement import iterations
from jetpy.workloads.refinement import rebalance as kernels
from jetpy.workloads.refinement.losses import BUCKETS
from jetpy.workloads.refinement.rebalance import REGION_BITS, REGION_SUMS, EvictedSums, Eviction

MAX_HALF_BITS = 5
"""Each pass of `tally_digits` and `narrow_down` determines at most 2 * MAX_HALF_BITS bits of the
last vertex's id."""
LAST_BITS = ALIGNED_BITS
"""Maximum number of id bits left to `evict`, which compares the vertices that share all other bits.
None are left if these vertices may be in different pieces of the graph."""


class Rebalancer(Protocol):
    """Begins all iterations, and makes those in which a part is outside its limits."""

    def move(self) -> None:
        """Adapt to the new level of the state."""

    def start(self, measures: Measures) -> int:
        """Start with a partition; return its overload, at most 0 within all limits."""

    def begin(self, tasks: Tasks, best_weights: Array) -> None:
        """Begin an iteration, if one of the tasks is due.

        `best_weights` (int64, shape (k,)) receives the part weights if the partition is the best so
        far.
        """

    def launch(self) -> None:
        """Move vertices out of overweight parts, or into underloaded parts."""

    def activate_more(self) -> None:
        """Activate more vertices, after a kernel has requested it (`Request.ACTIVATE`)."""


class Rebalancing:
    """Rebalancing on a state.

    Attributes
    ----------
    plan : Plan
    """

    def __init__(self, state: RefinementState) -> None:
        self._state = state
        backend, n, group_size = state.backend, state.room, state.problem.group_size
        self.plan = Plan(backend, state.problem)
        self._eviction = _eviction(state)
        regions = (n >> REGION_BITS) + 1
        groups = state.partition.k // group_size
        sums = backend.full(groups * regions * REGION_SUMS, 0, backend.sum_type)
        here, elsewhere = (backend.full(groups, 0, np.int64) for _ in range(2))
        self._evicted = EvictedSums(sums, regions, here, elsewhere)
        self._vertices = state.launches.vertices()

    def move(self) -> None:
        """Adapt to the new level of the state."""
        self.plan.take_limits(self._state.problem)

    def start(self, measures: Measures) -> int:
        """Clear the sums of earlier iterations, whose vertices may no longer be active."""
        state = self._state
        state.backend.fill(self._evicted.sums, 0)
        return measures.overload(state.problem)

    def begin(self, tasks: Tasks, best_weights: Array) -> None:
        """Begin an iteration as `Rebalancer` does, with a plan if it rebalances."""
        state = self._state
        state.backend.parallel_for(1, iterations.begin_iteration, tasks=tasks, state=state)
        self.plan.draw_up(state, best_weights)

    def launch(self) -> None:
        """Move vertices out of overweight parts, or into underloaded parts.

        If too few active vertices may leave a part, a counter is set and no vertex moves. In weak
        rebalancing, each vertex goes to its best open part. In strong rebalancing, the vertices
        with the least mean loss fill the open parts.
        """
        self._rate()
        self._deal(self._evict())

    def activate_more(self) -> None:
        """Activate all vertices of the parts that too few active vertices may leave."""
        state, backend = self._state, self._state.backend
        state.dual.counters.host[Counter.TOO_FEW] = 0
        backend.sync_device(state.dual.counters)
        backend.parallel_for(
            state.graph.n,
            kernels.activate_interior,
            graph=state.graph,
            plan=self.plan,
            state=state,
        )
        backend.sync_host(state.dual.counters)
        backend.synchronize()
        state.make_room()

    def _rate(self) -> None:
        """Sort the vertices that may leave into buckets by loss."""
        state = self._state
        rating = {
            "graph": state.graph,
            "table": state.table,
            "plan": self.plan,
            "eviction": self._eviction,
            "state": state,
        }
        launch = partial(state.backend.parallel_for, state.rebalancing)
        launch(kernels.rate_losses, evicted=self._evicted, **rating)
        if state.problem.part_lower_limits is not None:
            launch(kernels.rate_fillers, **rating)
        state.graph.halo.allreduce(self._eviction.histogram, stripes=[self._eviction.stripes])

    def _evict(self) -> int | Count:
        """Move or mark the first candidates, by bucket and id, that weigh enough.

        Return the number of listed vertices: all candidates and possibly others.
        """
        state, backend = self._state, self._state.backend
        digit_bits = 2 * self._eviction.half_bits
        halo, left = state.graph.halo, LAST_BITS if state.graph.halo.is_aligned else 0
        most = state.graph.global_n if backend.is_asynchronous else _most_vertices(state)
        bits = (most - 1).bit_length()  # on CPUs, all levels share the captured launches
        digits = -(-max(bits - left, 0) // digit_bits)
        last_bits = max(bits - digits * digit_bits, 0)
        both = {"eviction": self._eviction, "state": state}
        backend.parallel_for(state.partition.k, kernels.find_last_bucket, plan=self.plan, **both)
        count = self._list_candidates()
        listed = {"vertices": self._vertices, "graph": state.graph, **both}
        for digit in reversed(range(digits)):
            shift = last_bits + digit * digit_bits
            backend.parallel_for(count, kernels.tally_digits, shift=shift, **listed)
            halo.allreduce(self._eviction.upper_digits, self._eviction.lower_digits)
            backend.parallel_for(state.partition.k, kernels.narrow_down, **both)
        backend.parallel_for(
            count,
            kernels.evict,
            shift=last_bits,
            plan=self.plan,
            evicted=self._evicted,
            **listed,
        )
        return count

    def _list_candidates(self) -> int | Count:
        """List the candidates up to the last bucket, if that saves time."""
        state = self._state
        return state.launches.listed(
            state.rebalancing,
            kernels.list_candidates,
            vertices=self._vertices,
            eviction=self._eviction,
            state=state,
        )

    def _deal(self, count: int | Count) -> None:
        """Assign the evicted vertices to open parts with room, in strong rebalancing."""
        state, evicted = self._state, self._evicted
        if not state.graph.halo.is_whole:
            regions = len(evicted.here) * evicted.regions
            state.backend.parallel_for(regions, kernels.sum_regions, evicted=evicted, state=state)
            state.graph.halo.exscan(evicted.here, evicted.elsewhere)
        state.backend.parallel_for(
            count,
            kernels.deal_evicted,
            vertices=self._vertices,
            graph=state.graph,
            plan=self.plan,
            evicted=evicted,
            state=state,
        )


def _eviction(state: RefinementState) -> Eviction:
    backend, n, k = state.backend, state.room, state.partition.k
    kind = backend.sum_type
    half_bits = _half_bits(_most_vertices(state), k)
    return Eviction(
        buckets=backend.empty(n),
        histogram=backend.full(k * BUCKETS * state.launches.stripes, 0, kind),
        stripes=state.launches.stripes,
        last_buckets=backend.empty(k),
        needed=backend.empty(k, np.int64),
        last_vertices=backend.empty(k, np.int64),
        upper_digits=backend.full(k << half_bits, 0, kind),
        lower_digits=backend.full(k << 2 * half_bits, 0, kind),
        half_bits=half_bits,
    )


def _most_vertices(state: RefinementState) -> int:
    """Return the maximum number of vertices of the whole graph of a level."""
    return max(state.room, state.graph.global_n)


def _half_bits(n: int, k: int) -> int:
    """Return half the bits of a digit, so that counters are not many more than vertices."""
    most = max(n // k, 1).bit_length() // 2 + 1
    return max(1, min(MAX_HALF_BITS, most))
