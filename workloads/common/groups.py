"""Argument groups: arrays and scalars that kernels use together, declared once.

A kernel names a group in its signature. Engines receive only the fields that the kernel uses. The
host passes any object that has these fields as attributes. Fields of nested groups count as fields
of the outer group: kernels read ``state.parts``, the host has ``state.partition.parts``.
"""

from dataclasses import dataclass

import pykokkos as pk

NO_PART = -1
"""Stands for a missing part."""
UNWANTED = -2
"""Target of a vertex whose move to its best adjacent part would lose too much."""
UNKNOWN = -3
"""Target of a vertex whose connections have changed since the target was chosen."""
INACTIVE = -4
"""Target of a vertex that is not in the list of active vertices."""
PINNED = -5
"""Target of a vertex that never moves."""
NO_VERTEX = -1
"""Stands for a missing vertex, or a gap in a list."""
INT32_MAX = 2**31 - 1
NO_PRIORITY = -INT32_MAX
"""Priority of a vertex that is not a candidate for a move."""


class Offset:
    """Annotation: an index of a directed edge, 64 bits in wide kernels, otherwise 32."""


class Weight:
    """Annotation: a sum of weights, 64 bits in wide kernels, otherwise 32."""


class Graph:
    """A graph in CSR form, or a process's piece of one: row v is ``indptr[v]..indptr[v + 1] - 1``.

    A piece has the vertices that its process owns, and after them ghosts (`ghosts`): vertices of
    other processes that are adjacent to owned ones. A whole graph has no ghosts.
    """

    indptr: pk.View1D[Offset]
    indices: pk.View1D[pk.int32]
    edge_weights: pk.View1D[Weight]
    vertex_weights: pk.View1D[Weight]
    n_owned: int  # number of vertices that are not ghosts
    first_global_id: int  # of the owned vertices, which have consecutive global ids
    ghost_ids: pk.View1D[Offset]  # global id of each ghost
    ghost_degrees: pk.View1D[Offset]  # degree of each ghost in the whole graph


@pk.function
def edges(v: int, graph: Graph) -> range:
    """Return the directed edges from a vertex, as indices."""
    return range(graph.indptr[v], graph.indptr[v + 1])


@dataclass(frozen=True, eq=False)
class LongRows:
    """The rows of high-degree vertices, cut into chunks (`long_rows`)."""

    vertices: pk.View1D[pk.int32]  # vertex of each chunk
    starts: pk.View1D[Offset]  # first entry of each chunk, counted within its row
    longest: int  # length of the longest row that is not cut
    lanes: int  # number of lanes of all chunks
    lane_bits: int  # each chunk has 2^lane_bits lanes


@dataclass(frozen=True, eq=False)
class Constraints:
    """The constraints on which vertices coarsening may merge (`constraints`)."""

    heaviest: int  # largest weight of a merged vertex
    lightest: int  # weight as which lighter vertices are rated, at least 1
    within_parts: bool  # whether merged vertices must be in the same part
    parts: pk.View1D[pk.int32]


@dataclass(frozen=True, eq=False)
class Metric:
    """The cost of an edge between two parts per unit of weight (`metric`)."""

    metric_kind: int
    distances: pk.View1D[pk.int32]
    k: int
    unit: pk.int64  # the unit of stored gains
    scale: int  # scale of the loss buckets (`losses`)


@dataclass(frozen=True, eq=False)
class Connectivity:
    """The connectivity table (`connectivity`): the slots of vertex v begin at ``rows[v]``."""

    rows: pk.View1D[Offset]
    parts: pk.View1D[pk.int32]
    weights: pk.View1D[Weight]
    k: int


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition into k parts, with its previous and best states and planned moves."""

    parts: pk.View1D[pk.int32]
    previous: pk.View1D[pk.int32]  # parts before the moves of the iteration
    destinations: pk.View1D[pk.int32]  # of candidates and evicted vertices (`rebalance`); NO_PART
    best_parts: pk.View1D[pk.int32]  # parts of the best partition so far
    part_weights: pk.View1D[pk.int64]
    limits: pk.View1D[pk.int64]  # largest part weights, then the smallest
    k: int


@pk.function
def lower_limit(p: int, partition: Partition) -> pk.int64:
    """Return the smallest weight of a part."""
    return partition.limits[partition.k + p]


@dataclass(frozen=True, eq=False)
class Iteration:
    """The task of the iteration and its counters (`control_block`)."""

    control: pk.View1D[pk.int64]  # by Control
    counters: pk.View1D[pk.int64]  # by Counter


@dataclass(frozen=True, eq=False)
class Vertices:
    """The refinement state of each vertex.

    An inactive vertex has target `INACTIVE`, priority `NO_PRIORITY` and an undefined gain.
    """

    active: pk.View1D[pk.int32]  # the vertices that iterations process
    targets: pk.View1D[pk.int32]  # best adjacent part; NO_PART, UNWANTED, UNKNOWN, INACTIVE, PINNED
    gains: pk.View1D[pk.int32]  # gain of a move to the target
    internal: pk.View1D[Weight]  # weight of the edges into the current part
    priorities: pk.View1D[pk.int32]  # gains of candidates for a move, otherwise NO_PRIORITY
    locks: pk.View1D[pk.int32]  # index of the Jetlp iteration that a vertex is locked in


@dataclass(frozen=True, eq=False)
class MoveLists:
    """The vertices that the iteration has moved, one list per stripe (`striped_counters`)."""

    moved: pk.View1D[pk.int32]
    list_size: int  # capacity of each list
    stripe_bits: int  # 2^stripe_bits consecutive vertices share a stripe
    share: int  # number of indices that share the edges of a moved vertex


class Progress:
    """A partition and the iteration that changes it."""

    partition: Partition
    iteration: Iteration


class Refinement(Progress):
    """The refinement state of a level, without the graph and the connectivity table."""

    metric: Metric
    vertices: Vertices
    moves: MoveLists
