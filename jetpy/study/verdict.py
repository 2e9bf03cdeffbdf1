"""What partitions of all tools are judged by: the cut and the balance, computed here."""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.study.tools import Job


class Verdict(NamedTuple):
    """The cut of a partition, its imbalance, and whether that is within the limit.

    The imbalance is the weight of the heaviest part over the mean weight, rounded up, less 1.
    """

    cut: int
    imbalance: float
    feasible: bool


def judge(job: Job, parts: npt.ArrayLike, k: int) -> Verdict:
    """Return the verdict on parts, shape (n,), of a graph that a tool has cut into k.

    Raises
    ------
    JetpyError
        If they do not partition the graph.
    """
    heaviest = int(part_weights(job.graph, parts, k).max())
    share = -(-job.graph.total_vertex_weight // k)
    imbalance = round(heaviest / max(share, 1) - 1, 5)
    return Verdict(edge_cut(job.graph, parts), imbalance, heaviest <= job.limit(k))
