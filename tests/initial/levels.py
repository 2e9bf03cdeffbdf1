"""The levels of one bisection, for tests of its kernels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.initial.workers import OF_VERTICES
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.initial.inner_levels import ENTRY_ROOM, VERTEX_ROOM


def finest_level(backend: Backend, graph: Graph, limit: int) -> Any:
    """Return levels with a graph as the finest one; each side may weigh `limit`."""
    n, nnz = graph.n, len(graph.indices)
    levels = SimpleNamespace(
        **{name: backend.full(VERTEX_ROOM * n + 1, NO_PART) for name in OF_VERTICES},
        keys=backend.empty(VERTEX_ROOM * n + 1, np.int64),
        ends=backend.empty(ENTRY_ROOM * nnz),
        edge_weights=backend.empty(ENTRY_ROOM * nnz),
        numbers=backend.full(Field.COUNT, 0, np.int64),
    )
    levels.rows[: n + 1] = graph.indptr
    levels.weights[:n] = graph.vertex_weights
    levels.ends[:nnz] = graph.indices
    levels.edge_weights[:nnz] = graph.edge_weights
    total = graph.total_vertex_weight
    levels.numbers[Field.END] = n
    levels.numbers[Field.LAST_VERTEX] = VERTEX_ROOM * n
    levels.numbers[Field.LAST_ENTRY] = ENTRY_ROOM * nnz
    levels.numbers[Field.TOTAL], levels.numbers[Field.TARGET] = total, total // 2
    levels.numbers[Field.MOST : Field.MOST + 2] = limit
    return levels
