"""Prefetching: kernels ask for elements that are scattered in memory before they need them.

A processor waits for an element that is in none of its caches as long as it takes for a hundred
instructions. A kernel that walks rows in order therefore asks for what the next rows need: first
for their offsets, some rows later for their entries, and at last for the values of their
neighbours. Results do not depend on it.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import NO_VERTEX, Graph

OFFSETS_AHEAD, ENTRIES_AHEAD, NEIGHBOURS_AHEAD = 8, 5, 2
"""Number of rows before a row in which its offset, entries and neighbours' values are asked for."""
FEW_VERTICES = 1 << 17
"""Maximum number of vertices of a level that is not worth it: caches hold their values."""
FEW_PARTS = 1 << 19
"""The same if only the parts of neighbours are asked for."""
MAX_NEIGHBOURS = 16
"""Maximum number of neighbours of a vertex whose values are asked for: more would displace what is
needed before."""


@pk.function
def prefetch(element: int):
    """Ask for an element of a view; only the back end `cpu` does. The index may be out of range."""


@pk.function
def prefetch_entries(v: int, graph: Graph):
    """Ask for the first entries of a row."""
    first: int = graph.indptr[v]
    prefetch(graph.indices[first])
    prefetch(graph.edge_weights[first])


@pk.function
def first_edges(v: int, graph: Graph) -> range:
    """Return the directed edges from a vertex to neighbours whose values are asked for."""
    end: int = graph.indptr[v + 1]
    if end - graph.indptr[v] > MAX_NEIGHBOURS:
        end = graph.indptr[v] + MAX_NEIGHBOURS
    return range(graph.indptr[v], end)


@pk.function
def prefetch_rows(i: pk.int64, end: pk.int64, vertices: pk.View1D[pk.int32], graph: Graph) -> int:
    """Ask for the rows of the vertices after the i-th of a list that ends before `end`.

    Return the one whose neighbours' values are to be asked for, or `NO_VERTEX`. Entries of the list
    may be `NO_VERTEX`.
    """
    v: int = NO_VERTEX
    if i + OFFSETS_AHEAD < end:
        v = vertices[i + OFFSETS_AHEAD]
        if v != NO_VERTEX:
            prefetch(graph.indptr[v])
    if i + ENTRIES_AHEAD < end:
        v = vertices[i + ENTRIES_AHEAD]
        if v != NO_VERTEX:
            prefetch_entries(v, graph)
    if i + NEIGHBOURS_AHEAD < end:
        return vertices[i + NEIGHBOURS_AHEAD]
    return NO_VERTEX
