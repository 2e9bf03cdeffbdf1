"""Vertices sorted by part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from jetpy.graph.csr import IntArray
from jetpy.lazy import cached_property


@dataclass(frozen=True, eq=False)
class VerticesByPart:
    """The vertices of a graph, sorted by part.

    Attributes
    ----------
    order : int32, shape (n,)
        All vertices by part, ascending within each.
    offsets : int32, shape (k + 1,)
        The vertices of part p are ``order[offsets[p]:offsets[p + 1]]``.
    """

    order: IntArray
    offsets: IntArray

    @cached_property
    def places(self) -> IntArray:
        """Index of each vertex among the vertices of its part, int32, shape (n,)."""
        n, offsets = len(self.order), self.offsets
        places = np.empty(n, np.int32)
        firsts = np.repeat(offsets[:-1], np.diff(offsets))
        places[self.order] = np.arange(n, dtype=np.int32) - firsts
        return places


def sort_by_part(parts: IntArray, k: int) -> VerticesByPart:
    """Sort vertices by part with a counting sort, in O(n + k) time.

    Parameters
    ----------
    parts : int32, shape (n,)
        Part of each vertex, in 0..k - 1.
    k : int

    Examples
    --------
    >>> import numpy as np
    >>> found = sort_by_part(np.array([1, 0, 2, 1], np.int32), 4)
    >>> found.order, found.offsets
    (array([1, 0, 3, 2], dtype=int32), array([0, 1, 3, 4, 4], dtype=int32))
    """
    n = len(parts)
    marks = sp.csr_array((np.ones(n, np.int8), parts, np.arange(n + 1, dtype=np.int32)), (n, k))
    by_part = marks.tocsc()  # a stable counting sort
    return VerticesByPart(by_part.indices.astype(np.int32), by_part.indptr.astype(np.int32))
