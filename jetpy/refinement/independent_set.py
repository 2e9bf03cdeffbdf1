"""Moves of independent sets of vertices (G-kway, section 3.2)."""

from __future__ import annotations

import numpy as np

from jetpy.backends.base import Array
from jetpy.refinement.state import RefinementState
from jetpy.workloads import independent_set as kernels

MOST = 2048
"""Moves that are sorted by looking at each pair of them: then launches need not know how many."""


class IndependentSet:
    """Moves on one level's state that each lower the cut, and together keep the balance."""

    settles = True

    def __init__(self, state: RefinementState) -> None:
        self.state = state
        backend, n = state.backend, state.graph.n
        self._targets = backend.empty(n)
        self._moves = backend.empty(n, np.int64)
        self._bases = backend.empty(state.k, np.int64)
        self._counts = backend.full(2, 0)
        few = 0 if backend.prefers_lists else min(n, MOST)
        self._few, self._ordered = few, backend.empty(few, np.int64)
        self._changes, self._admitted = backend.empty(few), backend.empty(few)

    def launch(self) -> None:
        """Move an independent set: those of highest gain, as many as balance allows.

        Where lists are not preferred, a fixed sequence of launches does so if they are few; else
        the orders ask for `launch_many`.
        """
        self._find()
        if self.state.backend.prefers_lists:
            self._make_many()
        else:
            self._make_few()

    def launch_many(self) -> None:
        """Do the same, however many moves there are: the host learns how many."""
        self._find()
        self._make_many()

    @property
    def _choices(self) -> dict[str, Array]:
        state = self.state
        return {
            "watched": state.watched.vertices,
            "priorities": state.priorities,
            "targets": self._targets,
        }

    def _find(self) -> None:
        """Find moves of vertices that are no neighbours (3.2.1)."""
        state = self.state
        shared = {"limits": state.limits, **self._choices, **state.moves, **state.table}
        state.backend.parallel_for(
            state.watched.count,
            kernels.find_legal,
            indptr=state.graph.indptr,
            best=state.best,
            own=state.own,
            gains=state.gains,
            counts=self._counts,
            **shared,
        )
        state.graph.hubs.launch(
            state.watched.count, kernels.keep_lowest, kept=state.kept, **shared, **state.adjacency
        )

    def _make_few(self) -> None:
        """Make moves as `_make` does, in time quadratic in their number."""
        state, backend, few = self.state, self.state.backend, self._few
        sequence = {
            **state.moves,
            "targets": self._targets,
            "counts": self._counts,
            "limits": state.limits,
            "most": few,
        }
        moves = {"moves": self._moves}
        backend.parallel_for(
            state.watched.count,
            kernels.collect_moves,
            **moves,
            **self._choices,
            counts=self._counts,
            orders=state.orders.device,
        )
        ordered, changes = {"ordered": self._ordered}, {"changes": self._changes}
        admitted = {"admitted": self._admitted}
        backend.parallel_for(few, kernels.rank_moves, **moves, **ordered, **sequence)
        backend.parallel_for(few, kernels.weigh_moves, **ordered, **changes, **sequence)
        backend.parallel_for(few, kernels.measure_moves, **changes, **sequence)
        backend.parallel_for(few, kernels.admit_moves, **ordered, **admitted, **sequence)
        backend.parallel_for(few, kernels.make_moves, moves=self._ordered, **admitted, **sequence)

    def _make_many(self) -> None:
        """List the moves, sort and make them."""
        state, backend = self.state, self.state.backend
        count = backend.scan(
            state.watched.count, kernels.list_moves, moves=self._moves, **self._choices
        )
        if count > 0:
            self._make(backend.sorted(self._moves[:count]))

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
