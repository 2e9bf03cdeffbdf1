"""Distances of parts: what an edge between two of them costs, per weight.

`metric` says how they are given: 0, every two parts have distance 1, so that cost is edge cut; 1,
`distances` is a matrix of k rows; 2, `distances` has two numbers for each level of a hierarchy,
lowest first: how many parts a group of that level has, and the distance of two parts that have
that group in common but none of a lower level.
"""

import pykokkos as pk


@pk.function
def distance_of(p: int, q: int, metric: int, distances: pk.View1D[pk.int32], k: int) -> int:
    """Return the distance of two parts."""
    if p == q:
        return 0
    if metric == 0:
        return 1
    if metric == 1:
        place: pk.int64 = p
        return distances[place * k + q]
    level: int = 0
    while p // distances[level] != q // distances[level]:
        level += 2
    return distances[level + 1]
