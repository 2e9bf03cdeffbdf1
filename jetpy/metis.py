"""METIS itself: pymetis's own functions, also while `jetpy.pymetis` is in pymetis's place."""

from pymetis import CSRAdjacency, Options, nested_dissection, part_graph, part_mesh

__all__ = ["CSRAdjacency", "Options", "nested_dissection", "part_graph", "part_mesh"]
