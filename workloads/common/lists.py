"""Gather, scatter, search and deduplication of arrays of integers."""

import pykokkos as pk

from jetpy.workloads.common.groups import Offset


@pk.function
def count_below(value: pk.int64, ascending: pk.View1D[pk.int32], count: int) -> int:
    """Return how many of `count` ascending integers are below a value."""
    low: int = 0
    high: int = count
    while low < high:
        middle: int = low + ((high - low) >> 1)
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@pk.function
def count_keys_below(bound: pk.int64, ascending: pk.View1D[pk.int64], count: int) -> int:
    """Return how many of `count` ascending keys are below a bound."""
    low: int = 0
    high: int = count
    while low < high:
        middle: int = low + ((high - low) >> 1)
        if ascending[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@pk.function
def row_with_entry(entry: int, first: int, end: int, offsets: pk.View1D[Offset]) -> int:
    """Return which of the rows first..end - 1 has an entry, given the first entry of each row."""
    row: int = first
    last: int = end - 1
    while row < last:
        middle: int = last - ((last - row) >> 1)
        if offsets[middle] <= entry:
            row = middle
        else:
            last = middle - 1
    return row


@pk.workunit
def pick(
    i: int,
    values: pk.View1D[pk.int32],
    places: pk.View1D[pk.int32],
    shift: int,
    picked: pk.View1D[pk.int32],
):
    """Gather ``values[places[i] - shift]``."""
    picked[i] = values[places[i] - shift]


@pk.workunit
def reorder(
    i: int, values: pk.View1D[pk.int32], order: pk.View1D[pk.int64], ordered: pk.View1D[pk.int32]
):
    """Gather ``values[order[i]]``."""
    ordered[i] = values[order[i]]


@pk.workunit
def put(
    i: int, values: pk.View1D[pk.int32], places: pk.View1D[pk.int32], given: pk.View1D[pk.int32]
):
    """Scatter: set ``values[places[i]]`` to ``given[i]``."""
    values[places[i]] = given[i]


@pk.workunit
def add_to_all(i: int, values: pk.View1D[pk.int32], more: int):
    """Add the same integer to each value."""
    values[i] += more


@pk.workunit
def find_bounds(
    i: int,
    ascending: pk.View1D[pk.int32],
    count: int,
    bounds: pk.View1D[pk.int64],
    found: pk.View1D[pk.int64],
):
    """Find how many of `count` ascending integers are below each bound."""
    found[i] = count_below(bounds[i], ascending, count)


@pk.workunit
def list_different(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    ascending: pk.View1D[pk.int32],
    listed: pk.View1D[pk.int32],
):
    """List the distinct values of an ascending array."""
    if i == 0 or ascending[i] != ascending[i - 1]:
        if last_pass:
            listed[acc] = ascending[i]
        acc += 1
