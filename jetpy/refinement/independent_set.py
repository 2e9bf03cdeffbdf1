"""Refinement by independent sets of moves (G-kway, section 3.2)."""

from __future__ import annotations

import operator

import numpy as np

from jetpy.engines.base import Array
from jetpy.refinement.state import RefinementState
from jetpy.workloads.refinement import independent_set as kernels
from jetpy.workloads.refinement.independent_set import Count, Events, Legal, Sequence

MOST = 2048
"""Maximum number of moves ranked by comparing all pairs, which needs no count on the host."""


class IndependentSet:
    """Refiner whose moves each lower the cut and together keep the balance."""

    is_monotone = True

    def __init__(self, state: RefinementState) -> None:
        self._state = state
        backend, n = state.backend, state.room
        self._legal = Legal(
            targets=backend.empty(n),
            counts=backend.full(len(Count), 0),
            keys=backend.empty(n, np.int64),
        )
        few = min(n, MOST) if backend.is_asynchronous else 0
        self._few = Sequence(
            backend.empty(few, np.int64), backend.empty(few), backend.empty(few), few
        )
        self._bases = backend.empty(state.partition.k, np.int64)

    def launch(self) -> None:
        """Move an independent set: the moves of highest gain, as far as the balance allows.

        A fixed sequence of launches makes the moves if there are at most `MOST`. Otherwise, and
        always on back ends that are not asynchronous, the kernels request `launch_many`.
        """
        self._find()
        self._make_few()

    def launch_many(self) -> None:
        """Make the moves that `launch` found, any number of them; the host reads their number."""
        state, backend = self._state, self._state.backend
        count = backend.scan(
            operator.index(state.propagating), kernels.list_moves, state=state, legal=self._legal
        )
        if count > 0:
            self._make(backend.sorted(self._legal.keys[:count]))

    def _find(self) -> None:
        """Find moves of vertices that are not adjacent to each other (3.2.1)."""
        state = self._state
        shared = {"graph": state.graph, "state": state, "legal": self._legal}
        state.backend.parallel_for(
            state.propagating, kernels.find_legal, table=state.table, **shared
        )
        state.graph.long_rows.launch(state.propagating, kernels.keep_lowest, **shared)

    def _make_few(self) -> None:
        """Make the moves as `_make` does, in time quadratic in their number."""
        state, backend, most = self._state, self._state.backend, self._few.most
        legal = {"state": state, "legal": self._legal}
        sequence = {"sequence": self._few, **legal}
        backend.parallel_for(state.propagating, kernels.collect_moves, **legal)
        backend.parallel_for(max(most, 1), kernels.rank_moves, **sequence)
        backend.parallel_for(most, kernels.weigh_moves, graph=state.graph, **sequence)
        backend.parallel_for(most, kernels.measure_moves, **sequence)
        backend.parallel_for(most, kernels.admit_moves, graph=state.graph, **sequence)
        backend.parallel_for(most, kernels.make_moves, graph=state.graph, **sequence)

    def _make(self, keys: Array) -> None:
        """Make the longest prefix of the moves that ends in balance, and later moves that fit.

        Parts may exceed their limits within the prefix. The time is that of sorting two events for
        each move, for any number of parts (3.2.2 and 3.2.3, for any number of moves). The moves
        after the prefix are not in the paper: if parts are full, prefixes are short, and without
        these moves there would be ten times as many iterations.
        """
        state, backend, count = self._state, self._state.backend, len(keys)
        sequence = Sequence(keys, backend.full(count, 0), backend.empty(count), count)
        moves = {"state": state, "legal": self._legal, "sequence": sequence}
        listed = backend.empty(2 * count, np.int64)
        backend.parallel_for(count, kernels.list_events, listed=listed, **moves)
        events = Events(
            ordered=backend.sorted(listed),
            sums=backend.empty(2 * count, np.int64),
            bases=self._bases,
            count=2 * count,
        )
        both = {"sequence": sequence, "events": events}
        added, balanced = {"graph": state.graph, **both}, backend.full(1, 0)
        backend.scan(events.count, kernels.add_up_events, certain=backend.full(1, count), **added)
        backend.parallel_for(events.count, kernels.mark_overweight, state=state, **both)
        backend.scan(count, kernels.find_balanced, balanced=balanced, sequence=sequence)
        backend.scan(events.count, kernels.add_up_events, certain=balanced, **added)
        backend.parallel_for(
            events.count, kernels.admit_rest, balanced=balanced, state=state, **both
        )
        backend.parallel_for(count, kernels.make_moves, graph=state.graph, **moves)
