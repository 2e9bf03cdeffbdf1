"""The embedded engine: PyKokkos workunits compiled by Numba, on the threads of one process."""

SUFFIX = ".kernel"
"""Of the files that hold compiled code."""
