"""What a partitioning run returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from jetpy.graph import Graph
from jetpy.metrics import components_per_part, isolated_vertices, part_weights
from jetpy.profile import Profile


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
    graph : Graph
    parts : int32, shape (n,)
        Part of each vertex, in 0..k-1.
    k : int
        Number of parts asked for.
    cut : int
        Total weight of undirected edges whose ends lie in different parts.
    ideals : int64, shape (k,)
        What each part should weigh: ceil(W / k), where W is the total vertex weight, or its share
        of W by the targets, rounded up.
    limits : int64, shape (k,)
        Largest part weights allowed: floor((1 + imbalance option) * ideal); for a mapping
        ceil((1 + imbalance option) * W / k).
    seconds : mapping from stage to wall seconds
        Stages are compile, coarsen, initial, refine and total; `total` is partitioning alone.
    levels : sequence of `Level`, finest first
        Empty where there was nothing to decide (k = 1, or no more vertices than parts).
    launches : int
        Number of kernel launches.
    generations : int
        Partitions that were found or recombined; this one is the best of them, `levels` are its
        own, `seconds` and `launches` those of all.
    disconnected : mapping from part to str
        Why parts are in several pieces, where connected ones were asked for and not found.
    profile : Profile or None
        Where the time went, if that was asked for.
    """

    graph: Graph
    parts: npt.NDArray[np.int32]
    k: int
    cut: int
    ideals: npt.NDArray[np.int64]
    limits: npt.NDArray[np.int64]
    seed: int
    preset: str
    coarsening: str
    refinement: str
    backend: str
    threads: int
    seconds: Mapping[str, float]
    levels: Sequence[Level]
    launches: int
    generations: int = 1
    disconnected: Mapping[int, str] = field(default_factory=dict)
    profile: Profile | None = None

    @cached_property
    def part_weights(self) -> npt.NDArray[np.int64]:
        """Total vertex weight of each part, int64, shape (k,)."""
        return part_weights(self.graph, self.parts, self.k)

    @property
    def limit(self) -> int:
        """Largest part weight allowed; with targets, that of the part that may weigh most."""
        return int(self.limits.max())

    @property
    def imbalance(self) -> float:
        """max(part_weights / ideals) - 1; 0 for a graph without vertices."""
        weights = self.part_weights
        return float((weights / self.ideals).max()) - 1 if weights.any() else 0.0

    @property
    def feasible(self) -> bool:
        """Whether every part keeps its limit."""
        return bool((self.part_weights <= self.limits).all())

    @property
    def empty_parts(self) -> int:
        """Number of parts without a vertex."""
        return int((self.part_weights == 0).sum())

    @cached_property
    def pieces(self) -> npt.NDArray[np.int64]:
        """Number of connected pieces of each part, int64, shape (k,); 0 of an empty one."""
        return components_per_part(self.graph, self.parts, self.k)

    @property
    def disconnected_parts(self) -> int:
        """Number of parts of more than one piece."""
        return int((self.pieces > 1).sum())

    @cached_property
    def isolated_vertices(self) -> int:
        """Number of vertices without a neighbour in their own part."""
        return isolated_vertices(self.graph, self.parts)

    def __repr__(self) -> str:
        state = "feasible" if self.feasible else "NOT feasible"
        return f"Partition(k={self.k}, cut={self.cut}, imbalance={self.imbalance:.4f}, {state})"
