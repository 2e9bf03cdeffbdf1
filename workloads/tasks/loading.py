"""Tasks of workers: the graph of a task becomes the finest level of a worker.

A worker is one index. It processes one task after another in its own ranges of all arrays, which
stay in the caches of its core. `turns` counts what workers have begun; results do not depend on
which worker does what.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, Graph
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.initial.inner_levels import VERTEX_ROOM, Levels
from jetpy.workloads.tasks.kway import GAIN_UNITS


class Task(IntEnum):
    """Fields of a task, which has one of several graphs, and what the task finds."""

    VERTEX = 0
    """Place of its first vertex in arrays of vertices."""
    ROW = 1
    """Place of its first row in `indptr`."""
    ENTRY = 2
    """Place of directed edge 0, as its rows count."""
    FIRST = 3
    """Its first vertex, as its directed edges count."""
    N = 4
    """Number of its vertices."""
    SEED = 5
    PLACE = 6
    """Place of its first vertex in `found`."""
    TRIES = 7
    """Number of separators."""
    PART = 8
    """Place of its first part in prefix sums."""
    PARTS = 9
    """Number of its parts."""
    CUT = 10
    EXCESS = 11
    """What its parts weigh above their limits, and lack below them."""
    EMPTY = 12
    """Number of its parts without a vertex."""
    PART_PLACE = 13
    """Place of its first part in `part_weights`."""
    COUNT = 14


@dataclass(frozen=True, eq=False)
class Work:
    """The tasks of workers, and the capacities of each worker."""

    tasks: pk.View1D[pk.int64]  # by Task
    count: int
    turns: pk.View1D[pk.int32]  # number of turns that workers have begun
    found: pk.View1D[pk.int32]  # parts, or sides
    vertex_room: int
    entry_room: int


@pk.function
def load_graph(
    worker: int, task: int, room: int, here: int, graph: Graph, work: Work, levels: Levels
):
    """Copy the graph of a task to the arrays of a worker; no vertex is pinned or on a side.

    Its levels may have `room` times its directed edges.
    """
    first: int = worker * work.vertex_room
    entry: int = worker * work.entry_room
    n: int = work.tasks[task + Task.N]
    vertex: int = work.tasks[task + Task.VERTEX]
    row: int = work.tasks[task + Task.ROW]
    source: int = work.tasks[task + Task.ENTRY]
    origin: int = first - work.tasks[task + Task.FIRST]
    last: int = entry
    total: pk.int64 = 0
    highest: pk.int64 = 0
    for v in range(n):
        u: int = first + v
        begin: int = source + graph.indptr[row + v]
        end: int = source + graph.indptr[row + v + 1]
        weight: int = graph.vertex_weights[vertex + v]
        degree: pk.int64 = 0
        levels.rows[u] = last
        levels.weights[u] = weight
        levels.pinned[u] = NO_PART
        levels.sides[u] = NO_PART
        total += weight
        for e in range(begin, end):
            w: int = graph.edge_weights[e]
            levels.ends[last] = origin + graph.indices[e]
            levels.edge_weights[last] = w
            degree += w
            last += 1
        if degree > highest:
            highest = degree
    levels.rows[first + n] = last
    entries: pk.int64 = last - entry
    entries *= room
    if entries > work.entry_room:
        entries = work.entry_room
    levels.numbers[here + Field.BEGIN] = first
    levels.numbers[here + Field.END] = first + n
    levels.numbers[here + Field.ORIGIN] = first
    levels.numbers[here + Field.LEVELS] = 0
    levels.numbers[here + Field.LEVEL_BEGINS] = first
    levels.numbers[here + Field.LAST_VERTEX] = first + VERTEX_ROOM * n
    levels.numbers[here + Field.LAST_ENTRY] = entry + entries
    levels.numbers[here + Field.TOTAL] = total
    levels.numbers[here + Field.UNIT] = 1 + highest // GAIN_UNITS
    levels.numbers[here + Field.SEED] = mix(work.tasks[task + Task.SEED])
