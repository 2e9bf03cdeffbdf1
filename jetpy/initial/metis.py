"""Initial partition by METIS, through pymetis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pymetis

from jetpy.graph import Graph
from jetpy.metrics import edge_cut, part_weights
from jetpy.problem import Problem


def partition_by_metis(graph: Graph, problem: Problem) -> npt.NDArray[np.int32]:
    """Return the best of several METIS k-way partitions (int32, shape (n,)).

    Best is: least weight above the limit in the heaviest part, then smallest cut, then first.
    """
    if graph.n <= problem.k:
        return np.arange(graph.n, dtype=np.int32)
    candidates = [_run(graph, problem, attempt) for attempt in range(problem.options.initial.tries)]

    def quality(parts: npt.NDArray[np.int32]) -> tuple[int, int]:
        heaviest = int(part_weights(graph, parts, problem.k).max())
        return max(heaviest - problem.limit, 0), edge_cut(graph, parts)

    return min(candidates, key=quality)


def _run(graph: Graph, problem: Problem, attempt: int) -> npt.NDArray[np.int32]:
    """Run METIS once; `attempt` varies the seed."""
    options = pymetis.Options(
        seed=(problem.seed * 1009 + attempt) & 0x7FFFFFFF,
        ufactor=max(1, round(problem.imbalance * 1000)),
    )
    _, parts = pymetis.part_graph(
        problem.k,
        xadj=graph.indptr,
        adjncy=graph.indices,
        vweights=graph.vertex_weights,
        eweights=graph.edge_weights,
        options=options,
        recursive=False,
    )
    return np.asarray(parts, np.int32)
