"""Watching of the other processes of a machine, because some launchers let them end silently."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

GRACE = 0.5
"""Seconds that this process has to end the block after another process has ended."""
PATIENCE = 2.0
"""Seconds that the end of all processes may take."""


class Process(NamedTuple):
    """A process: its machine, or container, and its id there."""

    where: str
    pid: int


def this_process() -> Process:
    """Return this process. Its machine is "" if it has no such ids."""
    where = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        where = f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return Process(where, os.getpid())


@contextmanager
def watching(processes: Sequence[Process], rank: int, end: Callable[[int], None]) -> Iterator[None]:
    """End all processes if another one of this machine ends during the block.

    Parameters
    ----------
    processes : sequence of Process
        All processes of a run, in rank order.
    rank : int
        Rank of this process.
    end : callable
        Ends all processes; the argument is the rank of the process that has ended.
    """
    own = processes[rank]
    with ExitStack() as stack:
        others: dict[int, int] = {}
        for other, process in enumerate(processes):
            if own.where and process.where == own.where and process.pid != own.pid:
                with suppress(OSError, AttributeError):  # older systems have no such descriptors
                    others[_opened(stack, os.pidfd_open(process.pid))] = other
        if others:
            reader, writer = (_opened(stack, descriptor) for descriptor in os.pipe())
            watcher = threading.Thread(target=_watch, args=(others, reader, end), daemon=True)
            watcher.start()
            stack.callback(watcher.join)
            stack.callback(os.write, writer, b"\0")
        yield


def _opened(stack: ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor


def _ready(descriptors: Iterable[int], seconds: float | None = None) -> list[int]:
    """Wait until a descriptor is ready, or time has passed; return those that are."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000)]


def _watch(others: dict[int, int], reader: int, end: Callable[[int], None]) -> None:
    """Wait until the block has ended, or another process has; `others` are ranks by descriptor."""
    ready = _ready((reader, *others))
    if reader in ready or _ready((reader,), GRACE):
        return
    ending = threading.Thread(target=end, args=(others[ready[0]],), daemon=True)
    ending.start()
    ending.join(PATIENCE)
    os._exit(1)
