"""Launch sequences that the back end captures once and replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jetpy.engines.base import Captured
from jetpy.refinement.state import RefinementState

MAX_VERTICES = 1 << 24
"""Bound of (vertices of a level) * (repetitions) before Python can handle an interrupt."""


class CapturedLaunches:
    """A launch sequence on a state, captured once and replayed.

    The sequence is captured again if `Launches.reach` changes. After a change of level it is reused
    if the back end can exchange its arguments. If `Launches.until` is set, the sequence is repeated
    until a kernel requests the host.
    """

    def __init__(self, state: RefinementState) -> None:
        self._state = state
        self._reach = -1
        self._program: Captured | None = None

    def move(self, others: Mapping[int, Any]) -> None:
        """Adapt to the state's new level, given its new objects by `id` of the old ones."""
        if self._program is not None and not self._program.exchange(others):
            self._program = None

    def replay(self, launches: Callable[[], None]) -> None:
        """Replay the captured launches; capture them first if necessary."""
        state, backend = self._state, self._state.backend
        if self._program is None or self._reach != state.launches.reach:
            self._reach = state.launches.reach
            until, most = state.launches.until, 1
            if until is not None:
                most += MAX_VERTICES // max(state.room, 1)
            agree = state.graph.halo.is_everywhere
            self._program = backend.capture(launches, until, most, agree)
        self._program()
