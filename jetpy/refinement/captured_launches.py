"""Sequences of launches that are captured once and replayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jetpy.engines.base import Captured
from jetpy.refinement.state import RefinementState

MAX_VERTICES = 1 << 24
"""Vertices of a level times repetitions before the interpreter looks whether it was interrupted."""


class CapturedLaunches:
    """A sequence of launches on a state, captured once and replayed.

    It is captured again if launches reach another number of vertices. It serves other levels if the
    back end can exchange the arguments. Launches over lists are repeated until they have a request
    to the host (`Launches.until`).
    """

    def __init__(self, state: RefinementState) -> None:
        self._state = state
        self._reach = -1
        self._program: Captured | None = None

    def move(self, others: Mapping[int, Any]) -> None:
        """Go to the level that the state has gone to, given its objects by `id` of those before."""
        if self._program is not None and not self._program.exchange(others):
            self._program = None

    def replay(self, launches: Callable[[], None]) -> None:
        """Make the launches."""
        state, backend = self._state, self._state.backend
        if self._program is None or self._reach != state.launches.reach:
            self._reach = state.launches.reach
            until, most = state.launches.until, 1
            if until is not None:
                most += MAX_VERTICES // max(state.room, 1)
            agree = state.graph.halo.is_everywhere
            self._program = backend.capture(launches, until, most, agree)
        self._program()
