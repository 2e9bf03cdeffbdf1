"""Collective errors: an error of one process ends all, with a message that names its rank."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from jetpy.choices import DISTRIBUTION
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.watching import this_process, watching
from jetpy.errors import JetpyError, OptionError
from jetpy.io.atomic import remove_unfinished

T = TypeVar("T")
LAST_WORDS = 0.3
"""Seconds for the launcher to forward an error message, before `Communicator.abort`."""
COMMON = MemoryError, OSError, TypeError, ValueError
"""Errors of Python that wrong input or a full machine causes."""


class CollectiveError(Exception):
    """Marks an error that all processes raise."""


def run_collectively(comm: Communicator, work: Callable[[], T]) -> T:
    """Run `work` on every rank and return its result; if it fails on any rank, raise on all.

    Raises
    ------
    Exception
        On all ranks, the error of the lowest rank whose `work` raised one; the message names the
        rank. Errors that are neither jetpy's nor in `COMMON` become a RuntimeError.
    """
    if comm.size == 1:
        return work()
    failure = cause = None
    try:
        value = work()
    except Exception as own:
        failure, cause = _described(own), own
    for rank, found in enumerate(comm.allgather_objects(failure)):
        if found is not None:
            kind, message = found
            error = kind(f"process {rank}: {message}")
            raise agreed(error, None if isinstance(error, JetpyError) else cause)
    return value


def _described(error: Exception) -> tuple[type[Exception], str]:
    """Return a type of errors that have only a message, and the message of an error."""
    if isinstance(error, JetpyError):
        return type(error), str(error)
    for kind in COMMON:
        if isinstance(error, kind):
            return kind, str(error)
    return RuntimeError, f"{type(error).__name__}: {error}"


def check_agreement(comm: Communicator, **arguments: Any) -> None:
    """Check that all processes pass the same arguments: small objects, by name. Collective.

    Raises
    ------
    OptionError
        If one differs; the message names the lowest rank that differs from process 0.
    """
    first, *others = comm.allgather_objects(arguments)
    for rank, given in enumerate(others, 1):
        names = [name for name, value in given.items() if value != first[name]]
        if names:
            here, there = (
                ", ".join(f"{name}={own[name]!r:.80}" for name in names) for own in (first, given)
            )
            error = OptionError(
                f"process {rank} passes {there}, but process 0 passes {here}; all processes must "
                "pass the same arguments"
            )
            raise agreed(error)


def agreed(error: Exception, cause: Exception | None = None) -> Exception:
    """Return an error marked as one that all processes raise; `cause` is printed with it."""
    error.__cause__ = CollectiveError()
    error.__cause__.__cause__ = cause
    return error


@contextmanager
def collective_call(comm: Communicator, function: str) -> Iterator[None]:
    """Run a block that all processes run together, the body of a function. Collective.

    An error that all processes raise (`agreed`) propagates. Any other exception in one process
    aborts all processes, because the others may wait for it. So does the end of a process.

    Raises
    ------
    OptionError
        If another process calls another function, or has another version of jetpy.
    """

    def end(rank: int) -> None:
        _abort(comm, f"process {rank} of {comm.size} has ended before the others")

    with _aborting(comm):
        here = f"{function} of jetpy {_version()}", this_process()
        calls, processes = zip(*comm.allgather_objects(here), strict=True)
        for rank, call in enumerate(calls):
            if call != calls[0]:
                error = OptionError(
                    f"process {rank} calls {call}, but process 0 calls {calls[0]}; all processes "
                    "must call the same functions of the same version, in the same order"
                )
                raise agreed(error)
        with watching(processes, comm.rank, end):
            yield


@cache
def _version() -> str:
    """Return the version of jetpy; sources that are not installed have none."""
    with suppress(PackageNotFoundError):
        return version(DISTRIBUTION)
    return "without a version"


@contextmanager
def _aborting(comm: Communicator) -> Iterator[None]:
    """Abort all processes if the body raises an exception that is not `agreed`."""
    try:
        yield
    except BaseException as error:
        if comm.size == 1 or isinstance(error.__cause__, CollectiveError):
            raise
        if not isinstance(error, (JetpyError, MemoryError, KeyboardInterrupt, SystemExit)):
            traceback.print_exc()
        what = str(error) or type(error).__name__
        _abort(comm, f"process {comm.rank} of {comm.size} failed: {what}")
        raise


def _abort(comm: Communicator, message: str) -> None:
    """Print a message and end all processes, without partial files."""
    remove_unfinished()
    print(f"jetpy: {message}", file=sys.stderr, flush=True)
    time.sleep(LAST_WORDS)
    comm.abort()
