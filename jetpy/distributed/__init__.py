"""Partitioning and ordering by several processes, each with a block of vertices.

One device finds the same parts and orders.

Requires ``pip install 'jetpy-partitioner[mpi]'``, unless there is only one process.
"""

from jetpy.distributed.api import DistributedPartition, evaluate, partition, refine
from jetpy.distributed.block import Block
from jetpy.distributed.files import read, write_parts
from jetpy.distributed.generators import cube, grid, rmat
from jetpy.distributed.mesh_files import read_mesh
from jetpy.distributed.meshes import MeshBlock, dual_graph
from jetpy.distributed.ordering import DistributedOrdering, nested_dissection, order

__all__ = [
    "Block",
    "DistributedOrdering",
    "DistributedPartition",
    "MeshBlock",
    "cube",
    "dual_graph",
    "evaluate",
    "grid",
    "nested_dissection",
    "order",
    "partition",
    "read",
    "read_mesh",
    "refine",
    "rmat",
    "write_parts",
]
