"""Initial partition by METIS, through pymetis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pymetis

from jetpy.graph import Graph
from jetpy.metrics import edge_cut, part_weights


def partition_by_metis(
    graph: Graph, k: int, imbalance: float, limit: int, seed: int, tries: int
) -> npt.NDArray[np.int32]:
    """Return the best of `tries` METIS k-way partitions (int32, shape (n,)).

    Best is: least weight above `limit` in the heaviest part, then smallest cut, then first.
    """
    if graph.n <= k:
        return np.arange(graph.n, dtype=np.int32)
    candidates = [_run(graph, k, imbalance, seed + attempt) for attempt in range(tries)]

    def quality(parts: npt.NDArray[np.int32]) -> tuple[int, int]:
        heaviest = int(part_weights(graph, parts, k).max())
        return max(heaviest - limit, 0), edge_cut(graph, parts)

    return min(candidates, key=quality)


def _run(graph: Graph, k: int, imbalance: float, seed: int) -> npt.NDArray[np.int32]:
    options = pymetis.Options(seed=seed, ufactor=max(1, round(imbalance * 1000)))
    _, parts = pymetis.part_graph(
        k,
        xadj=graph.indptr,
        adjncy=graph.indices,
        vweights=graph.vertex_weights,
        eweights=graph.edge_weights,
        options=options,
        recursive=False,
    )
    return np.asarray(parts, np.int32)
