"""Work of process 0 alone: its threads, its processors, and errors."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from jetpy.distributed.alone import run_on_root
from jetpy.distributed.communicator import Communicator
from jetpy.errors import OptionError
from tests.distributed.threads import run_on_threads


def test_process_0_has_the_threads_of_all() -> None:
    def run(comm: Communicator) -> int | None:
        return run_on_root(comm, 1 + comm.rank, lambda threads: threads)

    assert run_on_threads(3, run) == [6, None, None]


def test_process_0_has_the_processors_of_all() -> None:
    """A launcher may have bound each process to some; new threads inherit those of process 0."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        pytest.skip("the machine has one processor")

    def run(comm: Communicator) -> Any:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {processors[comm.rank]})
        found: list[set[int]] = []

        def work(_: int) -> set[int]:
            inside = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))
            inside.start()
            inside.join()
            return found[0]

        inside = run_on_root(comm, 1, work)
        after = os.sched_getaffinity(0)
        os.sched_setaffinity(0, before)
        return inside, after

    own = [{processor} for processor in processors[:2]]
    assert run_on_threads(2, run) == [(own[0] | own[1], own[0]), (None, own[1])]


@pytest.mark.parametrize("rank", [0, 1])
def test_wrong_threads_are_an_error_of_all(rank: int) -> None:
    def run(comm: Communicator) -> None:
        with pytest.raises(OptionError, match=f"process {rank}: threads is 0"):
            run_on_root(comm, int(comm.rank != rank), lambda threads: threads)

    run_on_threads(2, run)


def test_an_error_of_process_0_is_one_of_all() -> None:
    def work(threads: int) -> None:
        raise OptionError(f"not with {threads}")

    def run(comm: Communicator) -> None:
        with pytest.raises(OptionError, match="process 0: not with 2"):
            run_on_root(comm, 1, work)

    run_on_threads(2, run)
