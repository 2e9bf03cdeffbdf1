"""Weak and strong rebalancing (Jet, section 4.2): evict from overweight parts at least loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from jetpy.refinement.state import OPEN_COUNT, SEED, SHORT, Members, RefinementState
from jetpy.workloads import rebalance as kernels

SLOTS = 50
"""Loss slots (`slot_of`)."""
DIGIT_BITS = 6
"""Bits of a vertex's number by which `tally_tied` and `narrow_down` get nearer to the last one."""
PIECES = 6
"""Arrays of shape (k,) that make up a plan."""


class Rebalancing:
    """Rebalancing on one level's state: what may leave which part, and for where.

    A part is open if it weighs less than max(0.99 limit, limit - 100); if none does, every part
    below the limit is. A vertex that weighs more than 1.5 times what its part weighs above the
    average stays (`leave_limit`). So does one without adjacent parts that much ties to its own
    (`tie_limit`), unless the part gets rid of too little without it.
    """

    def __init__(self, state: RefinementState, limit: int) -> None:
        self.state, self.limit = state, limit
        backend, k = state.backend, state.k
        self._plan = backend.mirror(PIECES * k)
        pieces = (self._plan.device[i * k : (i + 1) * k] for i in range(PIECES))
        self._leave_limit, self._tie_limit, self._excess, *others = pieces
        self._is_open, self._open_parts, self._ends = others
        self._sections = 8 if k <= 128 and backend.prefers_lists else 1
        self._histogram = backend.full(k * SLOTS * self._sections, 0)
        self._digits = backend.full(k << DIGIT_BITS, 0)
        self._cutoffs = backend.empty(k)
        self._rests, self._lasts = backend.empty(k, np.int64), backend.empty(k, np.int64)
        self._loss_slots, self._list = backend.empty(state.graph.n), backend.empty(state.graph.n)
        self._candidates = state.watched

    def weakly(self, seed: int) -> int:
        """Move vertices out of overweight parts, each to its best open part; return how many."""
        if not self._draw_up_plan(seed):
            return 0
        self._play(self._launch_weak)
        return self.state.read_measures()

    def strongly(self) -> int:
        """Move vertices out of overweight parts into open parts' spare weight; return how many."""
        state = self.state
        if not self._draw_up_plan(0):
            return 0
        self._play(self._launch_strong)
        self._deal()
        state.play(self._launch_moves)
        return state.read_measures()

    def _play(self, launches: Callable[[], None]) -> None:
        """Make launches; if too little may leave some part, once more with all its vertices."""
        state, backend = self.state, self.state.backend
        state.play(launches)
        backend.synchronize()
        if state.account.host[state.k + SHORT] == 0:
            return
        backend.parallel_for(
            state.graph.n,
            kernels.watch_interior,
            parts=state.parts,
            vertex_weights=state.graph.vertex_weights,
            leave_limit=self._leave_limit,
            tie_limit=self._tie_limit,
            best=state.best,
            watched=state.watched.vertices,
            account=state.account.device,
            k=state.k,
        )
        backend.pull(self._plan)
        backend.pull(state.account)
        backend.synchronize()
        state.make_room()
        state.play(launches)

    def _deal(self) -> None:
        """Give the evicted vertices, in ascending order, a part each."""
        backend, candidates = self.state.backend, self._candidates
        evicted = backend.empty(candidates.count, np.int64)
        destinations = self.state.destinations
        count = backend.scan(
            candidates.count,
            kernels.list_evicted,
            vertices=candidates.vertices,
            destinations=destinations,
            evicted=evicted,
        )
        backend.scan(
            count,
            kernels.deal_evicted,
            evicted=backend.sorted(evicted[:count]),
            vertex_weights=self.state.graph.vertex_weights,
            open_parts=self._open_parts,
            capacity_ends=self._ends,
            orders=self.state.orders.device,
            destinations=destinations,
        )

    def _draw_up_plan(self, seed: int) -> bool:
        """Return whether there is a part to give and one to take; if so, say which."""
        weights, limit, k = self.state.measures.part_weights, self.limit, self.state.k
        plan = self._plan.host.reshape(PIECES, k)
        leave_limit, tie_limit, excess, is_open, open_parts, ends = plan
        np.maximum(weights - limit, 0, out=excess)
        total_excess = excess.sum()
        threshold = max(limit * 99 // 100, limit - 100)
        np.less(weights, threshold, out=is_open)
        if not is_open.any():
            threshold = limit
            np.less(weights, threshold, out=is_open)
        takers = is_open.nonzero()[0]
        count = len(takers)
        if count == 0 or total_excess == 0:
            return False
        over_average = 3 * (k * weights - weights.sum()) // (2 * k)
        np.multiply(over_average, excess > 0, out=leave_limit)
        tie_limit[:] = self.state.loose
        spare = threshold - weights[takers]
        if spare.sum() < total_excess:
            spare += limit - threshold
        open_parts[:count] = takers
        np.cumsum(spare, out=ends[:count])
        orders = self.state.orders.host
        orders[SEED], orders[OPEN_COUNT] = seed, count
        return True

    def _push_plan(self) -> None:
        self.state.backend.push(self.state.orders)
        self.state.backend.push(self._plan)

    def _launch_weak(self) -> None:
        state = self.state
        self._push_plan()
        state.backend.parallel_for(
            state.watched.count,
            kernels.rate_weak,
            open_parts=self._open_parts,
            **self._rated,
        )
        self._launch_selection()
        self._launch_moves()

    def _launch_strong(self) -> None:
        state = self.state
        self._push_plan()
        state.backend.parallel_for(state.watched.count, kernels.rate_strong, **self._rated)
        self._launch_selection()
        state.backend.pull(state.account)

    def _launch_moves(self) -> None:
        self.state.launch_moves(self._candidates)

    @property
    def _vertices(self) -> dict[str, npt.NDArray[np.int32]]:
        return {
            "parts": self.state.parts,
            "vertex_weights": self.state.graph.vertex_weights,
            "loss_slots": self._loss_slots,
        }

    @property
    def _counters(self) -> dict[str, object]:
        return {
            "histogram": self._histogram,
            "account": self.state.account.device,
            "k": self.state.k,
            "sections": self._sections,
        }

    @property
    def _rated(self) -> dict[str, object]:
        state = self.state
        return {
            "watched": state.watched.vertices,
            "indptr": state.graph.indptr,
            "best": state.best,
            "own": state.own,
            "kept": state.kept,
            "destinations": state.destinations,
            "orders": state.orders.device,
            "leave_limit": self._leave_limit,
            "tie_limit": self._tie_limit,
            "is_open": self._is_open,
            **self._vertices,
            **self._counters,
            **state.table,
        }

    def _launch_selection(self) -> None:
        """Leave a destination to the first candidates that weigh enough, by slot and number."""
        state, backend, n = self.state, self.state.backend, self.state.graph.n
        found = {"rests": self._rests, "lasts": self._lasts}
        ties = {
            "parts": state.parts,
            "loss_slots": self._loss_slots,
            "cutoffs": self._cutoffs,
            "lasts": self._lasts,
        }
        backend.parallel_for(
            state.k,
            kernels.cut_off,
            excess=self._excess,
            tie_limit=self._tie_limit,
            cutoffs=self._cutoffs,
            **found,
            **self._counters,
        )
        self._candidates = self._list_candidates()
        members = {"vertices": self._candidates.vertices, **ties}
        for digit in reversed(range(-(-(n - 1).bit_length() // DIGIT_BITS))):
            backend.parallel_for(
                self._candidates.count,
                kernels.tally_tied,
                vertex_weights=state.graph.vertex_weights,
                digits=self._digits,
                shift=digit * DIGIT_BITS,
                **members,
            )
            backend.parallel_for(state.k, kernels.narrow_down, digits=self._digits, **found)
        backend.parallel_for(
            self._candidates.count,
            kernels.select_evicted,
            destinations=state.destinations,
            account=state.account.device,
            k=state.k,
            **members,
        )

    def _list_candidates(self) -> Members:
        """Return all candidates up to the cut-off, and maybe others."""
        state = self.state
        if not state.backend.prefers_lists:
            return state.watched
        count = state.backend.scan(
            state.watched.count,
            kernels.list_candidates,
            watched=state.watched.vertices,
            parts=state.parts,
            loss_slots=self._loss_slots,
            cutoffs=self._cutoffs,
            vertices=self._list,
        )
        return Members(self._list, count)
