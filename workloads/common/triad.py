"""Triad, the memory bandwidth benchmark of STREAM: the bound that kernels are compared with."""

import pykokkos as pk


@pk.workunit
def triad(
    i: int,
    left: pk.View1D[pk.int64],
    right: pk.View1D[pk.int64],
    factor: int,
    total: pk.View1D[pk.int64],
):
    """Read two values and write one."""
    total[i] = left[i] + factor * right[i]
