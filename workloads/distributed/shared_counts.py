"""Sums over the pieces of a graph in each iteration, so that all pieces take the same decisions.

Every piece has the control block, the part weights and the plan of the whole partition. A piece
packs the changes of its owned vertices, an allreduce sums them, and the piece unpacks the sums.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.control_block import COUNTER_STRIPES, Control, Counter, Task
from jetpy.workloads.common.groups import INT32_MAX, Graph, Progress
from jetpy.workloads.common.striped_counters import copy_of

ALWAYS = -1
NEVER = INT32_MAX
"""Limits of moved vertices that force the rows to be rebuilt, or forbid it."""


class AfterMoves(IntEnum):
    """Indices in `moves`, after the parts."""

    MOVED = 0
    """Number of vertices that have moved."""
    MAY_REBUILD = 1
    """Number of pieces that can rebuild their rows."""


class AfterUpdate(IntEnum):
    """Indices in `updates`."""

    CUT_CHANGE = 0
    INACTIVE = 1
    """Number of inactive vertices."""
    WITHOUT_ROOM = 2
    """Number of pieces whose launches cover fewer than their active vertices."""


@dataclass(frozen=True, eq=False)
class Shared:
    """Buffers that an allreduce sums in place."""

    weights_before: pk.View1D[pk.int64]  # weight of each part before the moves
    moves: pk.View1D[pk.int64]  # weight change of each part, then by AfterMoves
    updates: pk.View1D[pk.int64]  # by AfterUpdate


@pk.workunit
def pack_moves(i: int, may_rebuild: int, shared: Shared, state: Progress):
    """Pack the change of part i's weight; index k packs the number of moved vertices."""
    if i < state.k:
        shared.moves[i] = state.part_weights[i] - shared.weights_before[i]
        return
    moved: pk.int64 = 0
    if state.control[Control.TASK] != Task.NOTHING:
        for stripe in range(COUNTER_STRIPES):
            moved += state.counters[copy_of(Counter.MOVED, stripe)]
    shared.moves[state.k + AfterMoves.MOVED] = moved
    shared.moves[state.k + AfterMoves.MAY_REBUILD] = may_rebuild


@pk.workunit
def unpack_moves(i: int, pieces: int, max_moved: int, shared: Shared, state: Progress):
    """Unpack the weight of part i; index k decides whether rows are rebuilt.

    Rows are rebuilt if more than `max_moved` vertices have moved and all pieces can rebuild theirs.
    """
    if i < state.k:
        shared.weights_before[i] += shared.moves[i]
        state.part_weights[i] = shared.weights_before[i]
        return
    moved: pk.int64 = shared.moves[state.k + AfterMoves.MOVED]
    state.control[Control.ALL_MOVED] = moved
    state.control[Control.MAX_MOVED] = NEVER
    if shared.moves[state.k + AfterMoves.MAY_REBUILD] == pieces and moved > max_moved:
        state.control[Control.MAX_MOVED] = ALWAYS


@pk.workunit
def pack_update(i: int, n: int, shared: Shared, state: Progress):
    """Pack the change of the cut, and the number of inactive vertices among n."""
    change: pk.int64 = 0
    for stripe in range(COUNTER_STRIPES):
        change += state.counters[copy_of(Counter.CUT_CHANGE, stripe)]
    active: pk.int64 = state.counters[Counter.ACTIVE]
    shared.updates[AfterUpdate.CUT_CHANGE] = change
    shared.updates[AfterUpdate.INACTIVE] = n - active
    shared.updates[AfterUpdate.WITHOUT_ROOM] = 0
    if active > state.control[Control.ROOM]:
        shared.updates[AfterUpdate.WITHOUT_ROOM] = 1


@pk.workunit
def unpack_update(i: int, ghosts: int, graph: Graph, shared: Shared, state: Progress):
    """Unpack the sums, as one device would count them; index i < `ghosts` resets ghost i's move."""
    if state.control[Control.TASK] == Task.NOTHING:
        return
    if i < ghosts:
        state.previous[graph.n_owned + i] = state.parts[graph.n_owned + i]
        return
    for stripe in range(COUNTER_STRIPES):
        state.counters[copy_of(Counter.CUT_CHANGE, stripe)] = 0
        state.counters[copy_of(Counter.MOVED, stripe)] = 0
    state.counters[Counter.CUT_CHANGE] = shared.updates[AfterUpdate.CUT_CHANGE]
    state.counters[Counter.MOVED] = state.control[Control.ALL_MOVED]
    state.control[Control.INACTIVE] = shared.updates[AfterUpdate.INACTIVE]
    state.control[Control.WITHOUT_ROOM] = shared.updates[AfterUpdate.WITHOUT_ROOM]
