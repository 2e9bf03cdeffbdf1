"""One Jetlp iteration (Jet, Algorithm 4.2)."""

from __future__ import annotations

from jetpy.refinement.state import ITERATION, RATIO, SEED, Members, RefinementState
from jetpy.workloads import jetlp as kernels

NO_PRIORITY = -2147483647
"""Priority of a vertex that does not pass the first filter."""


class LabelPropagation:
    """Jetlp on one level's state."""

    def __init__(self, state: RefinementState) -> None:
        self.state = state
        self._proposers = state.backend.empty(state.graph.n)
        self._hub_gains = state.backend.full(state.graph.hubs.count, 0)

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
        orders = self.state.orders.host
        orders[SEED], orders[RATIO], orders[ITERATION] = seed, ratio, iteration

    def _launch(self) -> None:
        self.state.launch_moves(self.launch_filters())

    def launch_filters(self) -> Members:
        """Give a destination to each vertex that passes both filters; return who may have one."""
        state, backend = self.state, self.state.backend
        hubs = state.graph.hubs
        shared = {
            "best": state.best,
            "locks": state.locks,
            "priorities": state.priorities,
            "orders": state.orders.device,
        }
        backend.push(state.orders)
        backend.parallel_for(
            state.watched.count,
            kernels.propose,
            watched=state.watched.vertices,
            indptr=state.graph.indptr,
            parts=state.parts,
            kept=state.kept,
            gains=state.gains,
            own=state.own,
            account=state.account.device,
            k=state.k,
            **shared,
            **state.table,
        )
        proposers = state.list_members(
            state.watched, state.priorities, NO_PRIORITY, self._proposers
        )
        chosen = {
            "destinations": state.destinations,
            "hub_gains": self._hub_gains,
            **shared,
        }
        hubs.launch(
            proposers.count,
            kernels.afterburn,
            vertices=proposers.vertices,
            parts=state.parts,
            **chosen,
            **state.adjacency,
        )
        hubs.launch_each(kernels.afterburn_hubs, **chosen)
        return proposers
