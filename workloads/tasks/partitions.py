"""Partitions of whole graphs, each by one worker (`loading`), without a launch in between.

A graph is coarsened, partitioned by recursive bisection, and refined by k-way passes on each level.
Several tries begin at a middle level, and the best one continues. For few graphs, the nodes of
recursive bisection are shared out: `begin_graphs`, `bisect_nodes` for each depth and `end_graphs`
find the same partitions, with one try and no V-cycles.

Sources: Karypis, Kumar, "Multilevel k-way partitioning scheme for irregular graphs", Journal of
Parallel and Distributed Computing 48 (1998). V-cycles: Walshaw, "Multilevel refinement for
combinatorial optimisation problems", Annals of Operations Research 131 (2004).
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import NO_VERTEX, Graph
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import Field, vertices_of
from jetpy.workloads.flows.max_flow import Trees
from jetpy.workloads.flows.regions import Pair, Pairs
from jetpy.workloads.initial.inner_levels import coarsen_to, heaviest_of
from jetpy.workloads.initial.two_way import keep_if_best, restore_best
from jetpy.workloads.tasks.bisections import (
    ENTRY_ROOM,
    PENDING,
    Bisections,
    Node,
    begin_tree,
    bisect_recursively,
    divide_in_tree,
)
from jetpy.workloads.tasks.communities import is_irregular, mark_communities
from jetpy.workloads.tasks.kway import (
    UNREAD,
    excess_of_parts,
    measure_parts,
    read_slots,
    refine_parts,
)
from jetpy.workloads.tasks.loading import Task, Work, load_graph
from jetpy.workloads.tasks.pair_flows import improve_pairs

CYCLE_COARSEST, CYCLE_PER_PART = 60, 15
"""Coarsening in a V-cycle ends at this number of vertices, or of vertices per part."""
ROWS = 2
"""Rows of `numbers` for each worker: one for the graph, one for bisections."""


@dataclass(frozen=True, eq=False)
class Partitions(Work):
    """The graphs that workers partition."""

    pins: pk.View1D[pk.int32]  # by vertex: the part that it must be in, or NO_PART
    part_weights: pk.View1D[pk.int64]  # of the parts that are found
    part_room: int
    node_room: int
    arc_room: int


@dataclass(frozen=True, eq=False)
class Effort:
    """The effort for each graph."""

    coarsest: int  # number of vertices at which coarsening ends, and per part
    per_part: int
    middle: int  # number of vertices at which tries begin, and per part
    middle_per_part: int
    min_tries: int
    max_tries: int
    vertices_per_try: int
    bisections: int  # tries of the last bisections
    growings: int
    communities: int  # number of vertices at which communities are found; 0: never
    cycles: int  # V-cycles
    flow_levels: int  # number of finest levels with flows
    hops: int  # of the regions of flows


@pk.function
def size_for(least: int, per_part: int, k: int) -> int:
    """Return a number of vertices for k parts."""
    if per_part * k > least:
        return per_part * k
    return least


@pk.function
def middle_for(coarsest: int, effort: Effort, k: int) -> int:
    """Return the number of vertices at which tries begin."""
    middle: int = size_for(effort.middle, effort.middle_per_part, k)
    if middle < coarsest:
        return coarsest
    return middle


@pk.function
def load_problem(worker: int, task: int, graph: Graph, work: Partitions, state: Bisections):
    """Load the graph of a task with its pinned vertices, and the number of its parts.

    Only vertices that are pinned to the same part, or to none, are merged.
    """
    here: int = worker * ROWS * Field.COUNT
    load_graph(worker, task, ENTRY_ROOM, here, graph, work, state)
    first: int = state.numbers[here + Field.BEGIN]
    vertex: int = work.tasks[task + Task.VERTEX]
    for v in vertices_of(here, state):
        state.pinned[v] = work.pins[vertex + v - first]
        state.sides[v] = state.pinned[v]
    state.numbers[here + Field.PARTS_BEGIN] = worker * work.part_room
    state.numbers[here + Field.PARTS] = work.tasks[task + Task.PARTS]


@pk.function
def limit_parts(sums: int, here: int, state: Bisections):
    """Let parts of a coarse level exceed their limits by a mean vertex."""
    base: int = state.numbers[here + Field.PARTS_BEGIN]
    more: pk.int64 = 0
    if state.numbers[here + Field.LEVELS] > 0:
        n: pk.int64 = state.numbers[here + Field.END] - state.numbers[here + Field.BEGIN]
        more = state.numbers[here + Field.TOTAL] // n
    k: int = state.numbers[here + Field.PARTS]
    for p in range(k):
        state.most[base + p] = state.rooms[sums + p + 1] - state.rooms[sums + p] + more
        state.least[base + p] = state.floors[sums + p + 1] - state.floors[sums + p] - more


@pk.function
def project_parts(here: int, state: Bisections):
    """Switch to the next finer level: its vertices get the parts of their coarse vertices."""
    level: int = state.numbers[here + Field.LEVELS] - 1
    begin: int = state.numbers[here + Field.LEVEL_BEGINS + level]
    end: int = state.numbers[here + Field.LEVEL_BEGINS + level + 1] - 1
    base: int = state.numbers[here + Field.PARTS_BEGIN]
    k: int = state.numbers[here + Field.PARTS]
    for p in range(base, base + k):
        state.part_sizes[p] = 0
        state.marks[p] = NO_VERTEX
    for v in range(begin, end):
        c: int = state.coarse_of[v]
        state.sides[v] = state.sides[c]
        state.part_sizes[base + state.sides[c]] += 1
    for v in range(begin, end):
        state.internal[v] = UNREAD
        if state.slots[state.coarse_of[v]] > 0:
            read_slots(v, base, state)
        else:
            state.slots[v] = 0
    state.numbers[here + Field.LEVELS] = level
    state.numbers[here + Field.BEGIN] = begin
    state.numbers[here + Field.END] = end


@pk.function
def refine_up_to(level: int, sums: int, here: int, state: Bisections):
    """Refine the current level, and all finer ones up to a level."""
    measure_parts(here, state)
    limit_parts(sums, here, state)
    refine_parts(here, state)
    while state.numbers[here + Field.LEVELS] > level:
        project_parts(here, state)
        limit_parts(sums, here, state)
        refine_parts(here, state)


@pk.function
def refine_with_flows(
    worker: int,
    sums: int,
    here: int,
    effort: Effort,
    work: Partitions,
    level: Graph,
    pairs: Pairs,
    trees: Trees,
    state: Bisections,
):
    """Run flows on the current level if it is fine enough, and refine all finer levels likewise."""
    row: int = worker * Pair.COUNT
    arc: int = worker * work.arc_room
    pairs.rows[row + Pair.NODE] = worker * work.node_room
    limit_parts(sums, here, state)
    while True:
        is_fine: bool = state.numbers[here + Field.LEVELS] < effort.flow_levels
        if is_fine and excess_of_parts(here, state) == 0:
            improve_pairs(effort.hops, arc, row, level, pairs, trees, here, state)
        if state.numbers[here + Field.LEVELS] == 0:
            break
        project_parts(here, state)
        limit_parts(sums, here, state)
        refine_parts(here, state)


@pk.function
def tries_for(n: int, effort: Effort) -> int:
    """Return the number of tries for a graph of n vertices.

    Tries cost less of the time of larger graphs, because they all begin at a middle level.
    """
    tries: int = n // effort.vertices_per_try
    if tries > effort.max_tries:
        tries = effort.max_tries
    if tries < effort.min_tries:
        tries = effort.min_tries
    return tries


@pk.function
def begin_try(number: int, coarsest: int, here: int, state: Bisections):
    """Coarsen the level at which tries begin to the coarsest one of a try."""
    own: pk.uint32 = mix(state.numbers[here + Field.SEED] + number)
    state.numbers[here + Field.SEED] = own
    for v in vertices_of(here, state):
        state.sides[v] = state.pinned[v]
    heaviest: int = heaviest_of(state.numbers[here + Field.TOTAL], coarsest)
    coarsen_to(coarsest, heaviest, False, here, state)


@pk.function
def find_best_try(
    tries: int,
    coarsest: int,
    waiting: int,
    sums: int,
    here: int,
    effort: Effort,
    state: Bisections,
):
    """Partition the current level several times by coarser levels, and keep the best partition.

    It has the smallest excess, then the smallest cut, then the lowest index.
    """
    level: int = state.numbers[here + Field.LEVELS]
    seed: pk.uint32 = state.numbers[here + Field.SEED]
    inner: int = here + Field.COUNT
    for number in range(tries):
        state.numbers[here + Field.SEED] = seed
        begin_try(number, coarsest, here, state)
        own: pk.uint32 = state.numbers[here + Field.SEED]
        bisect_recursively(
            effort.bisections, effort.growings, own, waiting, sums, here, inner, state
        )
        refine_up_to(level, sums, here, state)
        excess: pk.int64 = excess_of_parts(here, state)
        cut: pk.int64 = state.numbers[here + Field.CUT]
        keep_if_best(number, excess, cut, 0, Field.BEST_TRY, here, state, state.best)
    if tries > 1:
        restore_best(here, state, state.best)
        measure_parts(here, state)


@pk.function
def run_cycle(number: int, level: int, sums: int, here: int, state: Bisections):
    """Coarsen a level without merging vertices of different parts, and refine up to it again."""
    seed: pk.uint32 = state.numbers[here + Field.SEED]
    state.numbers[here + Field.SEED] = mix(seed + number)
    coarsest: int = size_for(CYCLE_COARSEST, CYCLE_PER_PART, state.numbers[here + Field.PARTS])
    heaviest: int = heaviest_of(state.numbers[here + Field.TOTAL], coarsest)
    coarsen_to(coarsest, heaviest, False, here, state)
    refine_up_to(level, sums, here, state)


@pk.function
def partition_graph(
    worker: int,
    sums: int,
    here: int,
    effort: Effort,
    work: Partitions,
    level: Graph,
    pairs: Pairs,
    trees: Trees,
    state: Bisections,
):
    """Partition the graph of a worker.

    V-cycles start at the level at which tries begin. Matchings of irregular graphs merge vertices
    that should be apart. So these are coarsened within communities up to this level, and V-cycles
    start at the finest level.
    """
    k: int = state.numbers[here + Field.PARTS]
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    tries: int = tries_for(end - begin, effort)
    coarsest: int = size_for(effort.coarsest, effort.per_part, k)
    middle: int = middle_for(coarsest, effort, k)
    heaviest: int = heaviest_of(state.numbers[here + Field.TOTAL], coarsest)
    has_hubs: bool = is_irregular(here, state)
    if has_hubs and k > 2 and end - begin > middle and effort.communities > middle:
        coarsen_to(effort.communities, heaviest, False, here, state)
        mark_communities(here, state)
    coarsen_to(middle, heaviest, False, here, state)
    cycled: int = state.numbers[here + Field.LEVELS]
    find_best_try(tries, coarsest, worker * PENDING, sums, here, effort, state)
    if effort.cycles > 0 and has_hubs and cycled > 0:
        cycled = 0
        refine_up_to(cycled, sums, here, state)
    for number in range(effort.cycles):
        run_cycle(number, cycled, sums, here, state)
    refine_with_flows(worker, sums, here, effort, work, level, pairs, trees, state)


@pk.function
def lack_of_parts(here: int, state: Bisections) -> pk.int64:
    """Return the sum of what parts weigh below their smallest weight."""
    base: int = state.numbers[here + Field.PARTS_BEGIN]
    k: int = state.numbers[here + Field.PARTS]
    lack: pk.int64 = 0
    for p in range(base, base + k):
        if state.part_weights[p] < state.least[p]:
            lack += state.least[p] - state.part_weights[p]
    return lack


@pk.function
def report(task: int, here: int, work: Partitions, state: Bisections):
    """Write the partition of a task and its measures."""
    place: int = work.tasks[task + Task.PLACE]
    first: int = state.numbers[here + Field.BEGIN]
    for v in vertices_of(here, state):
        work.found[place + v - first] = state.sides[v]
    base: int = state.numbers[here + Field.PARTS_BEGIN]
    part: int = work.tasks[task + Task.PART_PLACE]
    k: int = state.numbers[here + Field.PARTS]
    empty: int = 0
    for p in range(k):
        work.part_weights[part + p] = state.part_weights[base + p]
        if state.part_sizes[base + p] == 0:
            empty += 1
    excess: pk.int64 = excess_of_parts(here, state) + lack_of_parts(here, state)
    work.tasks[task + Task.CUT] = state.numbers[here + Field.CUT]
    work.tasks[task + Task.EXCESS] = excess
    work.tasks[task + Task.EMPTY] = empty


@pk.workunit
def partition_graphs(
    worker: int,
    graph: Graph,
    work: Partitions,
    effort: Effort,
    level: Graph,
    pairs: Pairs,
    trees: Trees,
    state: Bisections,
):
    """Partition graphs, one after another, until no task is left.

    `graph` has the arrays of all graphs one after another; vertices and offsets of each count from
    its own first one.
    """
    here: int = worker * ROWS * Field.COUNT
    turn: int = pk.atomic_fetch_add(work.turns, [0], 1)
    while turn < work.count:
        task: int = turn * Task.COUNT
        sums: int = work.tasks[task + Task.PART]
        load_problem(worker, task, graph, work, state)
        partition_graph(worker, sums, here, effort, work, level, pairs, trees, state)
        report(task, here, work, state)
        turn = pk.atomic_fetch_add(work.turns, [0], 1)


@pk.workunit
def begin_graphs(
    worker: int, graph: Graph, work: Partitions, effort: Effort, nodes_each: int, state: Bisections
):
    """Coarsen the graph of a worker, and begin its tree, which has room for `nodes_each` nodes."""
    here: int = worker * ROWS * Field.COUNT
    load_problem(worker, worker * Task.COUNT, graph, work, state)
    k: int = state.numbers[here + Field.PARTS]
    coarsest: int = size_for(effort.coarsest, effort.per_part, k)
    middle: int = middle_for(coarsest, effort, k)
    heaviest: int = heaviest_of(state.numbers[here + Field.TOTAL], coarsest)
    coarsen_to(middle, heaviest, False, here, state)
    state.numbers[here + Field.MIDDLE] = state.numbers[here + Field.LEVELS]
    begin_try(0, coarsest, here, state)
    begin_tree((worker * nodes_each + 1) * Node.COUNT, here, state)


@pk.workunit
def bisect_nodes(
    i: int, depth: int, work: Partitions, effort: Effort, nodes_each: int, state: Bisections
):
    """Bisect a node of a depth of the tree of a worker; node j has the halves 2 j and 2 j + 1."""
    worker: int = i >> depth
    node: int = i - (worker << depth) + (1 << depth)
    here: int = worker * ROWS * Field.COUNT
    inner: int = (work.count * ROWS + i) * Field.COUNT
    sums: int = work.tasks[worker * Task.COUNT + Task.PART]
    seed: pk.uint32 = state.numbers[here + Field.SEED]
    place: int = (worker * nodes_each + node) * Node.COUNT
    lower: int = (worker * nodes_each + 2 * node) * Node.COUNT
    divide_in_tree(place, lower, effort.bisections, effort.growings, seed, sums, here, inner, state)


@pk.workunit
def end_graphs(
    worker: int,
    work: Partitions,
    effort: Effort,
    level: Graph,
    pairs: Pairs,
    trees: Trees,
    state: Bisections,
):
    """Refine the partition of the coarsest level of a worker on all levels."""
    here: int = worker * ROWS * Field.COUNT
    task: int = worker * Task.COUNT
    sums: int = work.tasks[task + Task.PART]
    refine_up_to(state.numbers[here + Field.MIDDLE], sums, here, state)
    refine_with_flows(worker, sums, here, effort, work, level, pairs, trees, state)
    report(task, here, work, state)
