"""The nodes of one depth of a separator tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array

Vertices = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Connected graphs that are to be divided, as one graph.

    Node i has the vertices ``starts[i]..starts[i + 1] - 1``. `weights` and `seeds` have the weight
    and the seed of each. `graph` is on the host, and `on_backend` is the same graph on the back end
    that separates large nodes; it may be None if there are no such nodes.
    """

    graph: DeviceGraph
    starts: Numbers
    weights: Numbers
    seeds: Numbers
    on_backend: DeviceGraph | None

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def sizes(self) -> Numbers:
        """Number of vertices of each node."""
        return np.diff(self.starts)

    def members(self, chosen: Numbers) -> npt.NDArray[np.bool_]:
        """Return whether each vertex is in a chosen node."""
        is_chosen = np.zeros(len(self), bool)
        is_chosen[chosen] = True
        return np.repeat(is_chosen, self.sizes)


@dataclass(frozen=True, eq=False)
class Depth:
    """The nodes of one depth, on the host.

    `vertices` has the vertex of the whole graph of each vertex, and `parents` the node of the tree
    above each node.
    """

    nodes: Nodes
    vertices: Array
    parents: Numbers
