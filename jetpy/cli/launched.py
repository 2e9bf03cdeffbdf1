"""Whether a launcher of MPI (mpiexec, srun) has started this process, and as one of several.

Launchers say so in the environment, which processes that these start inherit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from jetpy.errors import BackendError

RANKS = "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"
"""What launchers of MPI tell each process: its number. One of them is always there."""
SIZES = "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"
"""What they tell, but not all of them: how many there are."""
TASKS = "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"
"""The same of srun; where mpiexec has started the process, it may be of the job around it."""


def rank_from_environment() -> int | None:
    """Return the number that a launcher has given this process; None if there was no launcher."""
    return _first(RANKS)


def launcher_started_many() -> bool:
    """Whether the environment says that there are several processes, as far as it can tell."""
    rank = rank_from_environment()
    if rank is None:
        return False
    return rank > 0 or (_first((*SIZES, *TASKS)) or 1) > 1


def are_several() -> bool:
    """Whether this process is one of several that MPI knows of.

    MPI itself is asked, unless there was no launcher, or it has said that there is one process.

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
            "several processes were started, but MPI finds this one alone: the launcher is of "
            f"another MPI library than mpi4py takes ({_library()}). Take that library's mpiexec; "
            "where each process is to work for itself, srun --mpi=none"
        )
    return bool(size > 1)


def _first(names: Iterable[str]) -> int | None:
    """Return the first number that the environment has under one of some names."""
    return next((int(told) for name in names if (told := os.environ.get(name, "")).isdigit()), None)


def _library() -> str:
    """Return the name and version of the MPI library that mpi4py takes."""
    from mpi4py import MPI

    said: str = MPI.Get_library_version()
    first, *_ = said.replace("\0", "").splitlines()
    return " ".join(first.split())
