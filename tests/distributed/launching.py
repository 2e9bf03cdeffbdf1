"""Programs that start MPI processes, by MPI library."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OPTIONS: Mapping[str, Sequence[str]] = {
    "MPICH": (),
    "Open MPI": ("--bind-to", "none", "--oversubscribe"),
}
VARIABLES: Mapping[str, Mapping[str, str]] = {
    "MPICH": {},
    "Open MPI": {
        "MPI4PY_MPIABI": "openmpi",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    },
}
"""Environment variables. A wheel of mpi4py loads the library of this environment, unless
MPI4PY_MPIABI selects another one.
"""


@cache
def launchers() -> Mapping[str, str]:
    """Return the mpiexec of each library: that of this environment, or the first in PATH."""
    found: dict[str, str] = {}
    for folder in (str(Path(sys.executable).parent), *os.get_exec_path()):
        program = shutil.which("mpiexec", path=folder)
        if program is not None:
            said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            found.setdefault("Open MPI" if "Open MPI" in said else "MPICH", program)
    return found


def start(
    mpi: str, size: int, *command: str, more: Sequence[str] = (), **options: Any
) -> subprocess.Popen[str]:
    """Start Python with arguments in several processes.

    `more` are options of mpiexec, the other ones those of `subprocess.Popen`.
    """
    program = [launchers()[mpi], *OPTIONS[mpi], *more, "-n", str(size)]
    paths = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    own = {"TERM": "dumb", "PYTHONPATH": paths}  # Open MPI gives process 0 a terminal
    return subprocess.Popen(
        [*program, sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, **VARIABLES[mpi], **own},
        **options,
    )
