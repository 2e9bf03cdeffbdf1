"""Maximum flows by augmenting paths, one index per network.

Boykov, Kolmogorov, "An experimental comparison of min-cut/max-flow algorithms for energy
minimization in vision", IEEE Transactions on Pattern Analysis and Machine Intelligence 26 (2004).
Two trees of unsaturated arcs grow from the sources and from the sinks. If they meet, flow is sent
along the path. Nodes that this cuts off (orphans) search for another parent in their tree. If
neither tree can grow, the flow is maximal. The trees then contain exactly the nodes that the
sources reach and the nodes that reach the sinks, so they depend only on the terminals.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import INT32_MAX
from jetpy.workloads.flows.flow_networks import Arcs, Side, end_of
from jetpy.workloads.flows.regions import Pair, Pairs

NONE = -1
"""Stands for a missing node or arc."""
ROOT = -2
"""Parent of a terminal."""
NOT_WAITING = -1
LAST_WAITING = -2


class Trees(Arcs):
    """The search trees of all networks, by node."""

    sides: pk.View1D[pk.int32]  # the tree of each node, by Side
    marks: pk.View1D[pk.int32]  # HELD, CHOSEN, and the sides in whose frontier the node is (`flow_cuts`)
    frontiers: pk.View1D[pk.int32]  # nodes next to the terminals, two lists for each network
    parents: pk.View1D[pk.int32]  # the arc to the parent; ROOT, NONE
    labels: pk.View1D[pk.int32]  # 0 at roots, otherwise above the label of the parent
    current: pk.View1D[pk.int32]  # arcs before it lead to no parent with a lower label
    waiting: pk.View1D[pk.int32]  # next active node of the queue; LAST_WAITING, NOT_WAITING
    orphans: pk.View1D[pk.int32]  # a stack


@pk.function
def change_side(node: int, side: int, row: int, pairs: Pairs, trees: Trees):
    """Put a node in a tree, or in neither; keep the weights that the two minimum cuts would move.
    """
    weight: int = trees.node_weights[node]
    if trees.sides[node] == Side.SOURCE:
        pairs.rows[row + Pair.NEARER] += weight
    if trees.sides[node] == Side.SINK:
        pairs.rows[row + Pair.FARTHER] -= weight
    if side == Side.SOURCE:
        pairs.rows[row + Pair.NEARER] -= weight
    if side == Side.SINK:
        pairs.rows[row + Pair.FARTHER] += weight
    trees.sides[node] = side


@pk.function
def begin_flow(row: int, pairs: Pairs, trees: Trees):
    """Begin with zero flow: the trees are the source and the sink."""
    begin: int = pairs.rows[row + Pair.NODE]
    for node in range(begin, end_of(row, pairs)):
        trees.sides[node] = Side.NEITHER
        trees.parents[node] = NONE
        trees.labels[node] = 0
        trees.marks[node] = 0
        trees.waiting[node] = NOT_WAITING
    pairs.rows[row + Pair.FLOW] = 0
    pairs.rows[row + Pair.DEPTH] = 0
    pairs.rows[row + Pair.ORPHANS] = begin
    pairs.rows[row + Pair.FIRST_ACTIVE] = NONE
    add_terminal(begin, Side.SOURCE, row, pairs, trees)
    add_terminal(begin + 1, Side.SINK, row, pairs, trees)


@pk.function
def put_first(node: int, row: int, pairs: Pairs, trees: Trees):
    """Make a node the head of the queue; its tree grows from its first arc on."""
    pairs.rows[row + Pair.FIRST_ACTIVE] = node
    pairs.rows[row + Pair.NEXT_ARC] = trees.rows[node]


@pk.function
def activate(node: int, row: int, pairs: Pairs, trees: Trees):
    """Append a node to the queue of active nodes; if it is the head, its growth starts again."""
    if pairs.rows[row + Pair.FIRST_ACTIVE] == node:
        put_first(node, row, pairs, trees)
    if trees.waiting[node] != NOT_WAITING:
        return
    trees.waiting[node] = LAST_WAITING
    if pairs.rows[row + Pair.FIRST_ACTIVE] == NONE:
        put_first(node, row, pairs, trees)
    else:
        trees.waiting[pairs.rows[row + Pair.LAST_ACTIVE]] = node
    pairs.rows[row + Pair.LAST_ACTIVE] = node


@pk.function
def drop_active(row: int, pairs: Pairs, trees: Trees):
    """Remove the head of the queue of active nodes."""
    node: int = pairs.rows[row + Pair.FIRST_ACTIVE]
    if trees.waiting[node] == LAST_WAITING:
        pairs.rows[row + Pair.FIRST_ACTIVE] = NONE
    else:
        put_first(trees.waiting[node], row, pairs, trees)
    trees.waiting[node] = NOT_WAITING


@pk.function
def room_away(arc: int, side: int, trees: Trees) -> int:
    """Return the residual capacity of an arc away from the root of a node of a tree."""
    if side == Side.SOURCE:
        return trees.capacities[arc]
    return trees.capacities[trees.twins[arc]]


@pk.function
def become_child(arc: int, node: int, row: int, pairs: Pairs, trees: Trees):
    """Make the head of an arc of `node` a child of `node`."""
    head: int = trees.heads[arc]
    trees.parents[head] = trees.twins[arc]
    trees.current[head] = trees.rows[head]
    trees.labels[head] = trees.labels[node] + 1
    if pairs.rows[row + Pair.DEPTH] < trees.labels[head]:
        pairs.rows[row + Pair.DEPTH] = trees.labels[head]


@pk.function
def grow_from(node: int, row: int, pairs: Pairs, trees: Trees) -> int:
    """Grow a tree from the first active node, and return an arc to the other tree, or `NONE`."""
    side: int = trees.sides[node]
    begin: int = pairs.rows[row + Pair.NEXT_ARC]
    for arc in range(begin, trees.rows[node + 1]):
        if room_away(arc, side, trees) > 0:
            head: int = trees.heads[arc]
            if trees.sides[head] == Side.NEITHER:
                change_side(head, side, row, pairs, trees)
                become_child(arc, node, row, pairs, trees)
                activate(head, row, pairs, trees)
            elif trees.sides[head] != side:
                pairs.rows[row + Pair.NEXT_ARC] = arc
                return arc
            elif trees.labels[head] > trees.labels[node] + 1:
                become_child(arc, node, row, pairs, trees)
    return NONE


@pk.function
def find_path(row: int, pairs: Pairs, trees: Trees) -> int:
    """Grow the trees until they meet; return the arc from source tree to sink tree, or `NONE`."""
    while pairs.rows[row + Pair.FIRST_ACTIVE] != NONE:
        node: int = pairs.rows[row + Pair.FIRST_ACTIVE]
        if trees.sides[node] != Side.NEITHER:
            arc: int = grow_from(node, row, pairs, trees)
            if arc != NONE:
                if trees.sides[node] == Side.SOURCE:
                    return arc
                return trees.twins[arc]
        drop_active(row, pairs, trees)
    return NONE


@pk.function
def min_room(node: int, trees: Trees) -> int:
    """Return the bottleneck capacity of the path between a node and its root."""
    amount: int = INT32_MAX
    arc: int = trees.parents[node]
    while arc != ROOT and amount > 1:
        room: int = room_away(trees.twins[arc], trees.sides[node], trees)
        if room < amount:
            amount = room
        arc = trees.parents[trees.heads[arc]]
    return amount


@pk.function
def leave_parent(node: int, row: int, pairs: Pairs, trees: Trees):
    """Make a node an orphan."""
    trees.parents[node] = NONE
    trees.orphans[pairs.rows[row + Pair.ORPHANS]] = node
    pairs.rows[row + Pair.ORPHANS] += 1


@pk.function
def push_to(start: int, amount: int, row: int, pairs: Pairs, trees: Trees):
    """Send flow along the path between a node and its root; saturated arcs leave orphans."""
    node: int = start
    arc: int = trees.parents[node]
    while arc != ROOT:
        parent: int = trees.heads[arc]
        forth: int = arc
        if trees.sides[node] == Side.SOURCE:
            forth = trees.twins[arc]
        trees.capacities[forth] -= amount
        trees.capacities[trees.twins[forth]] += amount
        if trees.capacities[forth] == 0:
            leave_parent(node, row, pairs, trees)
        node = parent
        arc = trees.parents[node]


@pk.function
def push(joint: int, row: int, pairs: Pairs, trees: Trees):
    """Augment the flow along the path through `joint`, the arc between the trees."""
    tail: int = trees.heads[trees.twins[joint]]
    head: int = trees.heads[joint]
    amount: int = trees.capacities[joint]
    from_source: int = min_room(tail, trees)
    to_sink: int = min_room(head, trees)
    if from_source < amount:
        amount = from_source
    if to_sink < amount:
        amount = to_sink
    trees.capacities[joint] -= amount
    trees.capacities[trees.twins[joint]] += amount
    push_to(tail, amount, row, pairs, trees)
    push_to(head, amount, row, pairs, trees)
    pairs.rows[row + Pair.FLOW] += amount


@pk.function
def is_parent(arc: int, side: int, trees: Trees) -> bool:
    """Whether the head of an orphan's arc can be its parent; an orphan or a child cannot."""
    head: int = trees.heads[arc]
    return (
        trees.sides[head] == side
        and trees.parents[head] != NONE
        and trees.parents[head] != trees.twins[arc]
        and room_away(trees.twins[arc], side, trees) > 0
    )


