"""Indistinguishable vertices: those with the same closed neighbourhood, which are all adjacent.

Vertices with the same sum of hashes are compared entry by entry, so that no collision of hashes
changes the result. Rows need not be sorted.

Source: Ashcraft, "Compressed graphs and the minimum degree algorithm", SIAM Journal on Scientific
Computing 16 (1995).
"""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, edges
from jetpy.workloads.common.hashing import mix


@pk.workunit
def sum_hashes(v: int, graph: Graph, sums: pk.View1D[pk.int64]):
    """Add up the hashes of a vertex and its neighbours, modulo 2^32."""
    h: pk.uint32 = mix(v)
    for e in edges(v, graph):
        h += mix(graph.indices[e])
    sums[v] = h


@pk.function
def is_candidate(u: int, v: int, graph: Graph, sums: pk.View1D[pk.int64]) -> bool:
    """Whether two vertices have the same sum and degree."""
    if sums[u] != sums[v]:
        return False
    return graph.indptr[u + 1] - graph.indptr[u] == graph.indptr[v + 1] - graph.indptr[v]


@pk.function
def are_marked(u: int, mark: int, graph: Graph, marks: pk.View1D[pk.int32]) -> bool:
    """Whether a vertex and all its neighbours have a mark."""
    if marks[u] != mark:
        return False
    for e in edges(u, graph):
        if marks[graph.indices[e]] != mark:
            return False
    return True


@pk.workunit
def list_possible_leaders(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    sums: pk.View1D[pk.int64],
    possible: pk.View1D[pk.int32],
):
    """List the vertices with a larger neighbour that may be indistinguishable."""
    has_candidate: bool = False
    for e in edges(v, graph):
        u: int = graph.indices[e]
        if u > v and is_candidate(u, v, graph, sums):
            has_candidate = True
    if has_candidate:
        if last_pass:
            possible[acc] = v
        acc += 1


@pk.workunit
def find_leaders(
    i: int,
    count: int,
    graph: Graph,
    sums: pk.View1D[pk.int64],
    possible: pk.View1D[pk.int32],
    leaders: pk.View1D[pk.int32],
    marks: pk.View1D[pk.int32],
):
    """Find the smallest vertex that is indistinguishable from each; one index does all.

    Before, ``leaders[v]`` is v. `possible` has the `count` vertices that may lead others, in
    ascending order.
    """
    for k in range(count):
        v: int = possible[k]
        if leaders[v] != v:
            continue
        for e in edges(v, graph):
            u: int = graph.indices[e]
            if u > v and leaders[u] == u and is_candidate(u, v, graph, sums):
                if marks[v] != v:
                    marks[v] = v
                    for f in edges(v, graph):
                        marks[graph.indices[f]] = v
                if are_marked(u, v, graph, marks):
                    leaders[u] = v
