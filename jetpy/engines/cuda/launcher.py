"""Launcher of compiled workunits: packs the arguments into one buffer and makes one call."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jetpy.engines.cuda.templates import (
    FOR_THREADS,
    SCAN_THREADS,
    SUM_BLOCKS,
    SUM_THREADS,
    TILE,
    TILE_BYTES,
)
from jetpy.engines.launching import Launcher
from jetpy.engines.memory import Memory
from jetpy.kernel_language import Kind, Signature, View

CODES = {
    "boolean": "?",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
"""Format of numbers for `struct`; addresses are packed as uint64."""
_TAILS = {Kind.FOR: "", Kind.REDUCE: "QQ", Kind.SCAN: "QQIQ"}
"""Format of the parameters of a kernel after the workunit's arguments."""
_SCANS = 1 << 29
"""Scans are numbered modulo this."""


class Totals:
    """Further arguments of reductions and scans, and the memory for their totals.

    A total is an int64 in page-locked host memory, which the last block writes. Blocks of a
    reduction add to a sum that is zero before and after each. A scan's number distinguishes its
    tiles from those of earlier scans.

    Parameters
    ----------
    memory : Memory
        Memory of the GPU that runs the kernels.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._answer = memory.dual_view(1).host
        self._sum = memory.xp.zeros(2, np.int64)
        self._ticket = memory.xp.zeros(1, np.int32)
        self._tiles = memory.xp.zeros(0, np.uint8)
        self._scan = 0

    def of_sum(self) -> tuple[int, int]:
        """Return the further arguments of a reduction."""
        return self._memory.locate(self._sum), self._answer.ctypes.data

    def of_scan(self, tiles: int) -> tuple[int, int, int, int]:
        """Return the further arguments of a scan with `tiles` tiles."""
        if len(self._tiles) < TILE_BYTES * tiles:
            self._tiles = self._memory.xp.zeros(2 * TILE_BYTES * tiles, np.uint8)
        self._scan = self._scan % _SCANS + 1
        places = self._memory.locate(self._tiles), self._memory.locate(self._ticket)
        return *places, self._scan, self._answer.ctypes.data

    def read(self) -> int:
        """Wait for the last launched kernel and return its total."""
        self._memory.stream.synchronize()
        return int(self._answer[0])


class CudaLauncher(Launcher):
    """A loaded compiled workunit.

    Parameters
    ----------
    signature : Signature
    function : int
        Address of the driver's function handle.
    memory : Memory
        Memory that has its arrays; launches use the memory's current stream.
    totals : Totals
        Shared by all launchers.
    start : callable
        `cupy.cuda.driver.launchKernel`.
    """

    def __init__(
        self,
        signature: Signature,
        function: int,
        memory: Memory,
        totals: Totals,
        start: Callable[..., None],
    ) -> None:
        super().__init__(signature, memory)
        self.call = {
            Kind.FOR: self._run_for,
            Kind.REDUCE: self._run_reduce,
            Kind.SCAN: self._run_scan,
        }[signature.kind]
        self._totals = totals
        codes = kernel_codes(signature)
        layout = struct.Struct(codes)
        self._pack = layout.pack_into
        self._buffer = ctypes.create_string_buffer(layout.size)
        first = ctypes.addressof(self._buffer)
        self._places = (ctypes.c_void_p * len(codes))(*(first + o for o in offsets(codes)))
        self._function, self._parameters = function, ctypes.addressof(self._places)
        self._start = start
        self._is_for = signature.kind is Kind.FOR
        self._fill = self.compiled(
            "_pack(_buffer, 0, _n, {values})", _pack=self._pack, _buffer=self._buffer
        )

    def launch(self, n: int, arguments: Mapping[str, Any]) -> Any:
        """Run it over 0..n-1; return the total of a reduction or scan.

        For a *for* workunit, one function looks up and packs the arguments, which costs less than
        `bind` and `call`.
        """
        if not self._is_for:
            return super().launch(n, arguments)
        self._fill_and_run(n, arguments, FOR_THREADS)
        return None

    def launch_tasks(self, n: int, arguments: Mapping[str, Any]) -> None:
        """Run it over 0..n-1, each index in a warp of its own, because tasks diverge."""
        self._fill_and_run(n, arguments, 1)

    def _fill_and_run(self, n: int, arguments: Mapping[str, Any], threads: int) -> None:
        try:
            self.knowing(self._fill, n, arguments)
        except struct.error as error:
            raise self.wrong(error) from error
        if n > 0:
            self._run(-(-n // threads), threads)

    def _launch(self, blocks: int, threads: int, values: tuple[Any, ...]) -> None:
        try:
            self._pack(self._buffer, 0, *values)
        except struct.error as error:
            raise self.wrong(error) from error
        self._run(blocks, threads)

    def _run(self, blocks: int, threads: int) -> None:
        """Launch the kernel with the packed arguments."""
        stream = self._memory.stream.ptr
        self._start(self._function, blocks, 1, 1, threads, 1, 1, 0, stream, self._parameters, 0)

    def _run_for(self, *passed: Any) -> None:
        n: int = passed[0]
        if n > 0:
            self._launch(-(-n // FOR_THREADS), FOR_THREADS, passed)

    def _run_reduce(self, *passed: Any) -> int:
        n: int = passed[0]
        if n <= 0:
            return 0
        blocks = min(-(-n // SUM_THREADS), SUM_BLOCKS)
        self._launch(blocks, SUM_THREADS, passed + self._totals.of_sum())
        return self._totals.read()

    def _run_scan(self, *passed: Any) -> int:
        n: int = passed[0]
        if n <= 0:
            return 0
        tiles = -(-n // TILE)
        self._launch(tiles, SCAN_THREADS, passed + self._totals.of_scan(tiles))
        return self._totals.read()


def kernel_codes(signature: Signature) -> str:
    """Return the `struct` format of a kernel's parameters: index count, arguments, and the tail."""
    kinds = signature.arguments.values()
    own = "".join("Q" if isinstance(kind, View) else CODES[kind] for kind in kinds)
    return f"I{own}{_TAILS[signature.kind]}"


def offsets(codes: str) -> list[int]:
    """Return the offset of each value of a `struct` format, aligned as in C.

    >>> offsets("iQi?d")
    [0, 8, 16, 20, 24]
    """
    return [struct.calcsize(codes[: i + 1]) - struct.calcsize(codes[i]) for i in range(len(codes))]
