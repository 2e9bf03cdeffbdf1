"""All metrics of a partition: `jetpy.evaluate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.evaluation.communication import communication
from jetpy.evaluation.mapping_cost import communication_cost, cost_by_level
from jetpy.evaluation.notebook import collapsed_html, facts_html
from jetpy.evaluation.rows import Rows
from jetpy.graph.csr import IntArray
from jetpy.io.graphs import as_graph
from jetpy.lazy import cached_property
from jetpy.problem.machine import described
from jetpy.problem.metrics import checked_parts, components_per_part
from jetpy.problem.multiconstraint import loads

if TYPE_CHECKING:
    from jetpy.problem.machine import Levels, Machine

MAX_PARTS = 32
"""Maximum number of parts in a table; with more parts, there is none."""
PART_HEADERS = (
    *("part", "weight", "components", "volume"),
    *("neighbours", "boundary", "isolated"),
)
"""Columns of `part_rows`."""


@runtime_checkable
class PartitionLike(Protocol):
    """An object with the parts and k of a partition, such as a `Partition`."""

    @property
    def parts(self) -> IntArray:
        """Part of each vertex."""

    @property
    def k(self) -> int:
        """Number of parts."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """All metrics of one partition.

    Attributes
    ----------
    k : int
        Number of parts.
    cut : int
        As `edge_cut`.
    part_weights : int64, shape (k,)
        As `part_weights`; shape (k, c) for vertex weights of shape (n, c).
    imbalance : float
        max(part_weights) / ceil(total weight / k) - 1; the largest of several weights.
    part_volumes : int64, shape (k,)
        Communication volume of each part: the sum over its vertices of the number of other parts
        among their neighbours, times the size of the vertex (1 unless the graph has sizes).
    part_boundary_vertices : int64, shape (k,)
        Number of vertices of each part with a neighbour in another part.
    part_isolated_vertices : int64, shape (k,)
        Number of vertices of each part without a neighbour in the part.
    cut_matrix : scipy.sparse.csr_array of int64, shape (k, k)
        Total weight of the undirected edges between each pair of parts; symmetric, without a
        diagonal.
    components : int64, shape (k,)
        As `components_per_part`.
    empty_parts : int
        Number of parts without a vertex.
    disconnected_parts : int
        Number of parts whose induced subgraph has more than one component.
    machine : Machine or None
        Machine whose PEs are the parts, if given.
    cost : int or None
        With a machine: the sum over ordered pairs of tasks of communication times distance.
    cost_by_level : int64, shape (levels,), or None
        With a machine: the cost of each level of its hierarchy, lowest first.
    """

    k: int
    cut: int
    part_weights: npt.NDArray[np.int64]
    imbalance: float
    part_volumes: npt.NDArray[np.int64]
    part_boundary_vertices: npt.NDArray[np.int64]
    part_isolated_vertices: npt.NDArray[np.int64]
    cut_matrix: sp.csr_array
    components: npt.NDArray[np.int64]
    empty_parts: int
    disconnected_parts: int
    machine: Machine | None = None
    cost: int | None = None
    cost_by_level: npt.NDArray[np.int64] | None = None

    @property
    def pieces(self) -> npt.NDArray[np.int64]:
        """As `components`, under the name that `Partition` uses."""
        return self.components

    @property
    def communication_volume(self) -> int:
        """Sum of the communication volumes of all parts, as `communication_volume`."""
        return int(self.part_volumes.sum())

    @property
    def largest_volume(self) -> int:
        """Maximum communication volume of a part."""
        return int(self.part_volumes.max())

    @property
    def boundary_vertices(self) -> int:
        """Number of vertices that have a neighbour in another part."""
        return int(self.part_boundary_vertices.sum())

    @property
    def isolated_vertices(self) -> int:
        """As `isolated_vertices`."""
        return int(self.part_isolated_vertices.sum())

    @cached_property
    def part_neighbours(self) -> npt.NDArray[np.int64]:
        """Number of other parts to which each part has edges, int64, shape (k,)."""
        counts: npt.NDArray[np.int64] = np.diff(self.cut_matrix.indptr).astype(np.int64)
        return counts

    def __repr__(self) -> str:
        cost = "" if self.cost is None else f"cost={self.cost}, "
        return (
            f"Evaluation(k={self.k}, {cost}cut={self.cut}, imbalance={self.imbalance:.4f}, "
            f"communication_volume={self.communication_volume}, "
            f"disconnected_parts={self.disconnected_parts})"
        )

    def _repr_html_(self) -> str:
        rows = [("k", f"{self.k:,}"), ("cut", f"{self.cut:,}"), *evaluation_rows(self)]
        facts = facts_html("Evaluation", rows)
        if self.k > MAX_PARTS:
            return facts
        return facts + collapsed_html("parts", PART_HEADERS, part_rows(self))


def evaluate(
    graph: Any,
    parts: npt.ArrayLike | PartitionLike,
    k: int | None = None,
    *,
    hierarchy: Levels | None = None,
    distances: Levels | npt.ArrayLike | None = None,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    vertex_sizes: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
) -> Evaluation:
    """Compute all metrics of a partition.

    Parameters
    ----------
    graph : Graph, path of a file, SciPy sparse matrix, tuple of arrays, or networkx.Graph
        As for `jetpy.partition`.
    parts : integers in 0..k - 1, shape (n,), or Partition
    k : int, optional
        Number of parts. By default the number of PEs of the machine, the k of a `Partition`, or
        the largest part id plus 1, but at least 1.
    hierarchy, distances : optional
        A machine whose PEs are the parts, as for `jetpy.map_processes`.
    vertex_weights, edge_weights, vertex_sizes, weight, node_weight, n, repair, pattern, scale
        As for `as_graph`.

    Raises
    ------
    GraphError, OptionError
        Under the conditions of `as_graph` and `checked_parts`; OptionError also if the machine is
        invalid, or its number of PEs is not `k`.

    Examples
    --------
    >>> from jetpy.graph.generators import grid
    >>> found = evaluate(grid(2, 2), [0, 0, 1, 2])
    >>> found.cut, found.part_volumes, found.part_neighbours
    (3, array([2, 2, 2]), array([2, 2, 2]))
    >>> found.cut_matrix.toarray()
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 1, 0]])
    >>> found = evaluate(grid(2, 2), [0, 1, 2, 3], hierarchy="2:2", distances="1:10")
    >>> found.cut, found.cost, found.cost_by_level
    (4, 44, array([ 4, 40]))
    """
    if isinstance(parts, PartitionLike):
        k = parts.k if k is None else k
        parts = parts.parts
    target = described(hierarchy, distances, k)
    k = k if target is None else target.k
    graph = as_graph(
        graph,
        vertex_weights=vertex_weights,
        edge_weights=edge_weights,
        vertex_sizes=vertex_sizes,
        weight=weight,
        node_weight=node_weight,
        n=n,
        repair=repair,
        pattern=pattern,
        scale=scale,
    )
    ids = checked_parts(graph, parts, k)
    if k is None:
        k = int(ids.max(initial=0)) + 1
    components = components_per_part(graph, ids, k)
    measured = communication(graph, ids, k)
    columns = graph.constraint_weights
    held = loads(graph.vertex_weights[:, None] if columns is None else columns, ids, k)
    shares = -(-held.sum(axis=0) // k)
    return Evaluation(
        k=k,
        cut=int(measured.cut_matrix.sum()) // 2,
        part_weights=held[:, 0] if columns is None else held,
        imbalance=float((held / shares.clip(1)).max()) - 1 if held.any() else 0.0,
        part_volumes=measured.volumes,
        part_boundary_vertices=measured.boundary,
        part_isolated_vertices=measured.isolated,
        cut_matrix=measured.cut_matrix,
        components=components,
        empty_parts=int((components == 0).sum()),
        disconnected_parts=int((components > 1).sum()),
        machine=target,
        cost=None if target is None else communication_cost(graph, ids, target),
        cost_by_level=None if target is None else cost_by_level(graph, ids, target),
    )


def evaluation_rows(result: Evaluation) -> Rows:
    """Describe the metrics of a partition, except k and cut."""
    volumes = result.part_volumes
    most = f"; part {volumes.argmax()} sends most, {volumes.max():,}" if volumes.any() else ""
    return [
        ("imbalance", f"{result.imbalance:.4f}"),
        *_weight_rows(result.part_weights),
        ("boundary vertices", f"{result.boundary_vertices:,}"),
        ("communication volume", f"{result.communication_volume:,}{most}"),
        ("neighbouring parts", _range(result.part_neighbours)),
        ("empty parts", f"{result.empty_parts:,}"),
        ("disconnected parts", f"{result.disconnected_parts:,}"),
    ]


def _weight_rows(weights: npt.NDArray[np.int64]) -> Rows:
    """Describe weights of parts, (k,) or (k, c)."""
    table = weights.reshape(len(weights), -1).T
    averages = -(-table.sum(axis=1) // len(weights))
    return [
        (
            "part weights" if weights.ndim == 1 else f"part weights, weight {j}",
            f"{own.min():,} to {own.max():,}; the average is {average:,}",
        )
        for j, (own, average) in enumerate(zip(table, averages, strict=True))
    ]


def part_rows(result: Evaluation) -> list[tuple[str, ...]]:
    """Describe each part; `PART_HEADERS` names the columns."""
    numbers = zip(
        result.components,
        result.part_volumes,
        result.part_neighbours,
        result.part_boundary_vertices,
        result.part_isolated_vertices,
        strict=True,
    )
    weights = result.part_weights.reshape(result.k, -1).tolist()
    return [
        (f"{p:,}", "; ".join(f"{weight:,}" for weight in own), *(f"{number:,}" for number in row))
        for p, (own, row) in enumerate(zip(weights, numbers, strict=True))
    ]


def _range(numbers: npt.NDArray[np.int64]) -> str:
    low, high = numbers.min(), numbers.max()
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"
