"""One Jetlp iteration (Jet, Algorithm 4.2)."""

from __future__ import annotations

import numpy as np

from jetpy.refinement.state import ITERATION, ORDERS, RATIO, SEED, Members, RefinementState
from jetpy.workloads import jetlp as kernels

NO_PRIORITY = -2147483647
"""Priority of a vertex that does not pass the first filter."""


class LabelPropagation:
    """Jetlp on one level's state."""

    def __init__(self, state: RefinementState) -> None:
        self.state = state
        self._proposers = state.backend.empty(state.graph.n)

    def iterate(self, ratio: int, seed: int, iteration: int) -> int:
        """Move the vertices that pass both filters; return how many did.

        `ratio` is the filter ratio c in percent. Vertices that moved in Jetlp iteration
        ``iteration - 1`` stay.
        """
        self.give_orders(ratio, seed, iteration)
        self.state.play(self._launch)
        return self.state.read_measures()

    def give_orders(self, ratio: int, seed: int, iteration: int) -> None:
        """Say what the next launches are to do."""
        orders = np.zeros(ORDERS, np.int64)
        orders[SEED], orders[RATIO], orders[ITERATION] = seed, ratio, iteration
        self.state.backend.overwrite(self.state.orders, orders)

    def _launch(self) -> None:
        self.state.launch_moves(self.launch_filters())

    def launch_filters(self) -> Members:
        """Give a destination to each vertex that passes both filters; return who may have one."""
        state, backend = self.state, self.state.backend
        shared = {
            "parts": state.parts,
            "best": state.best,
            "locks": state.locks,
            "priorities": state.priorities,
            "orders": state.orders,
        }
        backend.parallel_for(
            state.graph.n,
            kernels.propose,
            indptr=state.graph.indptr,
            gains=state.gains,
            own=state.own,
            account=state.account,
            k=state.k,
            **shared,
            **state.table,
        )
        proposers = state.list_members(
            state.everyone, state.priorities, NO_PRIORITY, self._proposers
        )
        backend.parallel_for(
            proposers.count,
            kernels.afterburn,
            vertices=proposers.vertices,
            destinations=state.destinations,
            **shared,
            **state.adjacency,
        )
        return proposers
