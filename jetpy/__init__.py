"""Graph partitioning for NVIDIA GPUs and multicore CPUs, the same on all of them."""

from importlib.metadata import version

from jetpy import generators
from jetpy.api import map_processes, partition, refine
from jetpy.build import as_graph
from jetpy.errors import BackendError, FileFormatError, GraphError, JetpyError, OptionError
from jetpy.graph import Graph
from jetpy.incremental.batch import Batch
from jetpy.incremental.partitioner import IncrementalPartitioner, Update
from jetpy.io import read_graph, write_graph
from jetpy.io.parts import read_parts, write_parts
from jetpy.mapping.machine import Machine
from jetpy.mapping.mapping import Mapping
from jetpy.metrics import evaluate
from jetpy.options import IncrementalOptions
from jetpy.partition import Level, Partition
from jetpy.profile import Profile

__version__ = version("jetpy")

__all__ = [
    "BackendError",
    "Batch",
    "FileFormatError",
    "Graph",
    "GraphError",
    "IncrementalOptions",
    "IncrementalPartitioner",
    "JetpyError",
    "Level",
    "Machine",
    "Mapping",
    "OptionError",
    "Partition",
    "Profile",
    "Update",
    "__version__",
    "as_graph",
    "evaluate",
    "generators",
    "map_processes",
    "partition",
    "read_graph",
    "read_parts",
    "refine",
    "write_graph",
    "write_parts",
]
