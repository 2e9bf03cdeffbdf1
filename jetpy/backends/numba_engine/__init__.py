"""The embedded engine: PyKokkos workunits compiled by Numba, on the threads of one process."""

SUFFIX = ".kernel"
"""Of the files that hold compiled code."""
FOR, REDUCE, SCAN, TASKS = range(4)
"""How a workunit is launched; each index of `TASKS` is worth a thread."""
GRAIN = 256
"""Indices of other launches that are worth one."""
