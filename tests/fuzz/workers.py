"""Worker processes; a crash or hang is a defect, and the worker is replaced."""

from __future__ import annotations

import faulthandler
import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait

from jetpy.device.backends import get_backend, kernel_modules
from jetpy.errors import BackendError
from jetpy.kernel_language import Width
from tests.fuzz.checks import Finding
from tests.fuzz.draws import Engine
from tests.fuzz.runs import Run, run

LONGEST = 120.0
"""Seconds after which a run counts as hanging."""
_processes = multiprocessing.get_context("spawn")


def prepare(engines: Sequence[Engine]) -> None:
    """Load the kernels, starting with the engine with the most threads."""
    for engine in sorted(engines, key=lambda engine: -(engine["threads"] or 0)):
        backend = get_backend(engine["backend"], engine["threads"])
        backend.compile(kernel_modules())
        with suppress(BackendError):  # some back ends have no wide kernels
            backend.with_width(Width.WIDE).compile(kernel_modules())


def _work(orders: Connection, seed: int, engines: Sequence[Engine]) -> None:
    faulthandler.enable()
    prepare(engines)
    while (number := orders.recv()) is not None:
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        done = run(seed, number, engines)
        faulthandler.cancel_dump_traceback_later()
        orders.send(done)


def runs(seed: int, numbers: Iterable[int], jobs: int, engines: Sequence[Engine]) -> Iterator[Run]:
    """Run in `jobs` processes and yield each finished run."""
    waiting = iter(numbers)
    busy: dict[Connection, int] = {}

    def order(worker: Connection) -> None:
        number = next(waiting, None)
        worker.send(number)
        if number is not None:
            busy[worker] = number

    for _ in range(jobs):
        order(_started(seed, engines))
    while busy:
        for worker in wait(list(busy)):
            assert isinstance(worker, Connection)
            number = busy.pop(worker)
            try:
                done = worker.recv()
            except EOFError:
                worker = _started(seed, engines)
                yield Run(number, "", LONGEST, [Finding("no crash", "died, or hung: see above")])
            else:
                yield done
            order(worker)


def _started(seed: int, engines: Sequence[Engine]) -> Connection:
    here, there = _processes.Pipe()
    _processes.Process(target=_work, args=(there, seed, engines), daemon=True).start()
    there.close()
    return here
