"""Weak and strong rebalancing (Jet, section 4.2): evict from overweight parts at least loss."""

from __future__ import annotations

import numpy as np

from jetpy.backends.base import Array, Workunit
from jetpy.refinement.state import SHORT, Members, RefinementState
from jetpy.workloads import rebalance as kernels

SLOTS = 50
"""Loss slots (`slot_of`)."""
DIGIT_BITS = 6
"""Bits of a vertex's number by which `tally_tied` and `narrow_down` get nearer to the last one."""


class Rebalancing:
    """Rebalancing on one level's state.

    Attributes
    ----------
    plan : dict of arrays, int64, shape (k,)
        What may leave which part, and for where, as workunits name it (see `draw_up_plan` in
        `jetpy.workloads.conduct`).
    """

    def __init__(self, state: RefinementState) -> None:
        self.state = state
        backend, k = state.backend, state.k
        names = "leave_limit", "tie_limit", "excess", "is_open", "open_parts", "capacity_ends"
        self.plan: dict[str, Array] = {name: backend.empty(k, np.int64) for name in names}
        self._sections = 8 if k <= 128 and backend.prefers_lists else 1
        self._histogram = backend.full(k * SLOTS * self._sections, 0)
        self._digits = backend.full(k << DIGIT_BITS, 0)
        self._cutoffs = backend.empty(k)
        self._rests, self._lasts = backend.empty(k, np.int64), backend.empty(k, np.int64)
        self._loss_slots, self._list = backend.empty(state.graph.n), backend.empty(state.graph.n)

    def launch_weak(self) -> Members:
        """Give destinations to vertices of overweight parts; return who may have one.

        To each its best open part. Nobody gets one where too few vertices of a part may leave;
        then the account says so.
        """
        return self._launch(kernels.rate_weak)

    def launch_strong(self) -> Members:
        """Find the vertices to evict as `launch_weak` does, by what they lose on average.

        Their destinations are still to be chosen, by `deal`.
        """
        return self._launch(kernels.rate_strong)

    def deal(self, candidates: Members) -> None:
        """Give the evicted vertices, in ascending order, open parts' spare weight."""
        backend, destinations = self.state.backend, self.state.destinations
        evicted = backend.empty(candidates.count, np.int64)
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
            open_parts=self.plan["open_parts"],
            capacity_ends=self.plan["capacity_ends"],
            orders=self.state.orders.device,
            destinations=destinations,
        )

    def watch_more(self) -> None:
        """Watch all vertices of parts that too few of the watched ones may leave."""
        state, backend = self.state, self.state.backend
        account = state.account
        account.host[state.k + SHORT] = 0
        backend.push(account)
        backend.parallel_for(
            state.graph.n,
            kernels.watch_interior,
            parts=state.parts,
            vertex_weights=state.graph.vertex_weights,
            leave_limit=self.plan["leave_limit"],
            tie_limit=self.plan["tie_limit"],
            best=state.best,
            watched=state.watched.vertices,
            account=account.device,
            k=state.k,
        )
        backend.pull(account)
        backend.synchronize()
        state.make_room()

    def _launch(self, rate: Workunit) -> Members:
        """Leave a destination to the first candidates that weigh enough, by slot and number."""
        state, backend, n = self.state, self.state.backend, self.state.graph.n
        orders = {"orders": state.orders.device}
        account = {"account": state.account.device, "k": state.k}
        vertices = {"parts": state.parts, "loss_slots": self._loss_slots}
        histogram = {"histogram": self._histogram, "sections": self._sections}
        found = {"rests": self._rests, "lasts": self._lasts}
        ties = {"cutoffs": self._cutoffs, "lasts": self._lasts, **vertices, **orders}
        backend.parallel_for(
            state.watched.count,
            rate,
            watched=state.watched.vertices,
            indptr=state.graph.indptr,
            vertex_weights=state.graph.vertex_weights,
            best=state.best,
            own=state.own,
            kept=state.kept,
            destinations=state.destinations,
            k=state.k,
            **self.plan,
            **orders,
            **vertices,
            **histogram,
            **state.table,
        )
        backend.parallel_for(
            state.k,
            kernels.cut_off,
            excess=self.plan["excess"],
            tie_limit=self.plan["tie_limit"],
            cutoffs=self._cutoffs,
            **account,
            **found,
            **histogram,
            **orders,
        )
        candidates = self._list_candidates()
        for digit in reversed(range(-(-(n - 1).bit_length() // DIGIT_BITS))):
            backend.parallel_for(
                candidates.count,
                kernels.tally_tied,
                vertices=candidates.vertices,
                vertex_weights=state.graph.vertex_weights,
                digits=self._digits,
                shift=digit * DIGIT_BITS,
                **ties,
            )
            backend.parallel_for(
                state.k, kernels.narrow_down, digits=self._digits, **found, **orders
            )
        backend.parallel_for(
            candidates.count,
            kernels.select_evicted,
            vertices=candidates.vertices,
            destinations=state.destinations,
            **account,
            **ties,
        )
        return candidates

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