@pk.function
def find_parent(node: int, row: int, pairs: Pairs, trees: Trees) -> bool:
    """Give an orphan a parent with a lower label, or raise its label; return False without parent.
    """
    side: int = trees.sides[node]
    for arc in range(trees.current[node], trees.rows[node + 1]):
        head: int = trees.heads[arc]
        if trees.labels[head] < trees.labels[node] and is_parent(arc, side, trees):
            trees.parents[node] = arc
            trees.current[node] = arc
            return True
    lowest: int = trees.labels[node] + 1
    parent: int = NONE
    for arc in range(trees.rows[node], trees.rows[node + 1]):
        if trees.labels[trees.heads[arc]] < lowest and is_parent(arc, side, trees):
            lowest = trees.labels[trees.heads[arc]]
            parent = arc
    if parent == NONE:
        return False
    if lowest >= trees.labels[node]:
        leave_all_children(node, row, pairs, trees)
    trees.labels[node] = lowest + 1
    trees.parents[node] = parent
    trees.current[node] = parent
    return True


@pk.function
def leave_all_children(node: int, row: int, pairs: Pairs, trees: Trees):
    """Make the children of a node orphans."""
    for arc in range(trees.rows[node], trees.rows[node + 1]):
        if trees.parents[trees.heads[arc]] == trees.twins[arc]:
            leave_parent(trees.heads[arc], row, pairs, trees)


