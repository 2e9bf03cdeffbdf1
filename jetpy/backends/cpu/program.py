"""Programs: recorded launches that run without the interpreter, on processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np

from jetpy.backends.base import Count
from jetpy.backends.cpu.compiling import sharing
from jetpy.backends.launching import Step, Tape
from jetpy.backends.memory import Memory


class Programmable(Protocol):
    """A launcher of compiled code that a program can call.

    Attributes
    ----------
    function : int
        Address of its range (`jetpy.backends.cpu.source`).
    kind : int
        How it is launched, as `sharing` has it.
    """

    function: int
    kind: int

    def block(self, *passed: Any) -> bytes:
        """Return what `Launcher.bind` returns as a block."""


class Program:
    """Launches in a row, as `sharing.run` takes them.

    Parameters
    ----------
    steps : sequence of Step
    launchers : sequence of Programmable
        Those of the steps.
    memory : Memory
        Where arrays lie.
    """

    def __init__(
        self, steps: Sequence[Step], launchers: Sequence[Programmable], memory: Memory
    ) -> None:
        self._memory, self._kept, self._run = memory, steps, sharing()["run"]
        blocks, starts = bytearray(), []
        for step, launcher in zip(steps, launchers, strict=True):
            starts.append(len(blocks))
            blocks += launcher.block(*step.passed)
        self._blocks = np.frombuffer(blocks, np.int64)
        first = memory.locate(self._blocks)
        words: list[int] = []
        for step, launcher, start in zip(steps, launchers, starts, strict=True):
            also = step.places[0] if step.places else 0
            more = 0 if step.count is None else step.count.more
            places = self._place(step.count), more, also, self._place(step.total)
            words += [launcher.function, launcher.kind, first + start, *places]
        self._words = np.array(words, np.int64)

    @classmethod
    def of(cls, tape: Tape, memory: Memory) -> Program | None:
        """Return the launches on a tape, all of them programmable; None if it has copies."""
        steps = [step for step in tape if isinstance(step, Step)]
        launchers = [cast("Programmable", step.launcher) for step in steps]
        return cls(steps, launchers, memory) if len(steps) == len(tape) else None

    def run(self, until: Count | None, most: int, crew: int = 0, threads: int = 1) -> int:
        """Make the launches until a number is not zero, at most so many times; return how many.

        `crew` is the address of the words of a crew, whose threads share launches.
        """
        program, steps = self._memory.locate(self._words), len(self._kept)
        times: int = self._run(crew, threads, program, steps, self._place(until), most)
        return times

    def _place(self, count: Count | None) -> int:
        """Return the address of a number; 0 for none."""
        return 0 if count is None else self._memory.locate(count.array) + 8 * count.place
