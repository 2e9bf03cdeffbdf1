"""Graph partitioning for NVIDIA GPUs and multicore CPUs, the same on all of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jetpy.names import DISTRIBUTION

if TYPE_CHECKING:
    from jetpy import generators
    from jetpy.api import partition, refine
    from jetpy.convert.tables import from_edges
    from jetpy.errors import (
        BackendError,
        FileFormatError,
        GraphError,
        JetpyError,
        MissingFileError,
        OptionError,
        OutOfMemoryError,
    )
    from jetpy.evaluation.evaluate import evaluate
    from jetpy.graph import Graph
    from jetpy.incremental.batch import Batch
    from jetpy.incremental.partitioner import IncrementalPartitioner, Update
    from jetpy.io.graphs import as_graph, read_graph, write_graph
    from jetpy.io.parts import read_parts, write_parts
    from jetpy.many import partition_many
    from jetpy.mapping.api import map_processes
    from jetpy.mapping.machine import Machine
    from jetpy.mapping.mapping import Mapping
    from jetpy.members import Subgraph
    from jetpy.meshes.dual import dual_graph, dual_graph_of_faces, node_graph
    from jetpy.options import IncrementalOptions
    from jetpy.outcome import Level, LevelTable
    from jetpy.profile import Profile
    from jetpy.result import Partition

    __version__: str

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
    "LevelTable",
    "Machine",
    "Mapping",
    "MissingFileError",
    "OptionError",
    "OutOfMemoryError",
    "Partition",
    "Profile",
    "Subgraph",
    "Update",
    "__version__",
    "as_graph",
    "dual_graph",
    "dual_graph_of_faces",
    "evaluate",
    "from_edges",
    "generators",
    "map_processes",
    "node_graph",
    "partition",
    "partition_many",
    "read_graph",
    "read_parts",
    "refine",
    "write_graph",
    "write_parts",
]

_HOMES = {
    "api": ("partition", "refine"),
    "convert.tables": ("from_edges",),
    "errors": (
        "BackendError",
        "FileFormatError",
        "GraphError",
        "JetpyError",
        "MissingFileError",
        "OptionError",
        "OutOfMemoryError",
    ),
    "evaluation.evaluate": ("evaluate",),
    "graph": ("Graph",),
    "incremental.batch": ("Batch",),
    "incremental.partitioner": ("IncrementalPartitioner", "Update"),
    "io.graphs": ("as_graph", "read_graph", "write_graph"),
    "io.parts": ("read_parts", "write_parts"),
    "many": ("partition_many",),
    "mapping.api": ("map_processes",),
    "mapping.machine": ("Machine",),
    "mapping.mapping": ("Mapping",),
    "members": ("Subgraph",),
    "meshes.dual": ("dual_graph", "dual_graph_of_faces", "node_graph"),
    "options": ("IncrementalOptions",),
    "profile": ("Profile",),
    "outcome": ("Level", "LevelTable"),
    "result": ("Partition",),
}
"""Modules by what they offer to all; imported when that is asked for, as SciPy takes long."""


def __getattr__(name: str) -> Any:
    if name == "generators" or name in {home.partition(".")[0] for home in _HOMES}:
        return import_module(f"jetpy.{name}")
    if name == "__version__":
        return import_module("importlib.metadata").version(DISTRIBUTION)
    for home, offered in _HOMES.items():
        if name in offered:
            globals()[name] = getattr(import_module(f"jetpy.{home}"), name)
            return globals()[name]
    raise AttributeError(f"module 'jetpy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