@pk.function
def leave_children(node: int, row: int, pairs: Pairs, trees: Trees):
    """Remove a node from its tree: its children become orphans, neighbours that reach it active."""
    side: int = trees.sides[node]
    for arc in range(trees.rows[node], trees.rows[node + 1]):
        head: int = trees.heads[arc]
        if trees.sides[head] == side:
            if room_away(trees.twins[arc], side, trees) > 0:
                activate(head, row, pairs, trees)
            if trees.parents[head] == trees.twins[arc]:
                leave_parent(head, row, pairs, trees)
    change_side(node, Side.NEITHER, row, pairs, trees)


@pk.function
def adopt_orphans(row: int, pairs: Pairs, trees: Trees):
    """Find a parent for every orphan; an orphan without one leaves its tree."""
    while pairs.rows[row + Pair.ORPHANS] > pairs.rows[row + Pair.NODE]:
        pairs.rows[row + Pair.ORPHANS] -= 1
        node: int = trees.orphans[pairs.rows[row + Pair.ORPHANS]]
        if not find_parent(node, row, pairs, trees):
            leave_children(node, row, pairs, trees)


@pk.function
def add_terminal(node: int, side: int, row: int, pairs: Pairs, trees: Trees):
    """Make a node a source or a sink."""
    if trees.sides[node] != Side.NEITHER and trees.sides[node] != side:
        trees.parents[node] = NONE
        leave_children(node, row, pairs, trees)
        adopt_orphans(row, pairs, trees)
    change_side(node, side, row, pairs, trees)
    trees.parents[node] = ROOT
    trees.labels[node] = 0
    activate(node, row, pairs, trees)


@pk.function
def maximise_flow(row: int, pairs: Pairs, trees: Trees) -> bool:
    """Augment until the flow is maximal; stop and return False once it reaches the present cut."""
    joint: int = find_path(row, pairs, trees)
    while joint != NONE:
        push(joint, row, pairs, trees)
        if pairs.rows[row + Pair.FLOW] >= pairs.rows[row + Pair.CUT]:
            return False
        adopt_orphans(row, pairs, trees)
        joint = find_path(row, pairs, trees)
    return True
