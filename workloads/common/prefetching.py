"""Prefetching: kernels ask for elements that are scattered in memory before they need them.

A processor waits for an element that is in none of its caches as long as it takes for a hundred
instructions. A kernel that walks rows in order therefore asks for what the next rows need: first
for their offsets, some rows later for their entries, and at last for the values of their
neighbours. Results do not depend on it.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph

OFFSETS_AHEAD, ENTRIES_AHEAD, NEIGHBOURS_AHEAD = 8, 5, 2
"""Number of rows before a row in which its offset, entries and neighbours' values are asked for."""


@pk.function
def prefetch(element: int):
    """Ask for an element of a view, or for the one after its end; only the back end `cpu` does."""


@pk.function
def prefetch_entries(v: int, graph: Graph):
    """Ask for the first entries of a row."""
    first: int = graph.indptr[v]
    prefetch(graph.indices[first])
    prefetch(graph.edge_weights[first])
