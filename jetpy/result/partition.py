"""What a partitioning run returns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph.csr import Graph
from jetpy.lazy import cached_property
from jetpy.multilevel.outcome import LevelTable
from jetpy.problem.metrics import (
    communication_volume,
    components_per_part,
    isolated_vertices,
    part_weights,
)
from jetpy.result.subdomains import (
    Subgraph,
    VerticesByPart,
    check_halo,
    ghosts_of,
    members_of,
    sort_by_part,
    subgraph,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jetpy.profiling.profile import Profile


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
    ideals : int64, shape (k,) or (k, c)
        What each part should weigh: ceil(W / k), where W is the total vertex weight, or its share
        of W by the targets, rounded up. Of each weight, where vertices have several.
    limits : int64, shape (k,) or (k, c)
        Largest part weights allowed: floor((1 + imbalance option) * ideal); for a mapping
        ceil((1 + imbalance option) * W / k).
    threads : int
        CPU threads; on a GPU those that run small levels on the host.
    seconds : mapping from stage to wall seconds
        Stages are compile, coarsen, initial, refine and total; `total` is partitioning alone,
        `compile` is loading kernels where the cache has all.
    levels : LevelTable
        A tuple of `Level`, finest first, which prints as a table. Empty where there was nothing to
        decide (k = 1, or no more vertices than parts).
    launches : int
        Number of kernel launches.
    objective : str
        What was to become small: 'cut' or 'volume'.
    generations : int
        Partitions that were found or recombined; this one is the best of them, `levels` are its
        own, `seconds` and `launches` those of all.
    disconnected : mapping from part to str
        Why parts are in several pieces, where connected ones were asked for and not found.
    weights : int32, shape (n, c), or None
        Weights of the vertices, where these have several.
    home : int32, shape (n,), or None
        Parts of vertices before, if these were given; -1 of others.
    compiled : bool
        Whether kernels were compiled, which the cache has from then on.
    device_parts : int32, shape (n,), or None
        `parts` as an array of CuPy on the GPU, if asked for.
    gpu : int or None
        Number of the GPU, as CUDA counts them; None on CPUs.
    gpu_skipped : bool
        Whether `auto` chose the CPU without looking for a GPU, because the graph is small.
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
    levels: LevelTable
    launches: int
    objective: str = "cut"
    generations: int = 1
    disconnected: Mapping[int, str] = field(default_factory=dict)
    weights: npt.NDArray[np.int32] | None = None
    home: npt.NDArray[np.int32] | None = None
    compiled: bool = False
    device_parts: Any = None
    gpu: int | None = None
    gpu_skipped: bool = False
    profile: Profile | None = None

    @cached_property
    def part_weights(self) -> npt.NDArray[np.int64]:
        """Total vertex weight of each part, int64, shape (k,); each weight, shape (k, c)."""
        if self.weights is not None:
            from jetpy.problem.multiconstraint import loads

            return loads(self.weights, self.parts, self.k)
        return part_weights(self.graph, self.parts, self.k)

    @property
    def limit(self) -> int:
        """Largest part weight allowed; that of the part and of the weight where it is largest."""
        return int(self.limits.max())

    @property
    def imbalance(self) -> float:
        """max(part_weights / ideals) - 1; 0 for a graph without vertices."""
        weights = self.part_weights
        return float((weights / self.ideals.clip(1)).max()) - 1 if weights.any() else 0.0

    @property
    def feasible(self) -> bool:
        """Whether every part keeps its limit."""
        return bool((self.part_weights <= self.limits).all())

    @cached_property
    def moved(self) -> npt.NDArray[np.int32]:
        """Vertices that are no longer in the part that they were in, ascending, int32."""
        if self.home is None:
            return np.zeros(0, np.int32)
        away = (self.home >= 0) & (self.home != self.parts)
        return np.flatnonzero(away).astype(np.int32)

    @property
    def moved_weight(self) -> int:
        """Weight of the vertices that have moved."""
        return int(self.graph.vertex_weights[self.moved].sum(dtype=np.int64))

    @property
    def empty_parts(self) -> int:
        """Number of parts without a vertex."""
        return int((np.bincount(self.parts, minlength=self.k) == 0).sum())

    @cached_property
    def communication_volume(self) -> int:
        """Sum over the vertices of how many other parts they have neighbours in."""
        return communication_volume(self.graph, self.parts)

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

    @property
    def order(self) -> npt.NDArray[np.int32]:
        """All vertices sorted by part, ascending within each, int32, shape (n,)."""
        return self._members.order

    @property
    def offsets(self) -> npt.NDArray[np.int32]:
        """Where each part begins in `order`, and where the last ends, int32, shape (k + 1,)."""
        return self._members.offsets

    def members(self, part: int) -> npt.NDArray[np.int32]:
        """Return the vertices of a part, ascending, int32.

        Raises
        ------
        OptionError
            When there is no such part.

        Examples
        --------
        >>> import jetpy
        >>> result = jetpy.partition(jetpy.generators.grid(2, 2), 1, threads=1)
        >>> result.members(0)
        array([0, 1, 2, 3], dtype=int32)
        """
        return members_of(self._members, part)

    def ghosts(self, part: int) -> npt.NDArray[np.int32]:
        """Return the neighbours of a part's vertices in other parts, by owner, then id, int32.

        Raises
        ------
        OptionError
            When there is no such part.
        """
        return ghosts_of(self.graph, self.parts, self._members, part)

    def subgraph(self, part: int, halo: int = 0) -> Subgraph:
        """Return a part as a graph of its own: what one process of an MPI program needs.

        Parameters
        ----------
        part : int
        halo : {0, 1}
            1: with its *ghosts*, the neighbours of its vertices in other parts. There are edges
            between owned vertices, and between these and ghosts, but none between ghosts. 0:
            without ghosts.

        Raises
        ------
        OptionError
            When there is no such part, or no such halo.

        Examples
        --------
        >>> import jetpy
        >>> path = jetpy.generators.grid(6, 1)
        >>> cut = jetpy.refine(path, [0, 0, 0, 1, 1, 1], threads=1)
        >>> found = cut.subgraph(1, halo=1)
        >>> found.global_ids, found.owned, found.ghost_owner
        (array([3, 4, 5, 2], dtype=int32), 3, array([0], dtype=int32))
        """
        return subgraph(self.graph, self.parts, self._members, part, halo)

    def subgraphs(self, halo: int = 0) -> Iterator[Subgraph]:
        """Make `subgraph` of each part, one at a time, so that memory is that of one.

        Raises
        ------
        OptionError
            When there is no such halo.
        """
        check_halo(halo)
        return (self.subgraph(part, halo) for part in range(self.k))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parts to a file, in the format of its suffix: see `jetpy.write_parts`.

        Raises
        ------
        FileFormatError
            When the suffix promises a format that partitions are not written in.
        JetpyError
            When the file cannot be written.
        """
        from jetpy.io.parts import write_parts

        write_parts(path, self.parts)

    def plot(self, coordinates: npt.ArrayLike | None = None) -> Figure:
        """Draw the partition: a figure of matplotlib, which notebooks show and `savefig` writes.

        Vertices are drawn where they are. Where that is not known, the figure shows the quotient
        graph, whose vertices are parts, and the cut matrix.

        Parameters
        ----------
        coordinates : numbers, shape (n, 2) or (n, 3), optional
            Where the vertices are; by default the graph's `coordinates`.

        Raises
        ------
        GraphError
            If the coordinates are of another shape, or the graph has no vertices.
        JetpyError
            If matplotlib is missing: the extra `report` brings it.
        """
        from jetpy.pages.plot import plot

        return plot(self, coordinates)

    @cached_property
    def _members(self) -> VerticesByPart:
        return sort_by_part(self.parts, self.k)

    def as_dict(self) -> dict[Any, int]:
        """Return the part of each vertex by its name, or by its number if the graph has no names.

        >>> import jetpy
        >>> graph = jetpy.from_edges({"a": ["x", "y"], "b": ["y", "z"]}, "a", "b")
        >>> sorted(jetpy.partition(graph, 1, threads=1).as_dict())
        ['x', 'y', 'z']
        """
        names = range(self.graph.n) if self.graph.names is None else self.graph.names
        return dict(zip(names, self.parts.tolist(), strict=True))

    def parts_of(self, names: Iterable[Any]) -> npt.NDArray[np.int32]:
        """Return the parts of named vertices, in that order: a column to join to a table.

        Raises
        ------
        GraphError
            If there is no vertex of a name.
        """
        from jetpy.graph.convert.tables import listed

        found = self.as_dict()
        try:
            return np.array([found[name] for name in listed(names)], np.int32)
        except KeyError as error:
            raise GraphError(f"there is no vertex {error}") from None

    def __repr__(self) -> str:
        state = "feasible" if self.feasible else "NOT feasible"
        return f"Partition(k={self.k}, cut={self.cut}, imbalance={self.imbalance:.4f}, {state})"

    def _repr_html_(self) -> str:
        from jetpy.evaluation.notebook import partition_html

        return partition_html(self)
