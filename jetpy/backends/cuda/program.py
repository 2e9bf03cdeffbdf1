"""Programs: recorded launches that one kernel makes, again and again, without the host between."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jetpy.backends.base import Array, Count
from jetpy.backends.cuda.launcher import Driver, offsets
from jetpy.backends.cuda.program_source import GRID_BYTES, MOST_BLOCKS, STEP, THREADS
from jetpy.backends.launching import Step, Tape, address_of
from jetpy.backends.memory import Memory

INDICES = 256
"""Indices that are worth a block: few blocks wait less for each other."""
_CODES = "QIIQqQQQ"
"""How `struct` packs what the kernel takes."""


@runtime_checkable
class Programmable(Protocol):
    """A launcher of a workunit that a program can call.

    Attributes
    ----------
    name : str
    """

    name: str

    def block(self, *passed: Any) -> bytes:
        """Return what `Launcher.bind` returns as a block."""


class Processor:
    """What runs programs on a GPU, one at a time.

    Parameters
    ----------
    function : int
        Address of the driver's function.
    cases : dict of str to int
        Numbers of the workunits that it can call.
    memory : Memory
        Where arrays lie, and the stream that programs are launched to.
    driver : Driver
    most_blocks : int
        Blocks that fit on the GPU at once.

    Attributes
    ----------
    grid : int64
        What the blocks share.
    times : int64, shape (1,)
        How often the last program was repeated; of the host, page-locked.
    """

    def __init__(
        self,
        function: int,
        cases: Mapping[str, int],
        memory: Memory,
        driver: Driver,
        most_blocks: int,
    ) -> None:
        self.cases, self.memory = cases, memory
        self.grid: Array = memory.xp.zeros(GRID_BYTES // 8, np.int64)
        self.times = memory.dual_array(1).host
        self.most_blocks = min(most_blocks, MOST_BLOCKS)
        self._function, self._start = function, driver.launchCooperativeKernel

    def run(self, blocks: int, shared_bytes: int, parameters: int) -> int:
        """Run a program and wait for its end; return how often it was repeated."""
        stream = self.memory.stream
        self._start(
            self._function, blocks, 1, 1, THREADS, 1, 1, shared_bytes, stream.ptr, parameters
        )
        stream.synchronize()
        return int(self.times[0])


class Program:
    """Launches in a row, repeated until a number is not zero, at most so many times.

    Parameters
    ----------
    processor : Processor
    tape : list of Step
    until : Count
    most : int
    size : int
        About how many indices launches have.
    """

    def __init__(
        self, processor: Processor, tape: Tape, until: Count, most: int, size: int
    ) -> None:
        self._processor, self._kept = processor, (tape, until)
        memory, words = processor.memory, _words(tape, processor)
        self._words = memory.from_host(words)
        self._blocks = max(1, min(processor.most_blocks, -(-size // INDICES)))
        passed = (
            memory.locate(self._words),
            len(words),
            len(tape),
            address_of(until, memory),
            most,
            memory.locate(processor.grid),
            processor.times.ctypes.data,
            0,
        )
        self._buffer = ctypes.create_string_buffer(struct.pack(_CODES, *passed))
        start = ctypes.addressof(self._buffer)
        self._places = (ctypes.c_void_p * len(_CODES))(*(start + o for o in offsets(_CODES)))

    def run(self) -> int:
        """Make the launches; return how many times."""
        return self._processor.run(self._blocks, self._words.nbytes, ctypes.addressof(self._places))


def _words(tape: Tape, processor: Processor) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return what is on a tape as `program_source` has it."""
    words, blocks = [], bytearray()
    for step in tape:
        assert isinstance(step, Step)
        assert isinstance(step.launcher, Programmable)
        start = STEP * len(tape) + len(blocks) // 8
        blocks += step.launcher.block(*step.passed)
        words += [processor.cases[step.launcher.name], start, *step.wiring(processor.memory)]
    return np.concatenate([np.array(words, np.int64), np.frombuffer(blocks, np.int64)])
