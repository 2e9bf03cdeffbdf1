"""Programs: captured launches that run on CPUs without the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Protocol, cast

import numpy as np

from jetpy.engines.base import Count
from jetpy.engines.compiled_backend import Step, Tape
from jetpy.engines.cpu.compiling import scheduler
from jetpy.engines.cpu.scheduler import WORD
from jetpy.engines.memory import Memory
from jetpy.lazy import cached_property

_reader = cache(attrgetter)
_Source = tuple[Any, Callable[[Any], Any] | None, str | None, str | None]
"""An object, what reads its field, the element type if that is an array, and the field's name; None
for the object itself."""


class Programmable(Protocol):
    """A launcher whose compiled code a program can call.

    Attributes
    ----------
    function : int
        Address of its range (`jetpy.engines.cpu.source`).
    kind : int
        Kind of launch, as in `scheduler`.
    read : list of (int, str, str or None, str or None)
        As in `jetpy.engines.compiled_backend.Arguments`.
    """

    function: int
    kind: int
    read: list[tuple[int, str, str | None, str | None]]

    def block(self, *passed: Any) -> bytes:
        """Return a result of `Launcher.bind` as a block."""


class Program:
    """A sequence of launches, in the format of `scheduler.run`.

    Parameters
    ----------
    steps : sequence of Step
    launchers : sequence of Programmable
        Launchers of the steps.
    memory : Memory
        Memory that has the arrays.
    """

    def __init__(
        self, steps: Sequence[Step], launchers: Sequence[Programmable], memory: Memory
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
        launchers = [cast("Programmable", step.launcher) for step in steps]
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
