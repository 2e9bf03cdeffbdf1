"""Communication volume: what refinement of a finished partition makes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import upload
from jetpy.graph import Graph, IntArray
from jetpy.refinement.state import make_table
from jetpy.workloads import volume as kernels
from jetpy.workloads.connectivity import UNUSED
from jetpy.workloads.heaps import Number
from jetpy.workloads.volume import NOT_LISTED

PASSES = 20


@dataclass(frozen=True, eq=False)
class State:
    """What `jetpy.workloads.volume` works on."""

    parts: Array
    loads: Array
    limits: Array
    pinned: Array
    adjacent: Array
    losses: Array
    moved: Array
    homes: Array
    keys: Array
    heap: Array
    positions: Array
    numbers: Array


def shrink_volume(
    backend: Backend,
    graph: Graph,
    parts: IntArray,
    limits: npt.NDArray[np.int64],
    pinned: npt.NDArray[np.bool_],
    seed: int,
) -> npt.NDArray[np.int32]:
    """Return a partition (int32, shape (n,)) of no larger communication volume, found on the host.

    Parts that keep their limits (int64, shape (k,)) still do; vertices that are `pinned` (bool,
    shape (n,)) stay. The cut may grow.
    """
    host, n, k = backend.host_engine or backend, graph.n, len(limits)
    device = upload(host, graph)
    table = make_table(host, device, k)
    table.parts[:] = UNUSED
    table.weights[:] = 0
    numbers = np.zeros(Number.COUNT, np.int64)
    numbers[Number.END] = n
    found = host.from_host(parts.copy())
    state = State(
        parts=found,
        loads=host.from_host(np.bincount(parts, graph.vertex_weights, k).astype(np.int64)),
        limits=host.from_host(limits),
        pinned=host.from_host(pinned.astype(np.int32)),
        adjacent=host.empty(k),
        losses=host.full(k, NOT_LISTED),
        moved=host.empty(n),
        homes=host.empty(n),
        keys=host.empty(n, np.int64),
        heap=host.empty(n),
        positions=host.empty(n),
        numbers=host.from_host(numbers),
    )
    host.run_tasks(
        1,
        kernels.shrink,
        n=n,
        passes=PASSES,
        seed=seed,
        graph=device,
        table=table,
        state=state,
    )
    return host.to_host(found)
