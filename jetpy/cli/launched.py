"""Detection of MPI launchers (mpiexec, srun), and of the number of processes that they started.

Launchers set environment variables, which child processes inherit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from jetpy.errors import BackendError

RANKS = "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"
"""Variables in which MPI launchers pass the rank to a process; one of them is always set."""
SIZES = "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"
"""Variables in which some launchers pass the number of processes."""
TASKS = "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"
"""Variables of srun with the number of tasks; under mpiexec, it may be that of the job."""


def rank_from_environment() -> int | None:
    """Return the rank that a launcher gave this process; None if there was no launcher."""
    return _first(RANKS)


def launcher_started_many() -> bool:
    """Return whether the environment shows that a launcher started several processes."""
    rank = rank_from_environment()
    if rank is None:
        return False
    return rank > 0 or (_first((*SIZES, *TASKS)) or 1) > 1


def are_several() -> bool:
    """Return whether this process is one of several processes of MPI.

    The function asks MPI, unless no launcher is found or it started one process.

    Raises
    ------
    BackendError
        If there are several, and mpi4py is missing, or MPI does not know of the others.
    """
    if rank_from_environment() is None or _first(SIZES) == 1:
        return False
    from jetpy.distributed.mpi import world

    try:
        size = world().Get_size()
    except BackendError:
        if launcher_started_many():
            raise
        return False
    if size == 1 and launcher_started_many():
        raise BackendError(
            "the launcher started several processes, but MPI sees one: the launcher and mpi4py "
            f"use different MPI libraries. mpi4py uses {_library()}: start jetpy with the mpiexec "
            "of that library; if each process should run a job of its own, use srun --mpi=none"
        )
    return bool(size > 1)


def _first(names: Iterable[str]) -> int | None:
    """Return the first of these variables that is an integer; None if there is none."""
    return next(
        (int(value) for name in names if (value := os.environ.get(name, "")).isdigit()), None
    )


def _library() -> str:
    """Return the name and version of mpi4py's MPI library."""
    from mpi4py import MPI

    said: str = MPI.Get_library_version()
    first, *_ = said.replace("\0", "").splitlines()
    return " ".join(first.split())
