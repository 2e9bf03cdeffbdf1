"""Queues, log and undo of passes of Fiduccia and Mattheyses, against plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.engines.kokkos.engine import KokkosBackend
from jetpy.kernel_language.reading import read_workunits
from jetpy.workloads.common.fm import MAX_UNORDERED, NO_GAIN, Moves
from jetpy.workloads.common.groups import NO_PART, NO_VERTEX
from jetpy.workloads.common.heaps import Field
from tests.conftest import require_backend
from tests.initial.oracle import mix
from tests.modules import import_kernels

VERTICES = 24
BEGIN = 3
"""First vertex of the level."""


@pytest.fixture(scope="module")
def probes() -> ModuleType:
    """The kernel of `fm_probes.py`, imported without PyKokkos."""
    return import_kernels("tests.refinement.fm_probes")


@dataclass
class Pass:
    """A pass: the gains of queued vertices, the locked ones, and the log of moves."""

    seed: int
    sides: list[int]
    locked: set[int]
    gains: dict[int, int] = field(default_factory=dict)
    log: list[int] = field(default_factory=list)
    kept: int = 0

    def take(self, step: str, v: int, gain: int) -> None:
        if step == "KEEP":
            self.kept = len(self.log)
        elif v not in self.locked:
            self.gains.pop(v, None)
            if step == "ENQUEUE":
                self.gains[v] = gain
            elif step == "LOCK":
                self.locked.add(v)
                self.log.append(v)

    def first(self, side: int) -> int:
        queued = [v for v in self.gains if self.sides[v] == side]
        key = {v: (self.gains[v], mix(v ^ self.seed)) for v in queued}
        return BEGIN + max(queued, key=key.__getitem__) if queued else NO_VERTEX

    def answers(self, v: int) -> list[int]:
        vain = len(self.log) - self.kept
        return [self.first(0), self.first(1), self.gains.get(v, NO_GAIN), vain]


STEPS = st.tuples(
    st.sampled_from(["ENQUEUE", "ENQUEUE", "ENQUEUE", "DEQUEUE", "LOCK", "KEEP"]),
    st.integers(0, VERTICES - 1),
    st.integers(-3, 3),
)


@pytest.mark.parametrize("size", [VERTICES, MAX_UNORDERED + 1], ids=["lists", "heaps"])
@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**31 - 1),
    sides=st.lists(st.integers(0, 1), min_size=VERTICES, max_size=VERTICES),
    pinned=st.sets(st.integers(0, VERTICES - 1), max_size=3),
    steps=st.lists(STEPS, min_size=20, max_size=120),
)
def test_a_pass(
    backend_name: str,
    probes: ModuleType,
    size: int,
    seed: int,
    sides: list[int],
    pinned: set[int],
    steps: list[tuple[str, int, int]],
) -> None:
    """Queues hold vertices of both sides; of equal gains, that of the higher hash is first."""
    engine = require_backend(backend_name).host
    if isinstance(engine, KokkosBackend):
        engine.prepare(getattr(probes, workunit) for workunit in read_workunits(probes))
    here, places = int(Field.COUNT), BEGIN + size
    numbers = np.full(2 * here, -1, np.int64)
    fields = Field.BEGIN, Field.END, Field.ORIGIN, Field.SEED
    numbers[[here + field for field in fields]] = BEGIN, places, BEGIN, seed
    pins = np.full(places, NO_PART, np.int32)
    pins[[BEGIN + v for v in pinned]] = 0
    state = Moves(
        keys=engine.empty(places, np.int64), heap=engine.empty(places),
        positions=engine.empty(places), numbers=engine.from_host(numbers),
        moved=engine.empty(places), pinned=engine.from_host(pins),
    )  # fmt: skip
    rows = [(probes.Step[step], BEGIN + v, sides[v], gain) for step, v, gain in steps]
    answers, undone = engine.full(4 * len(steps), 0, np.int64), engine.full(places, 0)
    engine.run_tasks(
        1, probes.take_steps, here=here, count=len(steps), answers=answers, undone=undone,
        steps=engine.from_host(np.array(rows, np.int32).ravel()), moves=state,
    )  # fmt: skip
    expected, wanted = Pass(seed, sides, set(pinned)), []
    for step, v, gain in steps:
        expected.take(step, v, gain)
        wanted.append(expected.answers(v))
    assert engine.to_host(answers).reshape(-1, 4).tolist() == wanted
    undone_vertices = np.flatnonzero(engine.to_host(undone)) - BEGIN
    assert undone_vertices.tolist() == sorted(expected.log[expected.kept :])
