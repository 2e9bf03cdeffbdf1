"""Storage for the levels on which separators are found and refined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetpy.engines.base import Array, Backend
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.ordering.separator_flows import Band, Bands


@dataclass(frozen=True, eq=False)
class Queue:
    """Storage for the queues of one side (`jetpy.workloads.common.heaps`)."""

    keys: Array
    heap: Array
    positions: Array
    numbers: Array


@dataclass(frozen=True, eq=False)
class Levels:
    """Storage for the levels of the tries (`jetpy.workloads.ordering.separators`).

    `bands` shares arrays: flows need them neither during passes nor while levels are built.
    """

    rows: Array
    weights: Array
    coarse_of: Array
    sides: Array
    internal: Array
    external: Array
    moved: Array
    pinned: Array
    heap: Array
    positions: Array
    ends: Array
    edge_weights: Array
    keys: Array
    numbers: Array
    other: Queue
    bands: Bands

    @classmethod
    def with_room(cls, backend: Backend, vertices: int, entries: int, tasks: int) -> Levels:
        """Allocate levels of `vertices` vertices and `entries` entries for a number of tasks."""
        rows, weights, sides, pinned = (backend.empty(vertices) for _ in range(4))
        ends = backend.empty(entries)
        return cls.around(backend, rows, ends, weights, sides, pinned, tasks)

    @classmethod
    def around(
        cls,
        backend: Backend,
        rows: Array,
        ends: Array,
        weights: Array,
        sides: Array,
        pinned: Array,
        tasks: int,
    ) -> Levels:
        """Allocate what `tasks` tasks need in addition to a graph in CSR form and its sides."""
        vertices, entries = len(rows), len(ends)

        def empty() -> Array:
            return backend.empty(vertices)

        numbers = backend.empty(tasks * Field.COUNT, np.int64)
        keys, other_keys = (backend.empty(vertices, np.int64) for _ in range(2))
        first = Queue(keys, empty(), empty(), numbers)
        second = Queue(other_keys, empty(), empty(), numbers)
        internal, external, moved, coarse_of = empty(), empty(), empty(), empty()
        edge_weights = backend.empty(entries)
        bands = Bands(
            bands=backend.full(tasks * Band.COUNT, 0, np.int64),
            order=moved,
            flows=edge_weights,
            through=internal,
            in_labels=first.positions,
            out_labels=second.positions,
            in_arcs=first.heap,
            out_arcs=second.heap,
            in_before=external,
            out_before=coarse_of,
            in_counts=first.keys,
            out_counts=second.keys,
        )
        return cls(
            rows=rows,
            weights=weights,
            coarse_of=coarse_of,
            sides=sides,
            internal=internal,
            external=external,
            moved=moved,
            pinned=pinned,
            heap=first.heap,
            positions=first.positions,
            keys=first.keys,
            ends=ends,
            edge_weights=edge_weights,
            numbers=numbers,
            other=second,
            bands=bands,
        )
