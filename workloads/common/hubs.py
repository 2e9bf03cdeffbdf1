"""Hubs: vertices of far more than the average degree, as in circuits and social networks."""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph

IRREGULAR = 5
"""A hub has more than this multiple of the average degree."""


@pk.workunit
def count_hubs(v: int, acc: pk.Acc[pk.int64], graph: Graph, most: int):
    """Count the vertices with more than `most` neighbours."""
    acc += graph.indptr[v + 1] - graph.indptr[v] > most
