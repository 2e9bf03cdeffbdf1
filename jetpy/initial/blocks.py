"""Division of the blocks of a small graph into parts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph, IntArray
from jetpy.initial.metis import bisect_recursively
from jetpy.initial.subgraphs import subgraphs
from jetpy.problem.problem import Problem


def split_blocks(
    graph: Graph, blocks: IntArray, problem: Problem, seed: int
) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)): each block is divided into the parts of its group.

    `blocks` (int32, shape (n,)) has the group of each vertex.
    """
    arity = problem.group_size
    rooms = problem.limits.reshape(problem.groups, arity).sum(1)
    parts = np.zeros(graph.n, np.int32)
    for block, members, subgraph in subgraphs(graph, blocks, problem.groups):
        imbalance = rooms[block] / subgraph.total_vertex_weight - 1
        parts[members] = block * arity + bisect_recursively(
            subgraph, arity, imbalance, seed + block
        )
    return parts
