"""Kernels that call functions of `jetpy.workloads.tasks` one at a time."""

import pykokkos as pk

from jetpy.workloads.common.groups import NO_VERTEX, Graph
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.flows.max_flow import Trees
from jetpy.workloads.flows.regions import Pairs
from jetpy.workloads.initial.inner_levels import Levels, match_level
from jetpy.workloads.tasks.bisections import (
    Bisections,
    bisect_recursively,
    copy_node,
    divide_order,
    fill_side,
)
from jetpy.workloads.tasks.communities import mark_communities
from jetpy.workloads.tasks.kway import (
    UNREAD,
    Parts,
    in_units,
    is_hopeless,
    make_pass,
    measure_parts,
    move_vertex,
    read_slots,
    refine_parts,
)
from jetpy.workloads.tasks.loading import Work, load_graph
from jetpy.workloads.tasks.pair_flows import improve_pairs, improve_two_parts, list_borders


@pk.function
def begin_level(lazy: int, here: int, parts: Parts):
    """Measure the parts; with `lazy` = 1, vertices without slots are as if their row was unread."""
    measure_parts(here, parts)
    begin: int = parts.numbers[here + Field.BEGIN]
    end: int = parts.numbers[here + Field.END]
    if lazy == 1:
        for v in range(begin, end):
            if parts.slots[v] == 0:
                parts.internal[v] = UNREAD


@pk.workunit
def pass_once(
    i: int,
    slack: pk.int64,
    vain: int,
    lazy: int,
    here: int,
    answers: pk.View1D[pk.int64],
    parts: Parts,
):
    """Make one pass; the answer is whether it has improved the partition."""
    begin_level(lazy, here, parts)
    answers[0] = 0
    if make_pass(slack, vain, here, parts):
        answers[0] = 1


@pk.workunit
def refine_level(i: int, lazy: int, here: int, parts: Parts):
    """Make passes while they improve the partition enough."""
    begin_level(lazy, here, parts)
    refine_parts(here, parts)


@pk.workunit
def move_all(
    i: int,
    lazy: int,
    count: int,
    here: int,
    vertices: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    parts: Parts,
):
    """Move vertices to parts, one after another."""
    begin_level(lazy, here, parts)
    for j in range(count):
        v: int = vertices[j]
        if parts.sides[v] != targets[j]:
            if parts.internal[v] == UNREAD:
                read_slots(v, parts.numbers[here + Field.PARTS_BEGIN], parts)
            move_vertex(v, targets[j], 0, here, parts)


@pk.workunit
def judge(
    i: int,
    counts: pk.View1D[pk.int64],
    totals: pk.View1D[pk.int64],
    squares: pk.View1D[pk.int64],
    answers: pk.View1D[pk.int64],
):
    """Answer whether moves are hopeless."""
    answers[i] = 0
    if is_hopeless(counts[i], totals[i], squares[i]):
        answers[i] = 1


@pk.workunit
def round_gain(i: int, gain: pk.int64, unit: pk.int64, answers: pk.View1D[pk.int64]):
    """Answer a gain in units."""
    answers[0] = in_units(gain, unit)


@pk.workunit
def bisect_level(
    i: int,
    tries: int,
    growings: int,
    seed: int,
    waiting: int,
    sums: int,
    here: int,
    inner: int,
    state: Bisections,
):
    """Partition a level by recursive bisection."""
    bisect_recursively(tries, growings, seed, waiting, sums, here, inner, state)


@pk.workunit
def copy_range(i: int, low: int, high: int, middle: int, here: int, inner: int, state: Bisections):
    """Copy the graph of the vertices at low..high - 1 of the order."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    for v in range(begin, end):
        state.positions[v] = NO_VERTEX
    entry: int = state.rows[end]
    copy_node(low, high, middle, end + 1, entry, inner, state)


@pk.workunit
def fill_one(i: int, side: int, least: int, inner: int, state: Bisections):
    """Fill a side."""
    fill_side(side, least, inner, state)


@pk.workunit
def divide_one(
    i: int, low: int, high: int, first: int, answers: pk.View1D[pk.int64], state: Bisections
):
    """Sort a range of the order by the sides of its copy; the answer is the boundary."""
    answers[0] = divide_order(low, high, first, state)


@pk.workunit
def flow_pairs(
    i: int,
    lazy: int,
    hops: int,
    arc: int,
    row: int,
    here: int,
    level: Graph,
    pairs: Pairs,
    trees: Trees,
    parts: Parts,
):
    """Improve the cuts of all pairs of parts."""
    begin_level(lazy, here, parts)
    improve_pairs(hops, arc, row, level, pairs, trees, here, parts)


@pk.workunit
def flow_between(
    i: int,
    a: int,
    b: int,
    lazy: int,
    hops: int,
    arc: int,
    row: int,
    here: int,
    answers: pk.View1D[pk.int64],
    level: Graph,
    pairs: Pairs,
    trees: Trees,
    parts: Parts,
):
    """Improve the cut of a pair of parts; the answer is whether it has changed."""
    begin_level(lazy, here, parts)
    borders: int = list_borders(here, parts)
    answers[0] = 0
    if improve_two_parts(a, b, borders, hops, arc, row, level, pairs, trees, here, parts):
        answers[0] = 1


@pk.workunit
def match_once(i: int, heaviest: int, by_weight: int, seed: int, here: int, levels: Levels):
    """Match the vertices of a level."""
    match_level(heaviest, by_weight == 1, seed, here, levels)


@pk.workunit
def load_once(
    i: int, worker: int, task: int, room: int, here: int, graph: Graph, work: Work, levels: Levels
):
    """Load the graph of a task."""
    load_graph(worker, task, room, here, graph, work, levels)


@pk.workunit
def mark_all(i: int, here: int, state: Bisections):
    """Mark the communities of a graph."""
    mark_communities(here, state)
