"""A program that orders a cube with several processes.

It prints how many of them find the order that each finds alone: by nested dissection, then by
`order`, which starts from the first order.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

import jetpy
import jetpy.distributed

SIDE = 28
"""The cube has a large node."""

if __name__ == "__main__":
    world = MPI.COMM_WORLD
    block = jetpy.distributed.cube(world, SIDE, SIDE, SIDE)
    start = None
    for method in ("nested_dissection", "order"):
        find, find_alone = (getattr(module, method) for module in (jetpy.distributed, jetpy))
        found = find(world, block, start=start, threads=1)
        expected = find_alone(jetpy.generators.cube(SIDE, SIDE, SIDE), start=start, threads=1)
        assert found.threads == world.size
        own = expected.iperm[found.first :][: len(found.iperm)]
        is_equal = np.array_equal(found.perm, expected.perm) and np.array_equal(found.iperm, own)
        equal = world.gather(is_equal)
        if world.rank == 0:
            print(equal.count(True), flush=True)
        start = found.perm
