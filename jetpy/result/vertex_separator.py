"""The result of `jetpy.vertex_separator`."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph, IntArray
from jetpy.io.parts import write_parts
from jetpy.lazy import cached_property
from jetpy.problem.metrics import part_weights


@dataclass(frozen=True, eq=False)
class VertexSeparator:
    """Two sides of a graph and the vertices that separate them.

    Attributes
    ----------
    graph : Graph
        The graph; its edge weights are 1.
    labels : int32, shape (n,)
        0 or 1 for a vertex of a side, 2 for a vertex of the separator. No edge joins the sides.
    limit : int
        Maximum weight of a side: floor((1 + imbalance option) * ceil(W / 2)), where W is the total
        vertex weight.
    seed : int
    backend : str
    threads : int
        Number of CPU threads.
    seconds : float
        Wall seconds, without the time to compile or load kernels.
    """

    graph: Graph
    labels: IntArray
    limit: int
    seed: int
    backend: str
    threads: int
    seconds: float

    def __repr__(self) -> str:
        first, second, separator = self.weights.tolist()
        return (
            f"VertexSeparator(n = {self.graph.n}, weight {separator}, sides {first} and {second}, "
            f"limit {self.limit}, {'feasible' if self.feasible else 'NOT feasible'}, "
            f"{self.seconds:.3g} s)"
        )

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of vertices with each label, int64, shape (3,)."""
        return np.bincount(self.labels, minlength=3)

    @cached_property
    def weights(self) -> npt.NDArray[np.int64]:
        """Total vertex weight of each label, int64, shape (3,)."""
        return part_weights(self.graph, self.labels, 3)

    @property
    def weight(self) -> int:
        """Total vertex weight of the separator."""
        return int(self.weights[2])

    @property
    def separator(self) -> IntArray:
        """Vertices of the separator, ascending, int32."""
        return np.flatnonzero(self.labels == 2).astype(np.int32)

    @property
    def imbalance(self) -> float:
        """Weight of the heavier side divided by ceil(W / 2), minus 1; 0 for an empty graph.

        It is negative if the separator is heavy.
        """
        half = -(-self.graph.total_vertex_weight // 2)
        return float(self.weights[:2].max() / half) - 1 if half else 0.0

    @property
    def feasible(self) -> bool:
        """Whether no side exceeds the limit."""
        return bool(self.weights[:2].max() <= self.limit)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `labels` in the formats of `write_parts`.

        Raises
        ------
        JetpyError
            As `write_parts` does.
        """
        write_parts(path, self.labels)
