"""Active vertices, the vertices that iterations of refinement process.

A vertex is active if it has had an adjacent part since refinement of the level began, or if it has
little internal weight.
"""

import pykokkos as pk

from jetpy.workloads.common.control_block import Control, Counter
from jetpy.workloads.common.groups import (
    INACTIVE,
    NO_PART,
    PINNED,
    UNKNOWN,
    Graph,
    Iteration,
    Refinement,
)
from jetpy.workloads.common.prefetching import FEW_VERTICES

TIE_SCALE = 128
"""Limits of internal weight per vertex weight are given in units of 1/128."""


@pk.function
def is_prefetched(iteration: Iteration) -> bool:
    """Whether a level is so large that kernels ask for values of its vertices ahead of time."""
    return iteration.control[Control.GHOSTS] > FEW_VERTICES


@pk.function
def is_active(v: int, state: Refinement) -> bool:
    """Whether a vertex is active: its target is a part, `NO_PART`, `UNWANTED` or `UNKNOWN`."""
    return state.targets[v] > INACTIVE


@pk.function
def is_tied(internal: int, weight: int, limit: pk.int64) -> bool:
    """Whether internal weight per vertex weight is above a limit in 128ths; negative: no limit."""
    tie: pk.int64 = internal
    bound: pk.int64 = weight
    return limit >= 0 and tie * TIE_SCALE > bound * limit


@pk.function
def activate(v: int, state: Refinement):
    """Append a vertex to the active ones, unless it is active or another thread appends it."""
    if pk.atomic_compare_exchange(state.targets, [v], INACTIVE, UNKNOWN) == INACTIVE:
        one: pk.int64 = 1
        index: pk.int64 = pk.atomic_fetch_add(state.counters, [Counter.ACTIVE], one)
        state.active[index] = v


@pk.workunit
def pin(v: int, pinned: pk.View1D[pk.int32], state: Refinement):
    """Mark a vertex that must be in a given part as `PINNED`, so that it never moves."""
    if pinned[v] != NO_PART:
        state.targets[v] = PINNED


@pk.workunit
def list_active(
    v: int, acc: pk.Acc[pk.int64], last_pass: bool, graph: Graph, state: Refinement, tie_limit: int
):
    """List active vertices and vertices with little internal weight, in ascending order."""
    if is_active(v, state) or (
        state.targets[v] == INACTIVE
        and not is_tied(state.internal[v], graph.vertex_weights[v], tie_limit)
    ):
        if last_pass:
            state.active[acc] = v
            if state.targets[v] == INACTIVE:
                state.targets[v] = NO_PART
        acc += 1
