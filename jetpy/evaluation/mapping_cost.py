"""Communication cost of mappings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph
from jetpy.problem.machine import Machine
from jetpy.problem.metrics import checked_parts, cut_entries, mapped_cut


def communication_cost(graph: Graph, pe: npt.ArrayLike, machine: Machine) -> int:
    """Return J, the sum over all ordered pairs of tasks of communication times distance.

    `pe` are integers in 0..k - 1, shape (n,).

    Raises
    ------
    GraphError
        If `jetpy.problem.metrics.checked_parts` refuses `pe`.
    """
    return 2 * mapped_cut(graph, pe, machine.metric, machine.k)


def cost_by_level(graph: Graph, pe: npt.ArrayLike, machine: Machine) -> npt.NDArray[np.int64]:
    """Return the cost of each level of the hierarchy, lowest first, int64, shape (levels,).

    `pe` and errors are those of `communication_cost`.
    """
    ids = checked_parts(graph, pe, machine.k)
    costs = np.zeros(len(machine.hierarchy), np.int64)
    if not machine.hierarchy:
        return costs
    for u, entries in cut_entries(graph, ids):
        p, q = ids[u], ids[graph.indices[entries]]
        paid = graph.edge_weights[entries].astype(np.int64) * machine.metric.between(
            p, q, machine.k
        )
        np.add.at(costs, machine.levels_between(p, q), paid)
    return costs
