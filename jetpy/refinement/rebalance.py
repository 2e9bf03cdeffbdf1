"""Weak and strong rebalancing (Jet, section 4.2): evict from overweight parts at least loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend, Workunit
from jetpy.graph import INT32_MAX
from jetpy.refinement.state import RefinementState
from jetpy.workloads import rebalance as kernels

SLOTS = 50


@dataclass(frozen=True)
class _Plan:
    """Which parts give (by how much) and which may take; arrays on the back end.

    A part is open if it weighs less than max(0.99 limit, limit - 100); if none does, every part
    below the limit is. A vertex that weighs more than 1.5 times what its part weighs above the
    average stays (`leave_limit`).
    """

    leave_limit: Array
    excess: Array
    is_open: Array
    open_parts: Array
    capacity_ends: Array
    open_count: int


def _plan(backend: Backend, part_weights: npt.NDArray[np.int64], limit: int) -> _Plan | None:
    """Return the plan, or None if no part is overweight or none can take anything."""
    overweight = part_weights > limit
    excess = np.where(overweight, part_weights - limit, 0)
    k = len(part_weights)
    over_ideal = 3 * (k * part_weights - part_weights.sum()) // (2 * k)
    leave_limit = np.where(overweight, np.minimum(over_ideal, INT32_MAX), 0)
    threshold = max(limit * 99 // 100, limit - 100)
    if not (part_weights < threshold).any():
        threshold = limit
    is_open = part_weights < threshold
    if not overweight.any() or not is_open.any():
        return None
    spare = threshold - part_weights[is_open]
    if spare.sum() < excess.sum():
        spare = limit - part_weights[is_open]
    return _Plan(
        leave_limit=backend.from_host(leave_limit.astype(np.int32)),
        excess=backend.from_host(excess.astype(np.int32)),
        is_open=backend.from_host(is_open.astype(np.int32)),
        open_parts=backend.from_host(np.flatnonzero(is_open).astype(np.int32)),
        capacity_ends=backend.from_host(np.cumsum(spare)),
        open_count=int(is_open.sum()),
    )


def rebalance_weakly(state: RefinementState, limit: int, seed: int) -> int:
    """Move vertices out of overweight parts, each to its best open part; return how many."""
    plan = _plan(state.backend, state.measures.part_weights, limit)
    if plan is None:
        return 0
    extra = {
        "open_parts": plan.open_parts,
        "open_count": plan.open_count,
        "destinations": state.destinations,
        "seed": seed,
    }
    moved = _evict(state, plan, kernels.rate_weak, extra)
    state.move(moved, state.destinations)
    return moved


def rebalance_strongly(state: RefinementState, limit: int) -> int:
    """Move vertices out of overweight parts into open parts' spare weight; return how many."""
    backend = state.backend
    plan = _plan(backend, state.measures.part_weights, limit)
    if plan is None:
        return 0
    moved = _evict(state, plan, kernels.rate_strong, {})
    before = backend.empty(moved, np.int64)
    backend.scan(
        moved,
        kernels.weigh_evicted,
        moves=state.moves,
        vertex_weights=state.graph.vertex_weights,
        before=before,
    )
    backend.parallel_for(
        moved,
        kernels.deal_evicted,
        moves=state.moves,
        before=before,
        open_parts=plan.open_parts,
        capacity_ends=plan.capacity_ends,
        open_count=plan.open_count,
        destinations=state.destinations,
    )
    state.move(moved, state.destinations)
    return moved


def _evict(state: RefinementState, plan: _Plan, rate: Workunit, extra: Mapping[str, Any]) -> int:
    """List in `state.moves` the cheapest prefix of each overweight part's candidates."""
    backend, n = state.backend, state.graph.n
    cutoffs = backend.empty(state.k)
    sections = 8 if state.k <= 128 else 1
    histogram = backend.full(state.k * SLOTS * sections, 0)
    backend.parallel_for(
        n,
        rate,
        indptr=state.graph.indptr,
        vertex_weights=state.graph.vertex_weights,
        parts=state.parts,
        best=state.best,
        own=state.own,
        leave_limit=plan.leave_limit,
        is_open=plan.is_open,
        loss_slots=state.accepted,
        histogram=histogram,
        sections=sections,
        k=state.k,
        **extra,
        **state.table,
    )
    backend.parallel_for(
        state.k,
        kernels.cut_off,
        histogram=histogram,
        excess=plan.excess,
        cutoffs=cutoffs,
        sections=sections,
    )
    keys = backend.empty(n, np.int64)
    count = backend.scan(
        n,
        kernels.list_candidates,
        parts=state.parts,
        loss_slots=state.accepted,
        cutoffs=cutoffs,
        keys=keys,
    )
    keys = backend.sorted(keys[:count])
    before = backend.empty(count, np.int64)
    part_starts = backend.full(state.k, 0, np.int64)
    backend.scan(
        count,
        kernels.weigh_candidates,
        keys=keys,
        vertex_weights=state.graph.vertex_weights,
        before=before,
        part_starts=part_starts,
    )
    return backend.scan(
        count,
        kernels.list_evicted,
        keys=keys,
        before=before,
        part_starts=part_starts,
        excess=plan.excess,
        moves=state.moves,
    )
