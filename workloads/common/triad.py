"""Triad: what the memory of a device can do at best, to hold kernels against."""

import pykokkos as pk


@pk.workunit
def triad(
    i: int,
    left: pk.View1D[pk.int64],
    right: pk.View1D[pk.int64],
    factor: int,
    total: pk.View1D[pk.int64],
):
    """Read two numbers and write one."""
    total[i] = left[i] + factor * right[i]
