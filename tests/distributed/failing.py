"""A program for several processes, in which one process fails: ``failing.py FAULT STAGE MODE``.

Faults, stages and modes are the names in `fail`, `STAGES` and `main`. It runs in a folder with
cube.npz, writes cube.part, and creates the file "failed" before it fails.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import jetpy.distributed
from jetpy.cli import signals
from jetpy.distributed import api, gathering, levels, writing

STAGES: dict[str, tuple[Any, str]] = {
    "start": (api, "as_block"),
    "coarsen": (levels, "contract_pieces"),
    "refine": (levels.PieceLevel, "refine"),
    "write": (writing, "_write"),
}
OPTIONS: dict[str, Any] = {"preset": "fast", "backend": "cpu", "threads": 1}


def fail(fault: str) -> None:
    """Fail."""
    match fault:
        case "raise":
            raise RuntimeError("broken on purpose")
        case "memory":
            np.ones(1 << 50)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "terminate":
            os.kill(os.getpid(), signal.SIGTERM)
        case "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))


def failing(fault: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that fails before it does the work."""

    def failed(*arguments: Any, **options: Any) -> Any:
        Path("failed").touch()
        fail(fault)
        return work(*arguments, **options)

    return failed


def main(fault: str, stage: str, mode: str) -> None:
    """Partition in pieces, by a call or by the command line; the last process fails."""
    world = MPI.COMM_WORLD
    gathering.SMALL = 10
    if world.Get_rank() == world.Get_size() - 1:
        where, name = STAGES[stage]
        setattr(where, name, failing(fault, getattr(where, name)))
    if mode == "command":
        options = [word for name, value in OPTIONS.items() for word in (f"--{name}", str(value))]
        sys.argv = ["jetpy", "partition", "cube.npz", "-k", "4", "-o", "cube.part", *options]
        signals.main()
    else:
        block = jetpy.distributed.read(world, "cube.npz")
        jetpy.distributed.partition(world, block, 4, **OPTIONS).save("cube.part")
    print("finished")


if __name__ == "__main__":
    main(*sys.argv[1:])
