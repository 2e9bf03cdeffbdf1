"""Refinement by Jetlp (Jet, Algorithm 4.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.engines.base import Count
from jetpy.refinement.launches import MAX_COUNTED
from jetpy.refinement.state import RefinementState
from jetpy.workloads.common.striped_counters import APART
from jetpy.workloads.refinement import jetlp as kernels
from jetpy.workloads.refinement.jetlp import Inflow, Proposals
from jetpy.workloads.refinement.losses import BUCKETS


class LabelPropagation:
    """Refiner by Jetlp: unconstrained label propagation with two filters and locks."""

    is_monotone = False

    def __init__(self, state: RefinementState) -> None:
        self._state = state
        backend, n = state.backend, state.room
        options = state.problem.options.refine
        self._has_afterburner = options.afterburner
        self._cap = self._make_cap(options.overfill)
        may_have_long_rows = state.graph.long_rows.count > 0 or backend.is_asynchronous
        needs_gains = may_have_long_rows or self._cap is not None
        self._proposals = Proposals(
            vertices=state.launches.vertices(),
            gains=backend.full(n if needs_gains else 0, 0, np.int64),
            is_capped=self._cap is not None,
        )

    def _make_cap(self, overfill: int | None) -> Any:
        """Return the caps on what enters a part; None if nothing limits that."""
        return None if overfill is None else _inflow(self._state, overfill)

    def launch(self) -> None:
        """Move each vertex that passes both filters."""
        state, backend, rows = self._state, self._state.backend, self._state.graph.long_rows
        count = state.propagating
        backend.parallel_for(
            count, kernels.propose, graph=state.graph, table=state.table, state=state
        )
        state.graph.halo.exchange_ghosts(state.vertices.priorities, state.vertices.targets)
        count = state.launches.listed(
            count, kernels.list_proposers, state=state, proposals=self._proposals
        )
        arguments: dict[str, Any] = {
            "graph": state.graph,
            "state": state,
            "proposals": self._proposals,
        }
        if self._has_afterburner:
            rows.launch(count, kernels.afterburn, **arguments)
        else:
            backend.parallel_for(count, kernels.skip_afterburner, **arguments)
        if self._proposals.is_capped:
            self._admit(count, arguments)
        elif self._has_afterburner:
            rows.launch_each(kernels.afterburn_long_rows, **arguments)

    def _admit(self, count: int | Count, arguments: dict[str, Any]) -> None:
        """Move the proposals that their parts admit."""
        state, backend, cap = self._state, self._state.backend, self._cap
        backend.parallel_for(count, kernels.tally_inflow, cap=cap, **arguments)
        state.graph.halo.allreduce(cap.incoming, cap.outgoing, stripes=(cap.stripes, 1))
        backend.parallel_for(state.partition.k, kernels.cap_inflow, state=state, cap=cap)
        backend.parallel_for(count, kernels.admit, cap=cap, **arguments)

    def launch_many(self) -> None:
        """Raise an error: Jetlp's kernels never request it."""
        raise NotImplementedError


def _inflow(state: RefinementState, overfill: int) -> Inflow:
    backend, k, stripes = state.backend, state.partition.k, state.launches.stripes
    outgoing_stripes = max(1, MAX_COUNTED // k) if backend.is_asynchronous else stripes
    return Inflow(
        ranks=backend.empty(state.room),
        incoming=backend.full(k * BUCKETS * stripes, 0, backend.sum_type),
        outgoing=backend.full((k + APART) * outgoing_stripes, 0, backend.sum_type),
        lowest_ranks=backend.empty(k),
        shares=backend.empty(k, np.int64),
        most=backend.empty(k, np.int64),
        leaving=backend.empty(k, np.int64),
        stripes=stripes,
        outgoing_stripes=outgoing_stripes,
        overfill=overfill,
    )
