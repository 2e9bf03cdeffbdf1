"""The threads of a back end: made when they are first needed, dismissed with it."""

from __future__ import annotations

import ctypes
import threading
import weakref
from weakref import WeakSet

import numpy as np

from jetpy.backends.numba_engine.compiling import sharing
from jetpy.backends.numba_engine.sharing import LINE, words_of
from jetpy.backends.threads import after_fork

_crews: WeakSet[Crew] = WeakSet()
_is_lost = False


def crews_are_lost() -> bool:
    """Whether this process was forked from one whose crews were at work; it does without."""
    return _is_lost


@after_fork
def _lose_crews() -> None:
    global _is_lost
    _is_lost = _is_lost or any(crew.is_at_work for crew in _crews)
    if _is_lost:
        for crew in _crews:
            crew.threads = 1


class Crew:
    """Threads that share launches (`sharing`), with whoever launches as one of them.

    Parameters
    ----------
    threads : int

    Attributes
    ----------
    threads : int
        How many there are; one in a child forked from a process with a crew at work.
    address : int
        Of the words that they share.
    is_at_work : bool
        Whether the threads have been started.
    """

    def __init__(self, threads: int) -> None:
        self.threads = 1 if crews_are_lost() else threads
        self.is_at_work = False
        self._words = np.zeros(words_of(threads) + LINE, np.int64)
        self.address = -(-self._words.ctypes.data // (8 * LINE)) * 8 * LINE
        _crews.add(self)

    def call(self) -> None:
        """Start the threads, or as many as the system lets, when they are first called."""
        if self.is_at_work or self.threads == 1:
            return
        self.is_at_work = True
        functions = sharing()
        functions["found"](self.address, self.threads)
        members: list[threading.Thread] = []
        for number in range(1, self.threads):
            given = self.address, number
            member = threading.Thread(target=functions["serve"], args=given, daemon=True)
            try:
                member.start()
            except RuntimeError:
                break
            members.append(member)
        self.threads = 1 + len(members)
        weakref.finalize(self, _dismiss, functions["dismiss"], self.address, members, self._words)


def _dismiss(
    function: ctypes._FuncPointer, address: int, members: list[threading.Thread], words: object
) -> None:
    """Have the threads leave, in the process that they belong to; `words` live until they have."""
    if all(member.is_alive() for member in members):
        function(address, 1 + len(members))
        for member in members:
            member.join()
