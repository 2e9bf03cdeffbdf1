"""Launches compiled workunits: arguments packed into one prepared buffer, then one call."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from jetpy.engines.compiled_backend import Arguments
from jetpy.engines.cuda.templates import (
    FOR_THREADS,
    SCAN_THREADS,
    SUM_BLOCKS,
    SUM_THREADS,
    TILE,
    TILE_BYTES,
)
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
"""How `struct` packs numbers; addresses are packed as uint64."""
_TAILS = {Kind.FOR: "", Kind.REDUCE: "QQ", Kind.SCAN: "QQIQ"}
"""What kernels take after a workunit's own arguments."""
_SCANS = 1 << 29
"""Numbers that scans have, in turn."""


class Driver(Protocol):
    """The part of CuPy's module `cupy.cuda.driver` that launching takes."""

    def launchKernel(  # noqa: D102
        self,
        f: int,
        grid_dim_x: int,
        grid_dim_y: int,
        grid_dim_z: int,
        block_dim_x: int,
        block_dim_y: int,
        block_dim_z: int,
        shared_mem_bytes: int,
        stream: int,
        kernel_params: int,
        extra: int,
        /,
    ) -> None: ...


class Totals:
    """What reductions and scans need beside their arguments, and where they leave the total.

    That is an int64 of the host, page-locked, which the last block writes. Reductions leave the
    sum that blocks add to as they found it, zero; scans tell their tiles from those of scans
    before by a number.

    Parameters
    ----------
    memory : Memory
        Where kernels run.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._answer = memory.dual_view(1).host
        self._sum = memory.xp.zeros(2, np.int64)
        self._ticket = memory.xp.zeros(1, np.int32)
        self._tiles = memory.xp.zeros(0, np.uint8)
        self._scan = 0

    def of_sum(self) -> tuple[int, int]:
        """Return what a reduction takes."""
        return self._memory.locate(self._sum), self._answer.ctypes.data

    def of_scan(self, tiles: int) -> tuple[int, int, int, int]:
        """Return what a scan takes that has so many tiles."""
        if len(self._tiles) < TILE_BYTES * tiles:
            self._tiles = self._memory.xp.zeros(2 * TILE_BYTES * tiles, np.uint8)
        self._scan = self._scan % _SCANS + 1
        places = self._memory.locate(self._tiles), self._memory.locate(self._ticket)
        return *places, self._scan, self._answer.ctypes.data

    def read(self) -> int:
        """Wait for the kernel that was launched last and return its total."""
        self._memory.stream.synchronize()
        return int(self._answer[0])


class Launcher:
    """A compiled workunit, loaded.

    Parameters
    ----------
    signature : Signature
    function : int
        Address of the driver's function.
    memory : Memory
        Where its arrays lie; it is launched to whatever its stream is then.
    totals : Totals
        Shared by all launchers.
    driver : Driver

    Attributes
    ----------
    bind, places
        As of `Arguments`.
    call : callable
        Runs it with what `bind` returns; returns the total of a reduction or scan.
    """

    def __init__(
        self,
        signature: Signature,
        function: int,
        memory: Memory,
        totals: Totals,
        driver: Driver,
    ) -> None:
        self._arguments = Arguments(signature, memory)
        self.bind, self.places = self._arguments.bind, self._arguments.places
        self.call: Callable[..., Any] = {
            Kind.FOR: self._run_for,
            Kind.REDUCE: self._run_reduce,
            Kind.SCAN: self._run_scan,
        }[signature.kind]
        self._name, self._totals = signature.name, totals
        codes = kernel_codes(signature)
        layout = struct.Struct(codes)
        self._pack = layout.pack_into
        self._buffer = ctypes.create_string_buffer(layout.size)
        start = ctypes.addressof(self._buffer)
        self._places = (ctypes.c_void_p * len(codes))(*(start + o for o in offsets(codes)))
        self._function, self._parameters = function, ctypes.addressof(self._places)
        self._memory, self._start = memory, driver.launchKernel
        self._is_for = signature.kind is Kind.FOR
        self._fill = self._arguments.function(
            "_pack(_buffer, 0, _n, {values})", _pack=self._pack, _buffer=self._buffer
        )

    def launch(self, n: int, arguments: Mapping[str, Any]) -> Any:
        """Run it over 0..n-1; return the total of a reduction or scan.

        A *for* workunit's arguments are packed as they are looked up, in one go, which costs less
        than `bind` and `call`.
        """
        if not self._is_for:
            return self.call(*self.bind(n, arguments))
        try:
            self._arguments.knowing(self._fill, n, arguments)
        except struct.error as error:
            raise self._wrong(error) from error
        if n > 0:
            self._run(-(-n // FOR_THREADS), FOR_THREADS)
        return None

    def _launch(self, blocks: int, threads: int, values: tuple[Any, ...]) -> None:
        try:
            self._pack(self._buffer, 0, *values)
        except struct.error as error:
            raise self._wrong(error) from error
        self._run(blocks, threads)

    def _wrong(self, error: struct.error) -> TypeError:
        return TypeError(f"an argument of {self._name} has the wrong type: {error}")

    def _run(self, blocks: int, threads: int) -> None:
        """Launch the kernel with the arguments that have been packed."""
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
    """Return how `struct` packs what a kernel takes: indices, arguments, and what is its own."""
    kinds = signature.arguments.values()
    own = "".join("Q" if isinstance(kind, View) else CODES[kind] for kind in kinds)
    return f"I{own}{_TAILS[signature.kind]}"


def offsets(codes: str) -> list[int]:
    """Return where `struct` puts each of some values, aligned as C does.

    >>> offsets("iQi?d")
    [0, 8, 16, 20, 24]
    """
    return [struct.calcsize(codes[: i + 1]) - struct.calcsize(codes[i]) for i in range(len(codes))]
