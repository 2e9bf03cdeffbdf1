"""Weak and strong rebalancing (Jet, section 4.2): evict from overweight parts at least loss."""

from __future__ import annotations

import numpy as np

from jetpy.refinement.orders import Task
from jetpy.refinement.plan import Plan
from jetpy.refinement.state import SHORT, Members, RefinementState
from jetpy.workloads import rebalance as kernels

SLOTS = 50
"""Loss slots (`slot_of`)."""
MOST_HALF_BITS = 5
"""`tally_tied` and `narrow_down` get nearer to the last vertex by at most twice so many bits of its
number."""
LAST_BITS = 6
"""Bits of it, or fewer, that are left to `evict`, which looks at all vertices with the others."""

REGION_BITS, REGION_SUMS = 15, 65
"""A vertex's number without so many bits is its region's, which has so many sums (`region_of`)."""


class Rebalancing:
    """Rebalancing on one level's state.

    Attributes
    ----------
    plan : Plan
    """

    def __init__(self, state: RefinementState) -> None:
        self.state = state
        backend, problem, k = state.backend, state.problem, state.k
        self.plan = Plan(backend, k, problem.siblings)
        self._histogram = backend.full(k * SLOTS * state.sections, 0)
        self._half = _half_bits(state.graph.n, k)
        self._digits = backend.full(k * ((1 << self._half) + (1 << 2 * self._half)), 0)
        self._cutoffs = backend.empty(k)
        self._rests, self._lasts = backend.empty(k, np.int64), backend.empty(k, np.int64)
        n = state.graph.n
        self._loss_slots, self._list = backend.empty(n), backend.empty(n)
        regions = (n >> REGION_BITS) + 1
        self._groups = {"siblings": problem.siblings, "regions": regions}
        self._sums = backend.full(k // problem.siblings * regions * REGION_SUMS, 0)

    def start(self) -> None:
        """Forget what was summed up before a start, over vertices that may be watched no more."""
        self._sums.fill(0)

    def launch(self, task: Task | None) -> None:
        """Move vertices out of overweight parts.

        Nobody moves where too few vertices of a part may leave; then the account says so. With
        weak rebalancing, each goes to its best open part, with strong rebalancing the vertices
        that lose least on average fill up the open parts. None: as the orders say.
        """
        self._rate()
        candidates = self._evict()
        if task != Task.REBALANCE_WEAKLY:
            self._deal(candidates)

    def watch_more(self) -> None:
        """Watch all vertices of parts that too few of the watched ones may leave."""
        state, backend = self.state, self.state.backend
        account = state.account
        account.host[state.k + SHORT] = 0
        backend.push(account)
        backend.parallel_for(
            state.graph.n,
            kernels.watch_interior,
            best=state.best,
            watched=state.watched.vertices,
            plan=self.plan.numbers,
            **state.moves,
        )
        backend.pull(account)
        backend.synchronize()
        state.make_room()

    @property
    def _counters(self) -> dict[str, object]:
        return {"histogram": self._histogram, "sections": self.state.sections}

    def _rate(self) -> None:
        """Sort those who may leave into slots, by what the cut loses."""
        state = self.state
        state.backend.parallel_for(
            state.watched.count,
            kernels.rate,
            watched=state.watched.vertices,
            indptr=state.graph.indptr,
            best=state.best,
            own=state.own,
            kept=state.kept,
            loss_slots=self._loss_slots,
            sums=self._sums,
            **self._groups,
            plan=self.plan.numbers,
            **self._counters,
            **state.moves,
            **state.table,
        )

    def _evict(self) -> Members:
        """Move the first candidates that weigh enough, by slot and number, or mark them."""
        state, backend = self.state, self.state.backend
        bits = (state.graph.n - 1).bit_length()
        digit_bits = 2 * self._half
        digits = -(-max(bits - LAST_BITS, 0) // digit_bits)
        last_bits = max(bits - digits * digit_bits, 0)
        cut = {"cutoffs": self._cutoffs, "lasts": self._lasts}
        counters = {"digits": self._digits, "half": self._half}
        backend.parallel_for(
            state.k,
            kernels.cut_off,
            plan=self.plan.numbers,
            rests=self._rests,
            **cut,
            **self._counters,
            **state.moves,
        )
        candidates = self._list_candidates()
        for digit in reversed(range(digits)):
            backend.parallel_for(
                candidates.count,
                kernels.tally_tied,
                vertices=candidates.vertices,
                loss_slots=self._loss_slots,
                shift=last_bits + digit * digit_bits,
                **counters,
                **cut,
                **state.moves,
            )
            backend.parallel_for(
                state.k,
                kernels.narrow_down,
                rests=self._rests,
                **counters,
                **cut,
                **state.moves,
            )
        backend.parallel_for(
            candidates.count,
            kernels.evict,
            vertices=candidates.vertices,
            loss_slots=self._loss_slots,
            rests=self._rests,
            sums=self._sums,
            shift=last_bits,
            **self._groups,
            **cut,
            **state.moves,
        )
        return candidates

    def _deal(self, candidates: Members) -> None:
        """Move the evicted vertices to open parts with spare weight, if the orders say so."""
        state = self.state
        state.backend.parallel_for(
            candidates.count,
            kernels.deal_evicted,
            vertices=candidates.vertices,
            sums=self._sums,
            **self._groups,
            plan=self.plan.numbers,
            **state.moves,
        )

    def _list_candidates(self) -> Members:
        """Return all candidates up to the cut-off, and maybe others."""
        return self.state.list_members(
            self.state.watched,
            kernels.list_candidates,
            self._list,
            parts=self.state.parts,
            loss_slots=self._loss_slots,
            cutoffs=self._cutoffs,
        )


def _half_bits(n: int, k: int) -> int:
    """Return half the bits of a digit: many, but not many more counters than vertices."""
    most = max(n // k, 1).bit_length() // 2 + 1
    return max(1, min(MOST_HALF_BITS, most))
