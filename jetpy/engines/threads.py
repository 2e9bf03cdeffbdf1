"""CPU threads: available processors, locks, forks, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any
from weakref import WeakSet

_openmp_is_lost = False


def available_threads() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def limit_spinning() -> None:
    """Let waiting OpenMP threads spin for about 500 us instead of milliseconds.

    That is longer than the time between launches, and on a busy machine shorter than the time slice
    that a launch would wait for. Call it before an OpenMP runtime is loaded. Settings of the user
    take precedence.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")


def after_fork(function: Callable[[], None]) -> Callable[[], None]:
    """Register a function to be called in every forked child, in the order of registration."""
    os.register_at_fork(after_in_child=function)
    return function


def fork_safe_lock() -> Any:
    """Return a reentrant lock that is free in a forked child, unless the forking thread holds it.

    An ordinary lock that another thread holds during a fork stays locked in the child forever.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def lock_that_forks_wait_for() -> Any:
    """Return a reentrant lock that no other thread holds during a fork.

    The guarded data is consistent in the child, even the data of a library with its own locks.
    """
    lock = threading.RLock()
    hooks = {"after_in_parent": lock.release, "after_in_child": lock.release}
    os.register_at_fork(before=lock.acquire, **hooks)
    return lock


_locks: WeakSet[Any] = WeakSet()


@after_fork
def _renew_locks() -> None:
    for lock in _locks:
        if not lock._is_owned():
            lock._at_fork_reinit()


def openmp_is_lost() -> bool:
    """Return whether this process was forked from one that had started OpenMP's threads.

    The child lacks these threads, and GNU's OpenMP neither starts new ones nor works without them.
    """
    return _openmp_is_lost


@after_fork
def _look_for_openmp() -> None:
    global _openmp_is_lost
    _openmp_is_lost = _openmp_is_lost or _numba_has_threads() or _kokkos_runs()


def _numba_has_threads() -> bool:
    """Return whether Numba, used by jetpy or not, has started its threads."""
    try:
        sys.modules["numba"].threading_layer()
    except (AttributeError, KeyError, ValueError):
        return False
    return True


def _kokkos_runs() -> bool:
    return "kokkos" in sys.modules and bool(sys.modules["kokkos"].is_initialized())


@contextmanager
def uninterrupted(notice: Callable[[], None] | None = None) -> Iterator[None]:
    """Delay the exception of Ctrl-C until the block has ended.

    For code that an exception at any moment would leave inconsistent: objects of libraries, and
    locks acquired in Python.

    Parameters
    ----------
    notice : callable, optional
        Called when an exception is delayed, so that the block may end early.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if in_main_thread else None
    if not callable(handler):
        yield
        return
    put_off: list[BaseException] = []

    def handle(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            put_off.append(error)
            if notice is not None:
                notice()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if put_off:
            raise put_off[0] from None
