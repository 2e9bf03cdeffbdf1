"""Sequences of launches that are made again and again."""

from __future__ import annotations

from collections.abc import Callable

from jetpy.backends.base import Count
from jetpy.refinement.state import RefinementState
from jetpy.workloads.control_block import Control

MOST_VERTICES = 1 << 24
"""Vertices of a level times repetitions before the interpreter looks whether it was interrupted."""


class Recording:
    """A sequence of launches on a state, made again and again.

    Played from a recording, as long as launches reach as many vertices as when it was made. Where
    the back end prefers lists they read what they need, and are repeated until the host is asked
    for something.
    """

    def __init__(self, state: RefinementState) -> None:
        self._state = state
        self._reach = -1
        self._until: Count | None = None
        self._most = 1
        if state.backend.prefers_lists:
            self._until = state.number(Control.REQUEST)
            self._most += MOST_VERTICES // max(state.graph.n, 1)
        self._program: Callable[[], None] = lambda: None

    def play(self, launches: Callable[[], None]) -> None:
        """Make the launches."""
        state, backend = self._state, self._state.backend
        if self._reach != state.reach:
            self._reach = state.reach
            agree = state.graph.halo.is_everywhere
            self._program = backend.record(launches, self._until, self._most, agree)
        self._program()
