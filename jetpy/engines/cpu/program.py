"""Programs: captured launches that run on CPUs without the interpreter."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, cast

import numpy as np

from jetpy.engines.cpu.compiling import scheduler
from jetpy.engines.cpu.scheduler import WORD
from jetpy.engines.launching import Count, Launcher, Step, Tape
from jetpy.engines.memory import Memory
from jetpy.kernel_language import Signature, View
from jetpy.lazy import cached_property

_reader = cache(attrgetter)
_Source = tuple[Any, Callable[[Any], Any] | None, str | None, str | None]
"""An object, what reads its field, the element type if that is an array, and the field's name; None
for the object itself."""


class ProgramLauncher(Launcher):
    """A launcher whose compiled code a program can call.

    Parameters
    ----------
    signature : Signature
    memory : Memory
        Memory that has its arrays.
    function : int
        Address of its range (`jetpy.engines.cpu.source`).
    kind : int
        Kind of launch, as in `scheduler`.
    """

    def __init__(self, signature: Signature, memory: Memory, function: int, kind: int) -> None:
        super().__init__(signature, memory)
        self.function, self.kind, self.pack = function, kind, packer(signature)

    def block(self, *passed: Any) -> bytes:
        """Return a result of `bind` as a block."""
        try:
            return self.pack(*passed)
        except struct.error as error:
            raise self.wrong(error) from error


def packer(signature: Signature) -> Callable[..., bytes]:
    """Return a function that packs the number of indices and the arguments into a block.

    A block has one word of 8 bytes for each: array addresses and numbers. The function raises a
    `struct.error` if a number has the wrong type.
    """
    return struct.Struct("q" + "".join(map(_code, signature.arguments.values()))).pack


def _code(kind: str | View) -> str:
    if isinstance(kind, View):
        return "Q"
    return "d" if kind.startswith("float") else "q"


class Program:
    """A sequence of launches, in the format of `scheduler.run`.

    Parameters
    ----------
    steps : sequence of Step
    launchers : sequence of ProgramLauncher
        Launchers of the steps.
    memory : Memory
        Memory that has the arrays.
    """

    def __init__(
        self, steps: Sequence[Step], launchers: Sequence[ProgramLauncher], memory: Memory
    ) -> None:
        self._memory, self._steps, self._run = memory, steps, scheduler()["run"]
        self._launchers = launchers
        blocks = [
            launcher.block(*step.passed) for step, launcher in zip(steps, launchers, strict=True)
        ]
        self._blocks = np.frombuffer(bytearray().join(blocks), np.int64)
        start = memory.locate(self._blocks)
        words: list[int] = []
        for step, launcher, block in zip(steps, launchers, blocks, strict=True):
            also = step.places[0] if step.places else 0
            more = 0 if step.count is None else step.count.more
            places = self._place(step.count), more, also, self._place(step.total)
            words += [launcher.function, launcher.kind, start, *places]
            start += len(block)
        self._words = np.array(words, np.int64)

    @classmethod
    def of(cls, tape: Tape, memory: Memory) -> Program | None:
        """Return the launches on a tape as a program; None if the tape has other entries."""
        steps = [step for step in tape if isinstance(step, Step)]
        launchers = [cast("ProgramLauncher", step.launcher) for step in steps]
        return cls(steps, launchers, memory) if len(steps) == len(tape) else None

    def run(self, until: Count | None, most: int, pool: int = 0, threads: int = 1) -> int:
        """Run until `until` is not zero, at most `most` times; return the number of repetitions.

        `pool` is the address of a pool, whose threads share the launches.
        """
        program, steps = self._memory.locate(self._words), len(self._steps)
        times: int = self._run(pool, threads, program, steps, self._place(until), most)
        return times

    def exchange(self, others: Mapping[int, Any]) -> bool:
        """Replace some arguments and read attributes of all arguments again; see `Captured`."""
        sources, places, numbers = self._read
        addresses, values = self._memory.addresses, []
        for number, (holder, read, element, field) in enumerate(sources):
            if id(holder) in others:
                holder = others[id(holder)]
                sources[number] = holder, read, element, field
            value = holder if read is None else read(holder)
            if element is not None:
                known = addresses[element].get(id(value))
                value = known or self._memory.address(value, element, str(field))
            values.append(value)
        self._blocks[places] = np.array(values, np.int64)[numbers]
        return True

    @cached_property
    def _read(self) -> tuple[list[_Source], Any, Any]:
        """Distinct values read from objects, and for each word of a block its value's index."""
        index_of: dict[tuple[int, str | None], int] = {}
        sources: list[_Source] = []
        places, numbers, start = [], [], 0
        for step, launcher in zip(self._steps, self._launchers, strict=True):
            for place, name, field, element in launcher.read:
                holder = step.arguments[name]
                number = index_of.setdefault((id(holder), field), len(sources))
                if number == len(sources):
                    read = _reader(field) if field else None
                    sources.append((holder, read, element, field))
                places.append(start + place)
                numbers.append(number)
            start += len(step.passed)
        return sources, np.array(places), np.array(numbers)

    def _place(self, count: Count | None) -> int:
        """Return the address of a number; 0 for None."""
        return 0 if count is None else self._memory.locate(count.array) + WORD * count.place
