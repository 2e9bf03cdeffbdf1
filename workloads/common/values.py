"""Ranges, sums and conversions of arrays."""

import pykokkos as pk

from jetpy.workloads.common.groups import Weight

OUTSIDE = -1
"""Replaces a value that is outside the range or not an integer."""


@pk.workunit
def fill(i: int, values: pk.View1D[pk.int32], value: int):
    """Set each element to the same value."""
    values[i] = value


@pk.workunit
def number(i: int, values: pk.View1D[pk.int32]):
    """Set each element to its index."""
    values[i] = i


@pk.workunit
def add_weights(e: int, acc: pk.Acc[pk.int64], edge_weights: pk.View1D[Weight]):
    """Sum the edge weights."""
    acc += edge_weights[e]


@pk.workunit
def count_indivisible(i: int, acc: pk.Acc[pk.int64], weights: pk.View1D[Weight], divisor: int):
    """Count the weights that a divisor does not divide; 0 divides only 0."""
    if weights[i] != 0 and (divisor == 0 or weights[i] % divisor != 0):
        acc += 1


@pk.workunit
def count_outside(
    i: int, acc: pk.Acc[pk.int64], values: pk.View1D[pk.int32], lowest: int, highest: int
):
    """Count the values outside a range."""
    if values[i] < lowest or values[i] > highest:
        acc += 1


@pk.workunit
def narrow_integers(
    i: int,
    acc: pk.Acc[pk.int64],
    integers: pk.View1D[pk.int64],
    lowest: int,
    highest: int,
    narrowed: pk.View1D[pk.int32],
):
    """Copy the values in a range to int32; count the others and replace them by `OUTSIDE`."""
    value: pk.int64 = integers[i]
    if value < lowest or value > highest:
        acc += 1
        value = OUTSIDE
    narrowed[i] = value


@pk.workunit
def narrow_floats(
    i: int,
    acc: pk.Acc[pk.int64],
    floats: pk.View1D[pk.double],
    lowest: int,
    highest: int,
    narrowed: pk.View1D[pk.int32],
):
    """Copy the integers in a range to int32; count other values and replace them by `OUTSIDE`."""
    value: pk.int64 = OUTSIDE
    if floats[i] >= lowest and floats[i] <= highest:
        value = floats[i]
    if value == OUTSIDE or value != floats[i]:
        acc += 1
        value = OUTSIDE
    narrowed[i] = value
