"""Timing of stages: a back end has a ledger of seconds, and is notified of each stage."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from jetpy.engines.base import Backend


@dataclass
class Stopwatch:
    """Wall seconds and launches of a stage, on one level or (None) on several levels.

    Seconds spent on loading kernels are excluded.
    """

    backend: Backend
    stage: str
    level: int | None = None
    seconds: float = 0.0
    launches: int = 0
    _start: tuple[float, int] = field(default=(0.0, 0))

    def __enter__(self) -> Stopwatch:
        self.backend.enter(self.stage, self.level)
        self.backend.ledger.open += 1
        self._start = (self._now(), self.backend.all_launches)
        return self

    def __exit__(self, *_: object) -> None:
        self.backend.synchronize()
        self.seconds = self._now() - self._start[0]
        self.launches = self.backend.all_launches - self._start[1]
        self.backend.leave()
        ledger = self.backend.ledger
        ledger.open -= 1
        if not ledger.open:
            ledger.stages[self.stage] += self.seconds

    def _now(self) -> float:
        return time.perf_counter() - self.backend.ledger.loading
