"""Sequences of launches that are made again and again."""

from __future__ import annotations

from collections.abc import Callable

from jetpy.refinement.state import RefinementState


class Recording:
    """A sequence of launches on a state, made again and again.

    Played from a recording, as long as launches need no more room than when it was made, unless
    the back end prefers lists: then launches differ from one time to the next.
    """

    def __init__(self, state: RefinementState) -> None:
        self._state = state
        self._reached = 0
        self._program: Callable[[], None] = lambda: None

    def play(self, launches: Callable[[], None]) -> None:
        """Make the launches."""
        state = self._state
        if state.backend.prefers_lists:
            launches()
            return
        if self._reached != state.active_count:
            self._reached = state.active_count
            self._program = state.backend.record(launches)
        self._program()
