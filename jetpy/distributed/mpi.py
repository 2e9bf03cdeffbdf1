"""MPI, through mpi4py, where that is installed."""

from __future__ import annotations

from typing import Any

from jetpy.errors import BackendError


def world() -> Any:
    """Return the communicator of all processes, of mpi4py.

    Raises
    ------
    BackendError
        If mpi4py is missing, or finds no MPI; the message says how to install both.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise BackendError(
            f"several processes need mpi4py and an MPI library ({error}): "
            "pip install 'jetpy-partitioner[mpi]'"
        ) from error
    return MPI.COMM_WORLD
