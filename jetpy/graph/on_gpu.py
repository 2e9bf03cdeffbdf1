"""Graphs whose arrays are on a GPU; back ends use these arrays in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jetpy.graph.coordinates import Locate
from jetpy.graph.csr import Graph, IntArray
from jetpy.lazy import cached_property

Array = Any
"""A CuPy array."""
FIELDS = ("indptr", "indices", "edge_weights", "vertex_weights")


@dataclass(frozen=True, eq=False)
class OnGpu:
    """CSR arrays of a checked graph on a GPU, all int32, and the sums of its weights."""

    indptr: Array
    indices: Array
    edge_weights: Array
    vertex_weights: Array
    edge_weight: int
    vertex_weight: int

    @property
    def number(self) -> int:
        """Index of the GPU."""
        return int(self.indices.device.id)


class GraphOnGpu(Graph):
    """A graph whose arrays are on a GPU; each is copied to the host on first access."""

    on_gpu: OnGpu | None = None

    @classmethod
    def of(
        cls,
        arrays: OnGpu,
        name: str,
        names: tuple[Any, ...] | None = None,
        locate: Locate | None = None,
    ) -> GraphOnGpu:
        """Return a graph with these arrays; `names` and `locate` as for `Graph`."""
        graph = object.__new__(cls)
        own = {"on_gpu": arrays, "name": name, "names": names, "locate": locate}
        for attribute, value in own.items():
            object.__setattr__(graph, attribute, value)
        return graph

    def __getattr__(self, name: str) -> IntArray:
        if name not in FIELDS or self.on_gpu is None:
            raise AttributeError(name)
        fetched: IntArray = getattr(self.on_gpu, name).get()
        object.__setattr__(self, name, fetched)
        return fetched

    @property
    def n(self) -> int:
        """Number of vertices."""
        return super().n if self.on_gpu is None else len(self.on_gpu.vertex_weights)

    @property
    def m(self) -> int:
        """Number of undirected edges."""
        return super().m if self.on_gpu is None else len(self.on_gpu.indices) // 2

    @cached_property
    def total_vertex_weight(self) -> int:
        """Sum of all vertex weights."""
        here = self.on_gpu
        return super().total_vertex_weight if here is None else here.vertex_weight

    @cached_property
    def total_edge_weight(self) -> int:
        """Sum of the weights of all undirected edges."""
        here = self.on_gpu
        return super().total_edge_weight if here is None else here.edge_weight // 2
