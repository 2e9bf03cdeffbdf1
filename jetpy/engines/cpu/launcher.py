"""Launcher of compiled workunits: packs the arguments into a block and makes one call."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from jetpy.engines.cpu import FOR, GRAIN, REDUCE, SCAN, TASKS
from jetpy.engines.cpu.compiling import scheduler
from jetpy.engines.cpu.program import ProgramLauncher
from jetpy.engines.cpu.thread_pool import ThreadPool
from jetpy.engines.memory import Memory
from jetpy.kernel_language import Kind, Signature
from jetpy.lazy import cached_property

KINDS = {Kind.FOR: FOR, Kind.REDUCE: REDUCE, Kind.SCAN: SCAN}


class CpuLauncher(ProgramLauncher):
    """A loaded compiled workunit.

    Parameters
    ----------
    signature : Signature
    function : int
        Address of its range (`source`).
    memory : Memory
        Memory that has its arrays.
    pool : ThreadPool
        Threads that run it.
    """

    def __init__(
        self, signature: Signature, function: int, memory: Memory, pool: ThreadPool
    ) -> None:
        super().__init__(signature, memory, function, KINDS[signature.kind])
        self._pool = pool
        functions = scheduler()
        self._call, self._call_short = functions["launch"], functions["launch_short"]

    @cached_property
    def _run(self) -> Callable[..., int]:
        return self._runs_as(self.kind, self._call)

    @cached_property
    def _run_short(self) -> Callable[..., int]:
        return self._runs_as(self.kind, self._call_short)

    @cached_property
    def _run_tasks(self) -> Callable[..., int]:
        return self._runs_as(TASKS, self._call)

    def _runs_as(self, kind: int, call: Callable[..., int]) -> Callable[..., int]:
        return self.compiled(
            "return _call(_pool.address, _pool.width, _function, _kind, _pack(_n, {values}))",
            _call=call,
            _pool=self._pool,
            _function=self.function,
            _kind=kind,
            _pack=self.pack,
        )

    def launch(self, n: int, arguments: Mapping[str, Any]) -> int:
        """Run it over 0..n-1; return the total of a reduction or scan."""
        if n < 2 * GRAIN:  # one thread is faster than releasing the interpreter lock
            return self._launch(self._run_short, n, arguments)
        self._pool.call()
        return self._launch(self._run, n, arguments)

    def launch_tasks(self, n: int, arguments: Mapping[str, Any]) -> None:
        """Run it over 0..n-1, where each index deserves a thread."""
        if n > 1:
            self._pool.call()
        self._launch(self._run_tasks, n, arguments)

    def _launch(self, run: Callable[..., int], n: int, arguments: Mapping[str, Any]) -> int:
        try:
            total: int = self.knowing(run, n, arguments)
        except struct.error as error:
            raise self.wrong(error) from error
        return total

    def call(self, *passed: Any) -> int:
        """Run it with a result of `bind`."""
        pool = self._pool
        total: int = self._call(
            pool.address, pool.width, self.function, self.kind, self.block(*passed)
        )
        return total
