"""Communities of a level. Coarsening within them keeps the modules of circuits apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from jetpy.coarsening.hubs import count_hubs
from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.initial.tasks import OF_TASK_VERTICES
from jetpy.initial.workers import OF_ENTRIES, allocate
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.tasks import communities as kernels

MAX_DEGREE = 24
"""Maximum average degree of a graph whose communities are found: those of denser graphs rarely
help, and take long."""
ROOM = 3
"""Capacity for all levels of communities, per vertex and per directed edge."""


def is_searchable(graph: DeviceGraph, most: int) -> bool:
    """Return whether a graph is sparse, and has at most `most` vertices."""
    return graph.global_n <= most and graph.global_nnz <= MAX_DEGREE * graph.global_n


def find_communities(backend: Backend, graph: DeviceGraph, seed: int) -> Array | None:
    """Return the community of each vertex (int32 from 0 on, shape (n,)), found on the host.

    None if there are no hubs, or if the modularity is at most 1/2. Edge weights are 32 bits wide.
    The order of edges in a row has no effect.
    """
    n, nnz = graph.n, graph.nnz
    if count_hubs(backend, graph) == 0:
        return None
    indptr = backend.to_host(graph.indptr)
    host, state = backend.host, SimpleNamespace()
    allocate(
        host,
        (state, OF_TASK_VERTICES, ROOM * n, np.int32),
        (state, ["keys"], ROOM * n, np.int64),
        (state, OF_ENTRIES, ROOM * nnz, np.int32),
        (state, ["numbers"], Field.COUNT, np.int64),
    )
    _load(state, indptr, backend.to_host(graph.indices), backend.to_host(graph.edge_weights), seed)
    host.run_tasks(1, kernels.find_communities, state=state)
    labels = host.to_host(state.sides)[:n] + np.int32(1)
    return backend.from_host(labels) if labels.any() else None


def _load(state: Any, indptr: Any, indices: Any, edge_weights: Any, seed: int) -> None:
    """Make a graph the finest level of a worker; no vertex is pinned or on a side."""
    n, nnz = len(indptr) - 1, len(indices)
    state.rows[: n + 1] = indptr
    state.ends[:nnz] = indices
    state.edge_weights[:nnz] = edge_weights
    state.pinned[:n] = NO_PART
    state.sides[:n] = NO_PART
    state.numbers[:] = 0
    state.numbers[Field.END] = n
    state.numbers[Field.SEED] = seed
    state.numbers[Field.LAST_VERTEX] = ROOM * n
    state.numbers[Field.LAST_ENTRY] = ROOM * nnz
