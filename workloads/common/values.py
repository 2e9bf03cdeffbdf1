"""Arrays of numbers: their range, their sum, and the same numbers as int32."""

import pykokkos as pk

from jetpy.workloads.common.groups import Weight

OUTSIDE = -1
"""In place of a number that is outside a range, or is not whole."""


@pk.workunit
def fill(i: int, values: pk.View1D[pk.int32], value: int):
    """Set each number to the same value."""
    values[i] = value


@pk.workunit
def add_weights(e: int, acc: pk.Acc[pk.int64], edge_weights: pk.View1D[Weight]):
    """Sum up the weights of edges."""
    acc += edge_weights[e]


@pk.workunit
def count_outside(
    i: int, acc: pk.Acc[pk.int64], values: pk.View1D[pk.int32], lowest: int, highest: int
):
    """Count the numbers outside a range."""
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
    """Copy the numbers in a range; count the others, and write `OUTSIDE` in their place."""
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
    """Copy the whole numbers in a range; count the others, and write `OUTSIDE` in their place."""
    value: pk.int64 = OUTSIDE
    if floats[i] >= lowest and floats[i] <= highest:
        value = floats[i]
    if value == OUTSIDE or value != floats[i]:
        acc += 1
        value = OUTSIDE
    narrowed[i] = value
