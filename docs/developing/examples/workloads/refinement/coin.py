"""Simple label propagation: makes each move of positive gain with probability 1/2."""

import pykokkos as pk

from jetpy.workloads.common.control_block import Control
from jetpy.workloads.common.ghosts import owned_global_id
from jetpy.workloads.common.groups import NO_PRIORITY, Connectivity, Graph, Refinement
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.refinement.iterations import propagates
from jetpy.workloads.refinement.moves import begin_vertex, move
from jetpy.workloads.refinement.targets import update_target


@pk.workunit
def toss(i: int, graph: Graph, table: Connectivity, state: Refinement):
    """Give each active vertex a target, and a priority if it gains and tosses heads."""
    if not propagates(state):
        return
    v: int = state.active[i]
    if v < 0:
        return
    begin_vertex(v, state)
    state.priorities[v] = NO_PRIORITY
    update_target(v, graph, table, state)
    if state.targets[v] < 0 or state.gains[v] <= 0:
        return
    seed: int = state.control[Control.ITERATION_SEED]
    if (mix(owned_global_id(v, graph) ^ seed) & 1) == 0:
        state.priorities[v] = state.gains[v]


@pk.workunit
def follow(i: int, graph: Graph, state: Refinement):
    """Move each vertex that has a priority to its target."""
    if not propagates(state):
        return
    v: int = state.active[i]
    if v < 0:
        return
    if state.priorities[v] != NO_PRIORITY:
        move(v, state.targets[v], graph, state)
