"""Directed edges, and the rows of a graph that they make."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from jetpy.graph.csr import IntArray


class Edges(NamedTuple):
    """Directed edges: their tails, heads and weights."""

    tails: npt.NDArray[Any]
    heads: npt.NDArray[Any]
    weights: npt.NDArray[Any]

    def rows(
        self, first: int, count: int, n: int
    ) -> tuple[IntArray, IntArray, npt.NDArray[np.int64]]:
        """Return the CSR arrays of `count` rows from vertex `first` on, in a graph of n vertices.

        Neighbours ascend, and parallel edges are joined.
        """
        places = self.tails - first, self.heads
        found = coo_array((self.weights, places), shape=(count, n)).tocsr()
        found.sum_duplicates()
        return found.indptr, found.indices, found.data
