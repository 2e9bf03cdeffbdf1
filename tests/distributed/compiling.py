"""A program for several processes that start together: prints the units that they compile."""

from __future__ import annotations

from mpi4py import MPI

import jetpy.distributed
from jetpy.engines.cpu import compiling
from jetpy.engines.cpu.source import Unit

if __name__ == "__main__":
    world = MPI.COMM_WORLD
    compiled: list[str] = []
    compile_unit = compiling.compile_unit

    def counted(unit: Unit) -> bytes:
        compiled.append(unit.name)
        return compile_unit(unit)

    compiling.compile_unit = counted
    block = jetpy.distributed.grid(world, 12, 12)
    jetpy.distributed.partition(world, block, 4, preset="fast", backend="cpu", threads=1)
    for names in world.gather(compiled) or ():
        print(*names)
