"""MPI through mpi4py, if it is installed."""

from __future__ import annotations

from typing import Any

from jetpy.errors import BackendError


def world() -> Any:
    """Return mpi4py's communicator of all processes.

    Raises
    ------
    BackendError
        If mpi4py or an MPI library is missing; the message says how to install both.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise BackendError(
            f"several processes need mpi4py and an MPI library ({error}): "
            "pip install 'jetpy-partitioner[mpi]'"
        ) from error
    return MPI.COMM_WORLD
