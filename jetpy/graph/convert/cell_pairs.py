"""Dual graphs of meshes of other packages, given the pairs of neighbouring cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.graph.coordinates import Locate
from jetpy.graph.raw import Raw


def from_cell_pairs(
    pairs: npt.NDArray[Any], n: int, locate: Locate, names: Sequence[Any] | None = None
) -> Raw:
    """Convert pairs of neighbours among n cells, shape (pairs, 2), to a graph without weights."""
    once = np.unique(np.sort(pairs, axis=1), axis=0)
    both = np.concatenate([once, once[:, ::-1]])
    return Raw(both[:, 1], sources=both[:, 0], n=n, names=names, locate=locate)
