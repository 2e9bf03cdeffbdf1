"""What the pieces of a graph add up in each iteration, so that all take the same decisions.

The control block, the part weights and the plan are those of the whole partition, in every piece.
A piece tells what its own vertices add, all are summed up, and it hears the sums.
"""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.control_block import COUNTER_STRIPES, Control, Counter, Task
from jetpy.workloads.common.groups import INT32_MAX, Graph, Refinement

ALWAYS = -1
NEVER = INT32_MAX
"""Moved vertices above which rows are built anew, where that is decided already."""


class AfterMoves(IntEnum):
    """Places in `moves`, after the parts."""

    MOVED = 0
    """Vertices that have moved."""
    MAY_REBUILD = 1
    """Pieces that can build their rows anew."""


class AfterUpdate(IntEnum):
    """Places in `updates`."""

    CUT_CHANGE = 0
    INACTIVE = 1
    """Vertices that are not active."""
    WITHOUT_ROOM = 2
    """Pieces whose launches reach fewer than their active vertices."""


class Shared:
    """What is told, and then heard."""

    weights_before: pk.View1D[pk.int64]  # of the parts, before the moves
    moves: pk.View1D[pk.int64]  # changes of the weights, by part; then by AfterMoves
    updates: pk.View1D[pk.int64]  # by AfterUpdate


@pk.workunit
def pack_moves(i: int, may_rebuild: int, shared: Shared, state: Refinement):
    """Tell the changes of the part weights, an index for each, and how many vertices moved."""
    if i < state.k:
        shared.moves[i] = state.part_weights[i] - shared.weights_before[i]
        return
    moved: pk.int64 = 0
    if state.control[Control.TASK] != Task.NOTHING:
        for stripe in range(COUNTER_STRIPES):
            moved += state.counters[Counter.MOVED + stripe]
    shared.moves[state.k + AfterMoves.MOVED] = moved
    shared.moves[state.k + AfterMoves.MAY_REBUILD] = may_rebuild


@pk.workunit
def unpack_moves(i: int, pieces: int, max_moved: int, shared: Shared, state: Refinement):
    """Hear the part weights, an index for each, and whether rows are built anew.

    They are if more than `max_moved` vertices have moved, and all pieces can do so.
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
def pack_update(i: int, n: int, shared: Shared, state: Refinement):
    """Tell by how much the cut changes, and how many of n vertices are not active."""
    change: pk.int64 = 0
    for stripe in range(COUNTER_STRIPES):
        change += state.counters[Counter.CUT_CHANGE + stripe]
    active: pk.int64 = state.counters[Counter.ACTIVE]
    shared.updates[AfterUpdate.CUT_CHANGE] = change
    shared.updates[AfterUpdate.INACTIVE] = n - active
    shared.updates[AfterUpdate.WITHOUT_ROOM] = 0
    if active > state.control[Control.ROOM]:
        shared.updates[AfterUpdate.WITHOUT_ROOM] = 1


@pk.workunit
def unpack_update(i: int, ghosts: int, graph: Graph, shared: Shared, state: Refinement):
    """Hear the sums, as if one device had counted; ghosts, an index for each, have not moved."""
    if state.control[Control.TASK] == Task.NOTHING:
        return
    if i < ghosts:
        state.previous[graph.n_owned + i] = state.parts[graph.n_owned + i]
        return
    for stripe in range(COUNTER_STRIPES):
        state.counters[Counter.CUT_CHANGE + stripe] = 0
        state.counters[Counter.MOVED + stripe] = 0
    state.counters[Counter.CUT_CHANGE] = shared.updates[AfterUpdate.CUT_CHANGE]
    state.counters[Counter.MOVED] = state.control[Control.ALL_MOVED]
    state.control[Control.INACTIVE] = shared.updates[AfterUpdate.INACTIVE]
    state.control[Control.WITHOUT_ROOM] = shared.updates[AfterUpdate.WITHOUT_ROOM]
