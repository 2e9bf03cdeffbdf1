"""Edges as int64 keys (tail, head), which sort by row and then by neighbour."""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, Offset
from jetpy.workloads.common.lists import count_keys_below, row_with_entry
from jetpy.workloads.common.packing import lower_of, pack, upper_of


@pk.workunit
def key_pairs(
    i: int, tails: pk.View1D[pk.int32], heads: pk.View1D[pk.int32], keys: pk.View1D[pk.int64]
):
    """Write the key of each edge of an edge list."""
    keys[i] = pack(tails[i], heads[i])


@pk.workunit
def key_rows(i: int, graph: Graph, first: int, end: int, keys: pk.View1D[pk.int64]):
    """Write the key of each edge of the rows first..end - 1."""
    e: int = graph.indptr[first] + i
    keys[i] = pack(row_with_entry(e, first, end, graph.indptr), graph.indices[e])


@pk.workunit
def count_wrong_keys(i: int, acc: pk.Acc[pk.int64], keys: pk.View1D[pk.int64]):
    """Count the sorted keys that are loops or duplicates."""
    if (i > 0 and keys[i] == keys[i - 1]) or upper_of(keys[i]) == lower_of(keys[i]):
        acc += 1


@pk.workunit
def find_rows(v: int, keys: pk.View1D[pk.int64], count: int, indptr: pk.View1D[Offset]):
    """Write row offset v: how many of `count` sorted keys belong to rows below v."""
    bound: pk.int64 = pack(v, 0)
    indptr[v] = count_keys_below(bound, keys, count)


@pk.workunit
def write_heads(i: int, keys: pk.View1D[pk.int64], indices: pk.View1D[pk.int32]):
    """Write the head of each key."""
    indices[i] = lower_of(keys[i])


@pk.workunit
def write_weights(
    i: int,
    tails: pk.View1D[pk.int32],
    heads: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    graph: Graph,
):
    """Write the weight of a listed edge into its sorted row, which has each neighbour once."""
    low: int = graph.indptr[tails[i]]
    high: int = graph.indptr[tails[i] + 1] - 1
    while low < high:
        middle: int = low + ((high - low) >> 1)
        if graph.indices[middle] < heads[i]:
            low = middle + 1
        else:
            high = middle
    graph.edge_weights[low] = weights[i]
