"""What a partitioning run returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Level:
    """One level of the multilevel hierarchy, as it was refined (0 is the input graph).

    `cut_before` and `cut_after` are the total weight of cut undirected edges before and after
    refinement on this level; `iterations` counts refinement iterations.
    """

    level: int
    n: int
    m: int
    cut_before: int
    cut_after: int
    imbalance: float
    iterations: int
    coarsen_seconds: float
    refine_seconds: float
    coarsen_launches: int
    refine_launches: int


@dataclass(frozen=True, eq=False)
class Partition:
    """A k-way partition of a graph, with what it took to find it.

    Attributes
    ----------
    parts : int32, shape (n,)
        Part of each vertex, in 0..k-1.
    k : int
        Number of parts asked for.
    cut : int
        Total weight of undirected edges whose ends lie in different parts.
    imbalance : float
        max(part_weights) / ceil(W / k) - 1, where W is the total vertex weight (0 when W is 0).
    limit : int
        Largest part weight allowed: floor((1 + imbalance option) * ceil(W / k)).
    feasible : bool
        Whether every part weight is at most `limit`.
    part_weights : int64, shape (k,)
    empty_parts : int
        Number of parts without a vertex.
    disconnected_parts : int
        Number of parts whose induced subgraph has more than one component.
    seconds : mapping from stage (coarsen, initial, refine, total, compile) to wall seconds
        `total` is partitioning alone: it contains neither reading nor compiling.
    levels : sequence of `Level`, finest first
    launches : int
        Number of kernel launches.
    """

    parts: npt.NDArray[np.int32]
    k: int
    cut: int
    imbalance: float
    limit: int
    feasible: bool
    part_weights: npt.NDArray[np.int64]
    empty_parts: int
    disconnected_parts: int
    seed: int
    preset: str
    backend: str
    threads: int
    seconds: Mapping[str, float]
    levels: Sequence[Level]
    launches: int

    def __repr__(self) -> str:
        state = "feasible" if self.feasible else "NOT feasible"
        return f"Partition(k={self.k}, cut={self.cut}, imbalance={self.imbalance:.4f}, {state})"
