"""Moves of positive gain, each made with probability 1/2."""

from __future__ import annotations

from jetpy.refinement.state import RefinementState
from jetpy.workloads.refinement import coin as kernels


class CoinToss:
    """Refiner that makes about half of the moves of positive gain in each iteration."""

    is_monotone = False

    def __init__(self, state: RefinementState) -> None:
        self._state = state

    def launch(self) -> None:
        """Choose moves in one launch and make them in the next."""
        state = self._state
        both = {"graph": state.graph, "state": state}
        state.backend.parallel_for(
            state.propagating, kernels.toss, table=state.table, **both
        )
        state.backend.parallel_for(state.propagating, kernels.follow, **both)

    def launch_many(self) -> None:
        """Raise: no kernel of this refiner requests it."""
        raise NotImplementedError
