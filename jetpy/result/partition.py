"""The result of a partitioning run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError, count
from jetpy.evaluation.levels import LevelTable
from jetpy.evaluation.notebook import facts_html
from jetpy.evaluation.rows import (
    Rows,
    balance_rows,
    changes_text,
    cut_text,
    engine_text,
    graph_text,
    moved_row,
    seconds_row,
)
from jetpy.graph.by_part import VerticesByPart, sort_by_part
from jetpy.graph.csr import Graph
from jetpy.lazy import cached_property
from jetpy.problem.metrics import (
    communication_volume,
    components_per_part,
    isolated_vertices,
    part_weights,
)
from jetpy.problem.presets import CUSTOM, preset
from jetpy.result.subdomains import (
    Subgraph,
    check_halo,
    ghosts_of,
    members_of,
    subgraph,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jetpy.problem.options import Options
    from jetpy.profiling.profile import Profile


@dataclass(frozen=True, eq=False)
class Partition:
    """A k-way partition of a graph, with data on the run that found it.

    Attributes
    ----------
    graph : Graph
    parts : int32, shape (n,)
        Part of each vertex, in 0..k - 1.
    k : int
        Number of parts requested.
    cut : int
        Total weight of undirected edges whose ends lie in different parts.
    ideals : int64, shape (k,) or (k, c)
        Ideal weight of each part: ceil(W / k), where W is the total vertex weight, or its share
        of W by the targets, rounded up. One column for each column of vertex weights of shape
        (n, c).
    limits : int64, shape (k,) or (k, c)
        Maximum weight of each part: floor((1 + imbalance option) * ideal), or by the option
        max_weights; for a mapping ceil((1 + imbalance option) * W / k).
    lower_limits : int64, shape (k,) or (k, c)
        Minimum weight of each part, by the options lower_imbalance and min_weights; otherwise 0.
    preset : str
        Name of the preset; 'custom' for other options.
    options : Options
        All options of the run.
    threads : int
        Number of CPU threads; on a GPU, these run small levels on the host.
    seconds : mapping from stage to wall seconds
        Stages are compile, coarsen, initial, refine and total. `total` excludes `compile`, which is
        the time to compile kernels, or to load them from the cache.
    levels : LevelTable
        A tuple of `Level`, finest first, which prints as a table. Empty for trivial partitions
        (k = 1, or no more vertices than parts).
    launches : int
        Number of kernel launches.
    objective : str
        The objective that was minimised: 'cut' or 'volume'.
    generations : int
        Number of partitions that were found or recombined. This one is the best; `levels`
        describes it alone, `seconds` and `launches` are totals over all.
    disconnected : mapping from part to str
        Reason for each part that is not connected although connected parts were requested.
    weights : int32, shape (n, c), or None
        Vertex weights, if they were given as such an array.
    home : int32, shape (n,), or None
        Previous part of each vertex, if given; -1 for vertices without one.
    compiled : bool
        Whether kernels were compiled; the cache then has them.
    device_parts : int32, shape (n,), or None
        `parts` as a CuPy array on the GPU, if requested.
    gpu : int or None
        Index of the GPU in CUDA's order; None on CPUs.
    gpu_skipped : bool
        Whether `auto` chose the CPU without looking for a GPU, because the graph is small.
        For such graphs it is also true without a GPU or CuPy.
    profile : Profile or None
        Profile of the run, if requested.
    """

    graph: Graph
    parts: npt.NDArray[np.int32]
    k: int
    cut: int
    ideals: npt.NDArray[np.int64]
    limits: npt.NDArray[np.int64]
    lower_limits: npt.NDArray[np.int64]
    seed: int
    preset: str
    options: Options
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

    @property
    def coarsening(self) -> str:
        """Coarsening method."""
        return self.options.coarsen.method

    @property
    def refinement(self) -> str:
        """Refinement method."""
        return self.options.refine.method

    @cached_property
    def part_weights(self) -> npt.NDArray[np.int64]:
        """Total vertex weight of each part, int64, shape (k,); (k, c) for weights of (n, c)."""
        if self.weights is not None:
            from jetpy.problem.multiconstraint import loads

            return loads(self.weights, self.parts, self.k)
        return part_weights(self.graph, self.parts, self.k)

    @property
    def limit(self) -> int:
        """Maximum of `limits` over all parts and weights."""
        return int(self.limits.max())

    @property
    def imbalance(self) -> float:
        """max(part_weights / ideals) - 1; 0 for a graph without vertices."""
        weights = self.part_weights
        return float((weights / self.ideals.clip(1)).max()) - 1 if weights.any() else 0.0

    @property
    def feasible(self) -> bool:
        """Whether no part exceeds its limit, and none is below its lower limit."""
        weights = self.part_weights
        return bool(((self.lower_limits <= weights) & (weights <= self.limits)).all())

    @cached_property
    def moved(self) -> npt.NDArray[np.int32]:
        """Vertices that are not in their previous part, ascending, int32."""
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
        """Sum over all vertices of the number of other parts among their neighbours.

        If the graph has `vertex_sizes`, each vertex counts as often as its size says.
        """
        return communication_volume(self.graph, self.parts)

    @cached_property
    def pieces(self) -> npt.NDArray[np.int64]:
        """Number of connected components of each part, int64, shape (k,); 0 for empty parts."""
        return components_per_part(self.graph, self.parts, self.k)

    @property
    def disconnected_parts(self) -> int:
        """Number of parts with more than one connected component."""
        return int((self.pieces > 1).sum())

    @cached_property
    def isolated_vertices(self) -> int:
        """Number of vertices without a neighbour in the same part."""
        return isolated_vertices(self.graph, self.parts)

    @property
    def order(self) -> npt.NDArray[np.int32]:
        """All vertices sorted by part, ascending within each, int32, shape (n,).

        `jetpy.order` is something else: it orders the rows of a sparse matrix for elimination.
        """
        return self._members.order

    @property
    def offsets(self) -> npt.NDArray[np.int32]:
        """Start of each part in `order`, then the end of the last, int32, shape (k + 1,)."""
        return self._members.offsets

    def members(self, part: int) -> npt.NDArray[np.int32]:
        """Return the vertices of a part, ascending, int32.

        Raises
        ------
        OptionError
            If the part does not exist.

        Examples
        --------
        >>> import jetpy
        >>> result = jetpy.partition(jetpy.generators.grid(2, 2), 1, threads=1)
        >>> result.members(0)
        array([0, 1, 2, 3], dtype=int32)
        """
        return members_of(self._members, part)

    def ghosts(self, part: int) -> npt.NDArray[np.int32]:
        """Return the neighbours of a part in other parts, sorted by part, then id, int32.

        Raises
        ------
        OptionError
            If the part does not exist.
        """
        return ghosts_of(self.graph, self.parts, self._members, part)

    def subgraph(self, part: int, halo: int = 0) -> Subgraph:
        """Return a part as a separate graph, for one process of an MPI program for example.

        Parameters
        ----------
        part : int
        halo : {0, 1}
            1: include *ghosts*, the neighbours of the part's vertices in other parts. Edges join
            owned vertices to each other and to ghosts; edges between ghosts are left out. 0: no
            ghosts.

        Raises
        ------
        OptionError
            If the part does not exist, or `halo` is invalid.

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
        """Yield the `subgraph` of each part; only one needs memory at a time.

        Raises
        ------
        OptionError
            If `halo` is invalid.
        """
        check_halo(halo)
        return (self.subgraph(part, halo) for part in range(self.k))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parts to a file, in the format of its suffix: see `jetpy.write_parts`.

        Raises
        ------
        FileFormatError
            If the suffix belongs to a format that does not hold partitions.
        JetpyError
            If the file cannot be written.
        """
        from jetpy.io.parts import write_parts

        write_parts(path, self.parts)

    def plot(self, coordinates: npt.ArrayLike | None = None) -> Figure:
        """Draw the partition as a matplotlib figure, which notebooks show and `savefig` writes.

        With coordinates, the figure shows the vertices. Without them, it shows the cut matrix and
        the quotient graph, whose vertices are the parts.

        Parameters
        ----------
        coordinates : numbers, shape (n, 2) or (n, 3), optional
            Coordinates of the vertices; by default the graph's `coordinates`.

        Raises
        ------
        GraphError
            If the coordinates have another shape, or the graph has no vertices.
        JetpyError
            If matplotlib is not installed; the extra `report` installs it.
        """
        from jetpy.result.plot import plot

        return plot(self.graph, self.parts, self.k, coordinates)

    @cached_property
    def _members(self) -> VerticesByPart:
        return sort_by_part(self.parts, self.k)

    def as_dict(self) -> dict[Any, int]:
        """Return a dict from vertex name, or vertex id if the graph has no names, to part.

        >>> import jetpy
        >>> graph = jetpy.from_edges({"a": ["x", "y"], "b": ["y", "z"]}, "a", "b")
        >>> sorted(jetpy.partition(graph, 1, threads=1).as_dict())
        ['x', 'y', 'z']
        """
        names = range(self.graph.n) if self.graph.names is None else self.graph.names
        return dict(zip(names, self.parts.tolist(), strict=True))

    def parts_of(self, names: Iterable[Any]) -> npt.NDArray[np.int32]:
        """Return the parts of named vertices, int32, in the order of `names`.

        Raises
        ------
        GraphError
            If a name is unknown.
        """
        from jetpy.graph.convert.tables import listed

        part_of = self.as_dict()
        try:
            return np.array([part_of[name] for name in listed(names)], np.int32)
        except KeyError as error:
            raise GraphError(f"there is no vertex {error}") from None

    def __repr__(self) -> str:
        state = "feasible" if self.feasible else "NOT feasible"
        return f"Partition(k={self.k}, cut={self.cut}, imbalance={self.imbalance:.4f}, {state})"

    def _repr_html_(self) -> str:
        return facts_html("Partition", [*partition_rows(self), seconds_row(self.seconds)])


def partition_rows(partition: Partition) -> Rows:
    """Describe a partitioning run: graph, options, cut and balance."""
    graph = partition.graph
    rows = [
        ("graph", graph_text(graph)),
        ("run", run_text(partition)),
        ("cut", cut_text(partition.cut, graph)),
    ]
    if partition.objective == "volume":
        rows.append(("communication volume", f"{partition.communication_volume:,}"))
    rows += balance_of(partition, "part")
    if partition.home is not None:
        moved = len(partition.moved), partition.moved_weight
        rows.append(moved_row(*moved, graph.total_vertex_weight))
    return rows


def run_text(partition: Partition) -> str:
    """Return the options and the back end of a run."""
    base = None if partition.preset == CUSTOM else preset(partition.preset)
    run = f"k = {partition.k}, seed {partition.seed}, preset {partition.preset}"
    run += changes_text(partition.options, base)
    if partition.generations > 1:
        run += f", {count(partition.generations, 'generation')}"
    return f"{run}, {engine_of(partition)}"


def engine_of(partition: Partition) -> str:
    """Return the engine of a run, its threads, and why it is not a GPU."""
    skipped = partition.gpu_skipped
    return engine_text(partition.backend, partition.threads, partition.gpu, gpu_skipped=skipped)


def balance_of(partition: Partition, noun: str) -> Rows:
    """Describe the balance of the parts, called `noun`."""
    weights, limits, lower = partition.part_weights, partition.limits, partition.lower_limits
    return balance_rows(weights, limits, lower, partition.imbalance, noun)
