"""Work that process 0 does alone, with the CPU threads of all processes of its machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from jetpy.device.backends import check_numbers
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import run_collectively
from jetpy.engines.threads import available_threads

T = TypeVar("T")


def run_on_root(comm: Communicator, threads: int | None, work: Callable[[int], T]) -> T | None:
    """Run `work` on process 0, and return its result there, None on others. Collective.

    The other processes sleep, so that they leave their processors to process 0.

    Parameters
    ----------
    comm : Communicator
    threads : int, optional
        CPU threads of this process; by default its share of the threads of the machine.
    work : callable
        Called with the number of threads of all processes of the machine, which may run on all
        processors of these processes.

    Raises
    ------
    Exception
        As `run_collectively` does.
    """
    run_collectively(comm, lambda: check_numbers(threads))
    own = own_threads(comm.neighbours[1]) if threads is None else threads
    lent = comm.allgather_on_machine((own, os.sched_getaffinity(0)))

    def run() -> T | None:
        try:
            if comm.rank > 0:
                return None
            with _on_processors(set().union(*(processors for _, processors in lent))):
                return work(sum(threads for threads, _ in lent))
        finally:
            comm.sleep_until_all()

    return run_collectively(comm, run)


def own_threads(processes: int) -> int:
    """Return the share of the threads of a machine that each of its processes has."""
    return max(1, available_threads() // processes)


@contextmanager
def _on_processors(processors: set[int]) -> Iterator[None]:
    """Let this thread, and those that it starts, run on these processors during the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
