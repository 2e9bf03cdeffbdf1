"""Active vertices: those that iterations of refinement look at.

They have had an adjacent part at some time since the start, or little ties them to their own.
"""

import pykokkos as pk

from jetpy.workloads.common.control_block import Counter
from jetpy.workloads.common.groups import INACTIVE, NO_PART, PINNED, UNKNOWN, Graph, Refinement

TIE_SCALE = 128
"""Limits of ties are given in parts of this."""


@pk.function
def is_active(v: int, state: Refinement) -> bool:
    """Whether iterations look at a vertex: it has a target, or `NO_PART`, `UNWANTED`, `UNKNOWN`."""
    return state.targets[v] > INACTIVE


@pk.function
def is_tied(internal: int, weight: int, limit: pk.int64) -> bool:
    """Whether internal weight per vertex weight is above a limit, in 128ths (negative: none)."""
    tie: pk.int64 = internal
    bound: pk.int64 = weight
    return limit >= 0 and tie * TIE_SCALE > bound * limit


@pk.function
def activate(v: int, state: Refinement):
    """Add a vertex to the active ones, unless it is one of them or another thread adds it."""
    if pk.atomic_compare_exchange(state.targets, [v], INACTIVE, UNKNOWN) == INACTIVE:
        one: pk.int64 = 1
        place: pk.int64 = pk.atomic_fetch_add(state.counters, [Counter.ACTIVE], one)
        state.active[place] = v


@pk.workunit
def pin(v: int, pinned: pk.View1D[pk.int32], state: Refinement):
    """Let a vertex stay where it is for good, if it has a part to be in."""
    if pinned[v] != NO_PART:
        state.targets[v] = PINNED


@pk.workunit
def list_active(
    v: int, acc: pk.Acc[pk.int64], last_pass: bool, graph: Graph, state: Refinement, tie_limit: int
):
    """List the active vertices in ascending order, and those that little ties to their part."""
    if is_active(v, state) or (
        state.targets[v] == INACTIVE
        and not is_tied(state.internal[v], graph.vertex_weights[v], tie_limit)
    ):
        if last_pass:
            state.active[acc] = v
            if state.targets[v] == INACTIVE:
                state.targets[v] = NO_PART
        acc += 1
