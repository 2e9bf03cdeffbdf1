"""The arrays of two workers; a graph is the finest level of the second one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.initial.tasks import (
    OF_PARTS,
    OF_TASK_ENTRIES,
    OF_TASK_VERTICES,
    WEIGHTS_OF_PARTS,
    Rooms,
)
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.flows.regions import Pair
from jetpy.workloads.tasks.bisections import PENDING
from jetpy.workloads.tasks.partitions import ROWS
from tests.modules import import_kernels

RUBBISH = -77
"""What the arrays have before they are written."""
HERE = ROWS * Field.COUNT
"""Row of the second worker."""
INNER = HERE + Field.COUNT
SUMS = 2
"""Place of its first part in prefix sums."""
ROW = int(Pair.COUNT)


def probes() -> ModuleType:
    """Return the kernels of `probes.py`, imported without PyKokkos."""
    return import_kernels("tests.tasks.probes")


@dataclass
class Worker:
    """The second of two workers."""

    backend: Backend
    graph: Graph
    k: int
    rooms: Rooms
    arrays: dict[str, Any]

    @classmethod
    def of(
        cls,
        backend: Backend,
        graph: Graph,
        k: int,
        parts: Sequence[int],
        seed: int = 0,
        pinned: Iterable[int] = (),
    ) -> Worker:
        """Load a graph with its parts as the finest level; `pinned` vertices stay in theirs."""
        rooms = Rooms.of(graph.n, len(graph.indices), k)
        found = cls(backend, graph, k, rooms, rooms.arrays(backend, 2))
        state = found.state
        for name in (
            *OF_TASK_VERTICES,
            "keys",
            *OF_TASK_ENTRIES,
            *OF_PARTS,
            *WEIGHTS_OF_PARTS,
            "numbers",
        ):
            getattr(state, name).fill(RUBBISH)
        entry, size = rooms.entries, len(graph.indices)
        state.rows[found.begin : found.end + 1] = entry + graph.indptr
        state.weights[found.vertices] = graph.vertex_weights
        state.sides[found.vertices] = parts
        state.pinned[found.vertices] = NO_PART
        for v in pinned:
            state.pinned[found.begin + v] = parts[v]
        state.ends[entry : entry + size] = found.begin + graph.indices
        state.edge_weights[entry : entry + size] = graph.edge_weights
        found.set_fields(
            HERE,
            {
                Field.BEGIN: found.begin,
                Field.END: found.end,
                Field.LEVELS: 0,
                Field.LEVEL_BEGINS: found.begin,
                Field.LAST_VERTEX: found.begin + 4 * graph.n,
                Field.LAST_ENTRY: entry + 6 * size,
                Field.TOTAL: graph.total_vertex_weight,
                Field.ORIGIN: found.begin,
                Field.UNIT: 1,
                Field.PARTS_BEGIN: found.base,
                Field.PARTS: k,
                Field.SEED: seed,
            },
        )
        found.arrays["pairs"].rows.fill(RUBBISH)
        found.arrays["pairs"].rows[ROW + Pair.NODE] = rooms.nodes
        return found

    @property
    def state(self) -> Any:
        return self.arrays["state"]

    @property
    def begin(self) -> int:
        return self.rooms.vertices

    @property
    def end(self) -> int:
        return self.begin + self.graph.n

    @property
    def vertices(self) -> slice:
        return slice(self.begin, self.end)

    @property
    def base(self) -> int:
        return self.rooms.parts

    @property
    def parts(self) -> list[int]:
        return list(self.state.sides[self.vertices].tolist())

    @property
    def cut(self) -> int:
        return int(self.state.numbers[HERE + Field.CUT])

    @property
    def waiting(self) -> int:
        return int(PENDING)

    def set_fields(self, row: int, fields: dict[Field, int]) -> None:
        for field, value in fields.items():
            self.state.numbers[row + field] = value

    def of_parts(self, name: str) -> list[int]:
        """Return the values of an array of parts."""
        return list(getattr(self.state, name)[self.base : self.base + self.k].tolist())

    def set_limits(self, most: Sequence[int], least: Sequence[int]) -> None:
        """Set the limits of the level."""
        self.state.most[self.base : self.base + self.k] = most
        self.state.least[self.base : self.base + self.k] = least

    def set_sums(self, shares: Sequence[int], most: Sequence[int], least: Sequence[int]) -> None:
        """Set the prefix sums of the problem, which begin at `SUMS`."""
        for name, values in (("shares", shares), ("rooms", most), ("floors", least)):
            sums: npt.NDArray[np.int64] = np.full(SUMS + 1 + self.k, 5, np.int64)
            sums[SUMS + 1 :] += np.cumsum(values)
            setattr(self.state, name, sums)

    def run(self, workunit: str, /, **arguments: Any) -> int:
        """Run a probe, and return its answer."""
        answers = self.backend.full(1, RUBBISH, np.int64)
        own = getattr(probes(), workunit)
        names = set(own.__annotations__)
        known = {"answers": answers, "parts": self.state, "levels": self.state, **self.arrays}
        known |= {"here": HERE, "inner": INNER, "sums": SUMS, "waiting": self.waiting}
        known |= {"row": ROW, "arc": self.rooms.arcs, **arguments}
        passed = {name: value for name, value in known.items() if name in names}
        self.backend.run_tasks(1, own, **passed)
        return int(answers[0])

    def row(self, v: int) -> list[tuple[int, int]]:
        """Return the neighbours and edge weights of a vertex of any level, counted from 0."""
        state = self.state
        entries = range(state.rows[v], state.rows[v + 1])
        return [(int(state.ends[e]) - self.begin, int(state.edge_weights[e])) for e in entries]

    def slots_of(self, v: int) -> dict[int, int]:
        """Return the slots of a vertex, counted from 0: the weight to each part."""
        state, first = self.state, int(self.state.rows[self.begin + v])
        places = range(first, first + int(state.slots[self.begin + v]))
        found = {int(state.slot_parts[j]): int(state.slot_weights[j]) for j in places}
        assert len(found) == len(places)
        return found

    def check_other_worker(self) -> None:
        """Check that nothing is written in the ranges of the first worker."""
        for names, size in (
            ((*OF_TASK_VERTICES, "keys"), self.rooms.vertices),
            (OF_TASK_ENTRIES, self.rooms.entries),
            ((*OF_PARTS, *WEIGHTS_OF_PARTS), self.rooms.parts),
            (("numbers",), HERE),
        ):
            for name in names:
                assert (getattr(self.state, name)[:size] == RUBBISH).all(), name


def rows_of(graph: Graph) -> list[list[tuple[int, int]]]:
    """Return the neighbours and edge weights of each vertex."""
    ends, weights = graph.indices.tolist(), graph.edge_weights.tolist()
    return [
        list(zip(ends[a:b], weights[a:b], strict=True)) for a, b in pairwise(graph.indptr.tolist())
    ]
