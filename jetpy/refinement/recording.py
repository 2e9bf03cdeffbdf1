"""Sequences of launches that are made again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jetpy.engines.base import Recorded
from jetpy.refinement.state import RefinementState

MAX_VERTICES = 1 << 24
"""Vertices of a level times repetitions before the interpreter looks whether it was interrupted."""


class Recording:
    """A sequence of launches on a state, made again and again.

    Played from a recording, as long as launches reach as many vertices as when it was made, and on
    other levels, too, if the back end can exchange what they work on. Over lists, they are repeated
    until they ask the host for something (`Launches.until`).
    """

    def __init__(self, state: RefinementState) -> None:
        self._state = state
        self._reach = -1
        self._program: Recorded | None = None

    def move(self, others: Mapping[int, Any]) -> None:
        """Go to the level that the state has gone to, given its objects by `id` of those before."""
        if self._program is not None and not self._program.exchange(others):
            self._program = None

    def play(self, launches: Callable[[], None]) -> None:
        """Make the launches."""
        state, backend = self._state, self._state.backend
        if self._program is None or self._reach != state.launches.reach:
            self._reach = state.launches.reach
            until, most = state.launches.until, 1
            if until is not None:
                most += MAX_VERTICES // max(state.room, 1)
            agree = state.graph.halo.is_everywhere
            self._program = backend.record(launches, until, most, agree)
        self._program()
