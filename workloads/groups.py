"""What kernels work on: arrays and numbers that belong together, declared once.

A kernel names a group in its signature; engines are passed those of its fields that the kernel
uses. The host passes any object that has them as attributes.
"""

import pykokkos as pk

NO_VERTEX = -1


class Graph:
    """A graph of n vertices in CSR form: row v is ``indptr[v]..indptr[v + 1] - 1``."""

    indptr: pk.View1D[pk.int32]
    indices: pk.View1D[pk.int32]
    edge_weights: pk.View1D[pk.int32]
    vertex_weights: pk.View1D[pk.int32]


class LongRows:
    """The rows of high-degree vertices, cut into chunks (`long_rows`).

    For each chunk, the vertex and the first entry; `longest` is the length of the longest row that
    is not cut.
    """

    vertices: pk.View1D[pk.int32]
    starts: pk.View1D[pk.int32]
    longest: int


class Constraints:
    """Which vertices coarsening may put together (`constraints`).

    They weigh at most `heaviest` together; with `within_parts` = 1 they are in one of `parts`.
    """

    heaviest: int
    within_parts: int
    parts: pk.View1D[pk.int32]


class Metric:
    """What an edge between two parts costs, per weight (`metric`).

    Gains are kept in units of `unit`, and losses sorted into buckets from `scale` on.
    """

    kind: int
    distances: pk.View1D[pk.int32]
    k: int
    unit: pk.int64
    scale: int


class Connectivity:
    """The connectivity table (`connectivity`): a row of slots for each vertex, from `rows` on."""

    rows: pk.View1D[pk.int32]
    parts: pk.View1D[pk.int32]
    weights: pk.View1D[pk.int32]
    k: int


class Partition:
    """A partition into k parts.

    `previous` are the parts before the moves of the iteration, `destinations` those after them or
    `NO_PART`, `best` the parts of the best partition; part weights and their limits are int64.
    """

    parts: pk.View1D[pk.int32]
    previous: pk.View1D[pk.int32]
    destinations: pk.View1D[pk.int32]
    best: pk.View1D[pk.int32]
    weights: pk.View1D[pk.int64]
    limits: pk.View1D[pk.int64]
    k: int


class Candidates:
    """What refinement knows of each vertex as a candidate for a move.

    `active` lists the vertices that iterations look at. `targets` caches the best adjacent part
    (or `NO_PART`, `UNKNOWN`, `INACTIVE`), `gains` what moving there gains, `internal` the weight of
    the edges into the own part; `priorities` are the gains of those that pass the first filter.
    """

    active: pk.View1D[pk.int32]
    targets: pk.View1D[pk.int32]
    gains: pk.View1D[pk.int32]
    internal: pk.View1D[pk.int32]
    priorities: pk.View1D[pk.int32]
    locks: pk.View1D[pk.int32]


class Moved:
    """The vertices that an iteration has moved, in lists of `list_size`, and its counters.

    There is a list for each of `SECTIONS` counters; the counters' places are those of `Counter`.
    """

    vertices: pk.View1D[pk.int32]
    list_size: int
    counters: pk.View1D[pk.int64]
