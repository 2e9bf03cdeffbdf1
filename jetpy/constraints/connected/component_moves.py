"""Moves on the host that keep parts connected: for balance, and for a smaller cut."""

from __future__ import annotations

import numpy as np

from jetpy.constraints.connected.contiguity import ContiguityProblem
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import IntArray
from jetpy.workloads.constraints import component_balance, component_refinement, components
from jetpy.workloads.constraints.component_balance import ADJACENT, ANYWHERE, FailedPairs
from jetpy.workloads.constraints.components import ALL_NUMBERS, EFFORT, Link, Part

MAX_STEPS = 20_000
"""Maximum number of edges visited to decide whether a vertex can leave its part."""
EFFORT_SHARE, MIN_EFFORT = 128, 1 << 27
"""Approximate limit of edges visited by all moves: per vertex and directed edge, and at least."""
FAILED_SHARE = 16
"""Number of slots for failed pairs per part."""


class PieceMoves:
    """Moves on one graph by a single task, on the back end or its host engine.

    Parameters
    ----------
    backend : Backend
    contiguity : ContiguityProblem
    seed : int
        Breaks ties between moves.
    """

    def __init__(self, backend: Backend, contiguity: ContiguityProblem, seed: int) -> None:
        self.contiguity = contiguity
        self._seed = seed
        self._host = backend.host
        self._graph = upload(self._host, contiguity.graph)
        self._effort = max(EFFORT_SHARE * self._graph.size, MIN_EFFORT)

    def balance(self, parts: IntArray, *, anywhere: bool = False) -> IntArray:
        """Move weight between parts (int32, shape (n,)) until all keep their limits, if possible.

        No component is disconnected; vertices of part k never move. With `anywhere`, vertices may
        also go to parts to which they have no edges, which then get more components.
        """
        state = self._state(parts)
        self._host.run_tasks(
            1,
            component_balance.push_weight,
            k=self.contiguity.k,
            where=ANYWHERE if anywhere else ADJACENT,
            n=self._graph.n,
            graph=self._graph,
            state=state,
        )
        return self._result(state)

    def lower_cut(self, parts: IntArray) -> IntArray:
        """Return parts (int32, shape (n,)) of smaller cut, no worse in balance and components."""
        state = self._state(parts)
        self._host.run_tasks(
            1, component_refinement.lower_cut, n=self._graph.n, graph=self._graph, state=state
        )
        return self._result(state)

    def _result(self, state: FailedPairs) -> IntArray:
        self._effort = int(self._host.to_host(state.numbers)[EFFORT])
        return np.asarray(self._host.to_host(state.parts))

    def _state(self, parts: IntArray) -> FailedPairs:
        state = state_of(self._host, self.contiguity, parts, self._seed, self._effort)
        self._host.run_tasks(
            1, components.list_part_vertices, n=len(parts), k=self.contiguity.k, state=state
        )
        return state


def state_of(
    backend: Backend, contiguity: ContiguityProblem, parts: IntArray, seed: int, effort: int
) -> FailedPairs:
    """Return a partition and buffers for searches.

    There is a row for an additional part, whose vertices never move.
    """
    n, k = contiguity.graph.n, contiguity.k
    rows = np.zeros((k + 2, Part.COUNT), np.int64)
    rows[:k, Part.WEIGHT] = contiguity.weigh(parts)
    rows[:k, Part.LIMIT] = contiguity.limits
    rows[:k, Part.LOWER_LIMIT] = contiguity.lower_limits
    rows[: k + 1, Part.SIZE] = np.bincount(parts, minlength=k + 1)
    rows[:, Part.GIVER] = component_balance.NOT_REACHED
    failed_pairs = FAILED_SHARE * k
    numbers = np.zeros(ALL_NUMBERS, np.int64)
    numbers[EFFORT] = effort
    state: FailedPairs = backend.group(
        FailedPairs,
        n,
        keys=backend.empty(n, np.int64),
        numbers=backend.from_host(numbers),
        parts=backend.from_host(parts.copy()),
        movable=backend.from_host((contiguity.movable & (parts < k)).astype(np.int32)),
        part_rows=backend.from_host(rows.ravel()),
        links=backend.empty(n * Link.COUNT),
        labels=backend.full(n, 0),
        failed_pairs=backend.full(2 * failed_pairs, -1, np.int64),
        pair_slots=failed_pairs,
        seed=seed,
        max_steps=MAX_STEPS,
    )
    return state
