"""Distributed partitioning: each process has a block of vertices; one device gives the same parts.

Requires ``pip install 'jetpy-partitioner[mpi]'``, unless there is only one process.
"""

from jetpy.distributed.api import DistributedPartition, evaluate, partition, refine
from jetpy.distributed.block import Block
from jetpy.distributed.files import read, write_parts
from jetpy.distributed.generators import cube, grid, rmat

__all__ = [
    "Block",
    "DistributedPartition",
    "cube",
    "evaluate",
    "grid",
    "partition",
    "read",
    "refine",
    "rmat",
    "write_parts",
]
