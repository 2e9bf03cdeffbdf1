"""Moves of positive gain, each made if a coin says so."""

from __future__ import annotations

from jetpy.refinement.state import RefinementState
from jetpy.workloads.refinement import coin as kernels


class CoinToss:
    """Half of the moves that gain, on one level's state."""

    is_monotone = False

    def __init__(self, state: RefinementState) -> None:
        self._state = state

    def launch(self) -> None:
        """Decide on moves, then make them."""
        state = self._state
        both = {"graph": state.graph, "state": state}
        state.backend.parallel_for(state.propagating, kernels.toss, table=state.table, **both)
        state.backend.parallel_for(state.propagating, kernels.follow, **both)

    def launch_many(self) -> None:
        """Never asked for."""
        raise NotImplementedError
