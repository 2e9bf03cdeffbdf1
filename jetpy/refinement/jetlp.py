"""One Jetlp iteration (Jet, Algorithm 4.2)."""

from __future__ import annotations

from jetpy.refinement.state import RefinementState
from jetpy.workloads import connectivity as table_kernels
from jetpy.workloads import jetlp as kernels

NO_PRIORITY = -2147483647
"""Priority of a vertex that does not pass the first filter."""


class LabelPropagation:
    """Jetlp on one level's state."""

    def __init__(self, state: RefinementState) -> None:
        self.state = state
        self._proposers = state.backend.empty(state.graph.n)
        self._hub_gains = state.backend.full(state.graph.n if state.graph.hubs.count else 0, 0)

    def launch(self) -> None:
        """Move each vertex that passes both filters."""
        state, backend = self.state, self.state.backend
        hubs = state.graph.hubs
        shared = {
            "best": state.best,
            "locks": state.locks,
            "priorities": state.priorities,
            "hub_gains": self._hub_gains,
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
        hubs.launch_each(kernels.afterburn_hubs, **shared)
