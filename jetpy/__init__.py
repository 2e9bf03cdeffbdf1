"""Graph partitioning for NVIDIA GPUs and multicore CPUs, with the same result on all of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jetpy.choices import DISTRIBUTION

if TYPE_CHECKING:
    from jetpy.api.coarsening import coarsen
    from jetpy.api.hierarchy import Hierarchy, read_hierarchy
    from jetpy.api.many import partition_many
    from jetpy.api.mapping import map_processes
    from jetpy.api.ordering import (
        minimum_degree,
        nested_dissection,
        order,
        symbolic,
        vertex_separator,
    )
    from jetpy.api.ordering_session import read_ordering
    from jetpy.api.partitioning import partition, refine
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
    from jetpy.evaluation.levels import Level, LevelTable
    from jetpy.graph import generators
    from jetpy.graph.convert.tables import from_edges
    from jetpy.graph.csr import Graph
    from jetpy.graph.levels import GraphLevel
    from jetpy.incremental.batch import Batch
    from jetpy.incremental.partitioner import IncrementalPartitioner, Update
    from jetpy.io.graphs import as_graph, read_graph, write_graph
    from jetpy.io.parts import read_parts, write_parts
    from jetpy.meshes.dual import dual_graph, dual_graph_of_faces, node_graph
    from jetpy.problem.machine import Machine
    from jetpy.problem.options import (
        CoarsenOptions,
        IncrementalOptions,
        InitialOptions,
        Options,
        RefineOptions,
        SmallOptions,
    )
    from jetpy.problem.presets import preset
    from jetpy.profiling.profile import Profile
    from jetpy.result.mapping import Mapping
    from jetpy.result.ordering import Ordering, OrderingUpdate
    from jetpy.result.ordering_choice import OrderingChoice
    from jetpy.result.partition import Partition
    from jetpy.result.separator_tree import SeparatorTree
    from jetpy.result.subdomains import Subgraph
    from jetpy.result.symbolic import Symbolic
    from jetpy.result.vertex_separator import VertexSeparator

    __version__: str

__all__ = [
    "BackendError",
    "Batch",
    "CoarsenOptions",
    "FileFormatError",
    "Graph",
    "GraphError",
    "GraphLevel",
    "Hierarchy",
    "IncrementalOptions",
    "IncrementalPartitioner",
    "InitialOptions",
    "JetpyError",
    "Level",
    "LevelTable",
    "Machine",
    "Mapping",
    "MissingFileError",
    "OptionError",
    "Options",
    "Ordering",
    "OrderingChoice",
    "OrderingUpdate",
    "OutOfMemoryError",
    "Partition",
    "Profile",
    "RefineOptions",
    "SeparatorTree",
    "SmallOptions",
    "Subgraph",
    "Symbolic",
    "Update",
    "VertexSeparator",
    "__version__",
    "as_graph",
    "coarsen",
    "dual_graph",
    "dual_graph_of_faces",
    "evaluate",
    "from_edges",
    "generators",
    "map_processes",
    "minimum_degree",
    "nested_dissection",
    "node_graph",
    "order",
    "partition",
    "partition_many",
    "preset",
    "read_graph",
    "read_hierarchy",
    "read_ordering",
    "read_parts",
    "refine",
    "symbolic",
    "vertex_separator",
    "write_graph",
    "write_parts",
]

_HOMES = {
    "api.coarsening": ("coarsen",),
    "api.hierarchy": ("Hierarchy", "read_hierarchy"),
    "api.many": ("partition_many",),
    "api.mapping": ("map_processes",),
    "api.ordering": (
        "minimum_degree",
        "nested_dissection",
        "order",
        "symbolic",
        "vertex_separator",
    ),
    "api.ordering_session": ("read_ordering",),
    "api.partitioning": ("partition", "refine"),
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
    "evaluation.levels": ("Level", "LevelTable"),
    "graph.convert.tables": ("from_edges",),
    "graph.csr": ("Graph",),
    "graph.levels": ("GraphLevel",),
    "incremental.batch": ("Batch",),
    "incremental.partitioner": ("IncrementalPartitioner", "Update"),
    "io.graphs": ("as_graph", "read_graph", "write_graph"),
    "io.parts": ("read_parts", "write_parts"),
    "meshes.dual": ("dual_graph", "dual_graph_of_faces", "node_graph"),
    "problem.machine": ("Machine",),
    "problem.options": (
        *("CoarsenOptions", "IncrementalOptions", "InitialOptions", "Options", "RefineOptions"),
        "SmallOptions",
    ),
    "problem.presets": ("preset",),
    "profiling.profile": ("Profile",),
    "result.mapping": ("Mapping",),
    "result.ordering": ("Ordering", "OrderingUpdate"),
    "result.ordering_choice": ("OrderingChoice",),
    "result.partition": ("Partition",),
    "result.separator_tree": ("SeparatorTree",),
    "result.subdomains": ("Subgraph",),
    "result.symbolic": ("Symbolic",),
    "result.vertex_separator": ("VertexSeparator",),
}
"""Public names of each module, imported on first use because importing SciPy is slow."""


def __getattr__(name: str) -> Any:
    if name == "generators":
        return import_module("jetpy.graph.generators")
    if name in {home.partition(".")[0] for home in _HOMES}:
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
