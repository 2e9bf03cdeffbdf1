"""One Jetlp iteration (Jet, Algorithm 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jetpy.refinement.rebalance import SLOTS
from jetpy.refinement.state import Members, RefinementState
from jetpy.workloads import connectivity as table_kernels
from jetpy.workloads import jetlp as kernels

NO_PRIORITY = -2147483647
"""Priority of a vertex that does not pass the first filter."""


class LabelPropagation:
    """Jetlp on one level's state."""

    settles = False

    def __init__(self, state: RefinementState) -> None:
        self.state = state
        self._proposers = state.backend.empty(state.graph.n)
        backend, n, k = state.backend, state.graph.n, state.k
        self._overfill = state.problem.options.refine.overfill
        self._is_capped = self._overfill is not None
        self._late_gains = backend.full(
            n if state.graph.hubs.count or self._is_capped else 0, 0, np.int64
        )
        if self._is_capped:
            sections = state.sections
            self._flows = {
                "inflow": backend.full(k * SLOTS * sections, 0),
                "outflow": backend.full(k * sections, 0),
                "sections": sections,
            }
            self._ranks = backend.empty(n)
            self._caps = {"cutoffs": backend.empty(k), "shares": backend.empty(k, np.int64)}

    def launch(self) -> None:
        """Move each vertex that passes both filters."""
        state, backend = self.state, self.state.backend
        hubs = state.graph.hubs
        shared = {
            "best": state.best,
            "locks": state.locks,
            "priorities": state.priorities,
            "late_gains": self._late_gains,
            "capped": int(self._is_capped),
            **state.moves,
        }
        backend.parallel_for(
            state.watched.count,
            kernels.propose,
            watched=state.watched.vertices,
            indptr=state.graph.indptr,
            kept=state.kept,
            gains=state.gains,
            own=state.own,
            **shared,
            **state.table,
        )
        proposers = state.list_members(
            state.watched,
            table_kernels.list_members,
            self._proposers,
            values=state.priorities,
            threshold=NO_PRIORITY,
        )
        hubs.launch(
            proposers.count,
            kernels.afterburn,
            vertices=proposers.vertices,
            **shared,
            **state.adjacency,
        )
        if self._is_capped:
            self._admit(proposers, shared)
        else:
            hubs.launch_each(kernels.afterburn_hubs, **shared)

    def launch_many(self) -> None:
        """Never asked for."""
        raise NotImplementedError

    def _admit(self, proposers: Members, shared: Mapping[str, Any]) -> None:
        """Move those who may, with the inflow of each part capped."""
        state, backend = self.state, self.state.backend
        vertices = proposers.vertices
        backend.parallel_for(
            proposers.count,
            kernels.tally_inflow,
            vertices=vertices,
            ranks=self._ranks,
            **self._flows,
            **shared,
        )
        backend.parallel_for(
            state.k,
            kernels.cap_inflow,
            limits=state.limits,
            overfill=self._overfill,
            **self._caps,
            **self._flows,
            **shared,
        )
        backend.parallel_for(
            proposers.count,
            kernels.admit,
            vertices=vertices,
            ranks=self._ranks,
            **self._caps,
            **shared,
        )
