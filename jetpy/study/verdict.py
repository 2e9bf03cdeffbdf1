"""Cut and balance of partitions, computed in the same way for all tools."""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.study.tools import Job


class Verdict(NamedTuple):
    """Cut and imbalance of a partition, and whether its parts keep the limit.

    The imbalance is the weight of the heaviest part divided by the mean weight, which is rounded
    up to an integer, minus 1; it is rounded to five digits.
    """

    cut: int
    imbalance: float
    feasible: bool


def judge(job: Job, parts: npt.ArrayLike, k: int) -> Verdict:
    """Return cut and balance of the k parts, shape (n,), that a tool found for the graph of a job.

    Raises
    ------
    JetpyError
        If they do not partition the graph.
    """
    heaviest = int(part_weights(job.graph, parts, k).max())
    share = -(-job.graph.total_vertex_weight // k)
    imbalance = round(heaviest / max(share, 1) - 1, 5)
    return Verdict(edge_cut(job.graph, parts), imbalance, heaviest <= job.limit(k))
