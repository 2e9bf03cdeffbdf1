"""Arrays of the levels on which separators are found and refined."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from jetpy.engines.base import Array, Backend
from jetpy.initial.workers import OF_ENTRIES, OF_VERTICES, allocate
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.ordering.separator_flows import Band, Bands


def separator_levels(
    backend: Backend, vertices: int, entries: int, tasks: int, **given: Array
) -> Any:
    """Return the arrays of levels (`Separations`); some may be given.

    Attribute `other` has the second queue. Those of `bands` share arrays: flows need them neither
    during passes nor while levels are built.
    """
    levels = SimpleNamespace(**given)
    other = levels.other = SimpleNamespace()
    allocate(
        backend,
        (levels, OF_VERTICES, vertices, np.int32),
        (levels, OF_ENTRIES, entries, np.int32),
        (levels, ["numbers"], tasks * Field.COUNT, np.int64),
        (levels, ["keys"], vertices, np.int64),
        (other, ["keys"], vertices, np.int64),
        (other, ["heap", "positions"], vertices, np.int32),
    )
    other.numbers = levels.numbers
    levels.bands = Bands(
        bands=backend.full(tasks * Band.COUNT, 0, np.int64),
        order=levels.moved,
        flows=levels.edge_weights,
        through=levels.internal,
        in_labels=levels.positions,
        out_labels=other.positions,
        in_arcs=levels.heap,
        out_arcs=other.heap,
        in_before=levels.external,
        out_before=levels.coarse_of,
        in_counts=levels.keys,
        out_counts=other.keys,
    )
    return levels
