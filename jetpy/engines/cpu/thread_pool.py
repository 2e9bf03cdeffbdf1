"""The threads of a back end: made when they are first needed, dismissed with it."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

import numpy as np

from jetpy.engines.cpu.compiling import sharing
from jetpy.engines.cpu.scheduler import LINE, WORD, bytes_of
from jetpy.engines.threads import after_fork, available_threads, fork_safe_lock

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
            crew.threads = crew.width = 1
    _runs.clear()


class Crew:
    """Threads that share launches (`sharing`), with whoever launches as one of them.

    Parameters
    ----------
    threads : int

    Attributes
    ----------
    threads : int
        How many there are; one in a child forked from a process with a crew at work.
    width : int
        How many of them a launch may use: fewer while other runs need the processors, too.
    address : int
        Of the words that they share.
    is_at_work : bool
        Whether threads have been started.
    """

    def __init__(self, threads: int) -> None:
        self.threads = self.width = 1 if crews_are_lost() else threads
        self._words = np.zeros((bytes_of(threads) + LINE) // WORD, np.int64)
        self.address = -(-self._words.ctypes.data // LINE) * LINE
        self._members: list[threading.Thread] = []
        self._starting = fork_safe_lock()
        _crews.add(self)

    @property
    def is_at_work(self) -> bool:
        """Whether threads have been started."""
        return bool(self._members)

    def call(self) -> None:
        """Start threads until there are `width` of them, or the system starts no more."""
        if len(self._members) + 1 < self.width:
            with self._starting:
                self._start()

    def _start(self) -> None:
        functions, members = sharing(), self._members
        if not members:
            functions["found"](self.address, self.threads)
            dismiss = functions["dismiss"]
            weakref.finalize(self, _dismiss, dismiss, self.address, members, self._words)
        for number in range(len(members) + 1, self.width):
            given = self.address, number
            member = threading.Thread(target=functions["serve"], args=given, daemon=True)
            try:
                member.start()
            except RuntimeError:
                self.threads = self.width = number
                break
            members.append(member)


def _dismiss(
    function: ctypes._FuncPointer, address: int, members: list[threading.Thread], words: object
) -> None:
    """Have the threads leave, in the process that they belong to; `words` live until they have."""
    if all(member.is_alive() for member in members):
        function(address, 1 + len(members))
        for member in members:
            member.join()


_runs: Counter[Crew] = Counter()
"""The crews of runs, and how often each has been entered."""
_counting = fork_safe_lock()


@contextmanager
def in_a_run(crew: Crew) -> Iterator[None]:
    """Let launches of a crew use its share of the processors for a while.

    A run alone has all threads that it asks for. Several share the processors out in proportion to
    what they ask for, so that they do not wait for each other's threads.
    """
    _enter(crew, 1)
    try:
        yield
    finally:
        _enter(crew, -1)


def _enter(crew: Crew, times: int) -> None:
    with _counting:
        _runs[crew] = max(0, _runs[crew] + times)
        if not _runs[crew]:
            del _runs[crew]
            crew.width = crew.threads
        wanted = sum(one.threads for one in _runs)
        for one in _runs:
            one.width = share_of(one.threads, wanted, available_threads())


def share_of(threads: int, wanted: int, processors: int) -> int:
    """Return how many threads a run may use that asks for some of those wanted by all runs.

    >>> share_of(4, 4, 2), share_of(2, 32, 16), share_of(16, 17, 16), share_of(1, 17, 16)
    (4, 1, 15, 1)
    """
    if threads == wanted:
        return threads
    return max(1, min(threads, processors * threads // wanted))
