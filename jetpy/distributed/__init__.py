"""Partitioning and ordering by several processes, each with a block of vertices.

One device finds the same parts and orders.

Requires ``pip install 'jetpy-partitioner[mpi]'``, unless there is only one process.
"""

from jetpy.distributed.api import DistributedPartition, evaluate, partition, refine
from jetpy.distributed.block import Block
from jetpy.distributed.files import read, write_parts
from jetpy.distributed.generators import cube, grid, rmat
from jetpy.distributed.meshes import dual_graph
from jetpy.distributed.ordering import DistributedOrdering, nested_dissection

__all__ = [
    "Block",
    "DistributedOrdering",
    "DistributedPartition",
    "cube",
    "dual_graph",
    "evaluate",
    "grid",
    "nested_dissection",
    "partition",
    "read",
    "refine",
    "rmat",
    "write_parts",
]
