"""Moves of independent sets of vertices (G-kway, section 3.2)."""

from __future__ import annotations

import numpy as np

from jetpy.backends.base import Array
from jetpy.refinement.state import RefinementState
from jetpy.workloads import independent_set as kernels


class IndependentSet:
    """Moves on one level's state that each lower the cut, and together keep the balance.

    The host learns how many there are before they are sorted, so launches cannot be recorded.
    """

    settles, recordable = True, False

    def __init__(self, state: RefinementState) -> None:
        self.state = state
        n = state.graph.n
        self._targets = state.backend.empty(n)
        self._moves = state.backend.empty(n, np.int64)
        self._bases = state.backend.empty(state.k, np.int64)

    def launch(self) -> None:
        """Move an independent set: those of highest gain, as many as balance allows."""
        count = self._find()
        if count > 0:
            self._make(self.state.backend.sorted(self._moves[:count]))

    def _find(self) -> int:
        """List moves of vertices that are no neighbours, and return their number (3.2.1)."""
        state, backend = self.state, self.state.backend
        choices = {
            "watched": state.watched.vertices,
            "priorities": state.priorities,
            "targets": self._targets,
        }
        shared = {"limits": state.limits, **choices, **state.moves, **state.table}
        backend.parallel_for(
            state.watched.count,
            kernels.find_legal,
            indptr=state.graph.indptr,
            best=state.best,
            own=state.own,
            gains=state.gains,
            **shared,
        )
        state.graph.hubs.launch(
            state.watched.count, kernels.keep_lowest, kept=state.kept, **shared, **state.adjacency
        )
        return backend.scan(state.watched.count, kernels.list_moves, moves=self._moves, **choices)

    def _make(self, moves: Array) -> None:
        """Make the longest beginning of a sequence of moves that ends in balance, and some more.

        Weights may be above a limit on the way there. Takes the time of sorting two events for
        each move, whatever the number of parts (3.2.2 and 3.2.3, for any number of moves). Not in
        the paper: moves after it that fit anyway are made, too. Where parts are full, beginnings
        are short, and there would be ten times as many iterations.
        """
        state, backend = self.state, self.state.backend
        count = len(moves)
        sequence = {"moves": moves, "targets": self._targets, **state.moves}
        events = backend.empty(2 * count, np.int64)
        backend.parallel_for(count, kernels.list_events, events=events, **sequence)
        weights = {
            "events": backend.sorted(events),
            "sums": backend.empty(2 * count, np.int64),
            "bases": self._bases,
            **sequence,
        }
        backend.scan(2 * count, kernels.add_up_events, certain=backend.full(1, count), **weights)
        changes, longest = backend.full(count, 0), backend.full(1, 0)
        backend.parallel_for(
            2 * count,
            kernels.mark_overweight,
            limits=state.limits,
            changes=changes,
            count=2 * count,
            **weights,
        )
        backend.scan(count, kernels.find_longest, changes=changes, longest=longest, count=count)
        backend.scan(2 * count, kernels.add_up_events, certain=longest, **weights)
        admitted = backend.empty(count)
        backend.parallel_for(
            2 * count,
            kernels.admit_rest,
            limits=state.limits,
            longest=longest,
            admitted=admitted,
            **weights,
        )
        backend.parallel_for(count, kernels.make_moves, admitted=admitted, **sequence)
