"""A program for several processes in which one process fails during coarsening."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import numpy as np
from mpi4py import MPI

import jetpy.distributed
from jetpy.distributed import levels


def fail(*_: Any) -> Any:
    """Fail as the command line requests, in place of a contraction."""
    match sys.argv[1]:
        case "raise":
            raise RuntimeError("broken on purpose")
        case "memory":
            return np.ones(1 << 50)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    world = MPI.COMM_WORLD
    block = jetpy.distributed.cube(world, 40, 40, 40)
    if world.Get_rank() == 1:
        levels.contract_pieces = fail
        if sys.argv[1] == "block":
            block.indices[0] = len(block.vertex_weights)
    jetpy.distributed.partition(world, block, 4, preset="fast", backend="cpu", threads=1, small=10)
    print("finished")
