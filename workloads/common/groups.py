"""What kernels work on: arrays and numbers that belong together, declared once.

A kernel names a group in its signature; engines are passed those of its fields that the kernel
uses. The host passes any object that has them as attributes. The fields of groups in a group count
as its own: kernels read ``state.parts``, where the host has ``state.partition.parts``.
"""

from dataclasses import dataclass

import pykokkos as pk

NO_PART = -1
"""In place of a part, where there is none."""
UNWANTED = -2
"""Target of a vertex that loses too much by a move to the best part."""
UNKNOWN = -3
"""Target of a vertex whose connections have changed since it was chosen."""
INACTIVE = -4
"""Target of a vertex that is not listed as active."""
PINNED = -5
"""Target of a vertex that never moves."""
NO_VERTEX = -1
"""In place of a vertex, in lists with gaps."""
INT32_MAX = 2**31 - 1
NO_PRIORITY = -INT32_MAX
"""Priority of a vertex that does not want to move."""


class Offset:
    """A place among directed edges, in annotations: 64 bits in wide kernels, else 32."""


class Weight:
    """A sum of weights, likewise."""


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


class LongRows:
    """The rows of high-degree vertices, cut into chunks (`long_rows`)."""

    vertices: pk.View1D[pk.int32]  # of each chunk
    starts: pk.View1D[Offset]  # first entry of each chunk
    longest: int  # length of the longest row that is not cut
    lanes: int  # indices that walk chunks
    lane_bits: int  # of them for each chunk: a power of two, its exponent


@dataclass(frozen=True, eq=False)
class Constraints:
    """Which vertices coarsening may put together (`constraints`)."""

    heaviest: int  # the most that they may weigh together
    within_parts: bool  # whether they must be in the same part
    parts: pk.View1D[pk.int32]


@dataclass(frozen=True, eq=False)
class Metric:
    """What an edge between two parts costs, per weight (`metric`)."""

    metric_kind: int
    distances: pk.View1D[pk.int32]
    k: int
    unit: pk.int64  # gains are kept in units of this
    scale: int  # losses are sorted into buckets from this on


@dataclass(frozen=True, eq=False)
class Connectivity:
    """The connectivity table (`connectivity`): a row of slots for each vertex, from `rows` on."""

    rows: pk.View1D[Offset]
    parts: pk.View1D[pk.int32]
    weights: pk.View1D[Weight]
    k: int


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition into k parts, and what it was and will be."""

    parts: pk.View1D[pk.int32]
    previous: pk.View1D[pk.int32]  # parts before the moves of the iteration
    destinations: pk.View1D[pk.int32]  # of candidates and evicted vertices (`rebalance`); NO_PART
    best_parts: pk.View1D[pk.int32]  # parts of the best partition so far
    part_weights: pk.View1D[pk.int64]
    limits: pk.View1D[pk.int64]  # largest part weights
    k: int


@dataclass(frozen=True, eq=False)
class Iteration:
    """What the iteration does, and what it counts (`control_block`)."""

    control: pk.View1D[pk.int64]  # by Control
    counters: pk.View1D[pk.int64]  # by Counter


@dataclass(frozen=True, eq=False)
class Vertices:
    """What iterations know of each vertex.

    Targets, gains and priorities of inactive vertices are `INACTIVE`, undefined and `NO_PRIORITY`.
    """

    active: pk.View1D[pk.int32]  # the vertices that iterations look at
    targets: pk.View1D[pk.int32]  # best adjacent part; NO_PART, UNWANTED, UNKNOWN, INACTIVE, PINNED
    gains: pk.View1D[pk.int32]  # what moving there gains
    internal: pk.View1D[Weight]  # weight of the edges into the own part
    priorities: pk.View1D[pk.int32]  # gains of vertices that want to move; else NO_PRIORITY
    locks: pk.View1D[pk.int32]  # number of the Jetlp iteration that a vertex stays in


@dataclass(frozen=True, eq=False)
class MoveLists:
    """The vertices that the iteration has moved, one list for each stripe (`striped_counters`)."""

    moved: pk.View1D[pk.int32]
    list_size: int  # of each list
    stripe_bits: int  # 2^stripe_bits vertices in a row are of one stripe
    share: int  # indices that share the edges of a moved vertex


class Progress:
    """A partition, and the iteration that changes it."""

    partition: Partition
    iteration: Iteration


class Refinement(Progress):
    """All that refinement knows of a level, apart from the graph and the connectivity table."""

    metric: Metric
    vertices: Vertices
    moves: MoveLists
