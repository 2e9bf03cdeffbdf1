"""Maximum flows: one index for each network.

Two trees of arcs that are not full grow from the sources and from the sinks. Where they meet, flow
is sent along the path; nodes that this cuts off, orphans, look for another parent in their tree.
When neither tree can grow, the flow is maximal, and the trees have all nodes that the sources
reach and all that reach the sinks: with the same terminals always the same.
Source: Boykov, Kolmogorov, "An experimental comparison of min-cut/max-flow algorithms for energy
minimization in vision", IEEE Transactions on Pattern Analysis and Machine Intelligence 26 (2004).
"""

import pykokkos as pk

from jetpy.workloads.common.groups import INT32_MAX
from jetpy.workloads.flows.flow_networks import Arcs, Side, end_of
from jetpy.workloads.flows.regions import Pair, Pairs

NONE = -1
"""In place of a node or an arc."""
ROOT = -2
"""Parent of a source or a sink."""
NOT_WAITING = -1
LAST_WAITING = -2


class Trees(Arcs):
    """The trees of all networks, by node."""

    sides: pk.View1D[pk.int32]  # which tree a node is in, by Side
    settled: pk.View1D[pk.int32]  # which one when the flow was last maximal, terminals since
    parents: pk.View1D[pk.int32]  # the arc to its parent; ROOT, NONE
    distances: pk.View1D[pk.int32]  # about how far it is from its root
    checked: pk.View1D[pk.int32]  # the path at which that was found
    waiting: pk.View1D[pk.int32]  # the next active node; LAST_WAITING, NOT_WAITING
    orphans: pk.View1D[pk.int32]  # a stack


@pk.function
def begin_flow(row: int, pairs: Pairs, trees: Trees):
    """Begin without any flow: a source and a sink are the trees."""
    begin: int = pairs.rows[row + Pair.NODE]
    for node in range(begin, end_of(row, pairs)):
        trees.sides[node] = Side.NEITHER
        trees.parents[node] = NONE
        trees.checked[node] = 0
        trees.waiting[node] = NOT_WAITING
    pairs.rows[row + Pair.FLOW] = 0
    pairs.rows[row + Pair.PATHS] = 0
    pairs.rows[row + Pair.ORPHANS] = begin
    pairs.rows[row + Pair.FIRST_ACTIVE] = NONE
    add_terminal(begin, Side.SOURCE, row, pairs, trees)
    add_terminal(begin + 1, Side.SINK, row, pairs, trees)


@pk.function
def put_first(node: int, row: int, pairs: Pairs, trees: Trees):
    """Make a node the first active one: its tree will grow from its first arc on."""
    pairs.rows[row + Pair.FIRST_ACTIVE] = node
    pairs.rows[row + Pair.NEXT_ARC] = trees.rows[node]


@pk.function
def activate(node: int, row: int, pairs: Pairs, trees: Trees):
    """Let a node wait until its tree grows from there; if it grows already, it starts again."""
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
    """Let the first active node wait no longer."""
    node: int = pairs.rows[row + Pair.FIRST_ACTIVE]
    if trees.waiting[node] == LAST_WAITING:
        pairs.rows[row + Pair.FIRST_ACTIVE] = NONE
    else:
        put_first(trees.waiting[node], row, pairs, trees)
    trees.waiting[node] = NOT_WAITING


@pk.function
def room_away(arc: int, side: int, trees: Trees) -> int:
    """Return what flow an arc takes that leads away from a node of a tree."""
    if side == Side.SOURCE:
        return trees.capacities[arc]
    return trees.capacities[trees.twins[arc]]


@pk.function
def become_child(arc: int, node: int, trees: Trees):
    """Make a child of the node that an arc of another leads to."""
    head: int = trees.heads[arc]
    trees.parents[head] = trees.twins[arc]
    trees.checked[head] = trees.checked[node]
    trees.distances[head] = trees.distances[node] + 1


@pk.function
def grow_from(node: int, row: int, pairs: Pairs, trees: Trees) -> int:
    """Let a tree take what the first active node leads to; return an arc to the other tree."""
    side: int = trees.sides[node]
    begin: int = pairs.rows[row + Pair.NEXT_ARC]
    for arc in range(begin, trees.rows[node + 1]):
        if room_away(arc, side, trees) > 0:
            head: int = trees.heads[arc]
            if trees.sides[head] == Side.NEITHER:
                trees.sides[head] = side
                become_child(arc, node, trees)
                activate(head, row, pairs, trees)
            elif trees.sides[head] != side:
                pairs.rows[row + Pair.NEXT_ARC] = arc
                return arc
            elif (
                trees.checked[head] <= trees.checked[node]
                and trees.distances[head] > trees.distances[node]
            ):
                become_child(arc, node, trees)
    return NONE


@pk.function
def find_path(row: int, pairs: Pairs, trees: Trees) -> int:
    """Let the trees grow until they meet; return the arc from the one of the sources, or `NONE`."""
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
    """Return what flow the path between a node and its root takes."""
    amount: int = INT32_MAX
    arc: int = trees.parents[node]
    while arc != ROOT:
        room: int = room_away(trees.twins[arc], trees.sides[node], trees)
        if room < amount:
            amount = room
        arc = trees.parents[trees.heads[arc]]
    return amount


@pk.function
def leave_parent(node: int, row: int, pairs: Pairs, trees: Trees):
    """Make an orphan of a node."""
    trees.parents[node] = NONE
    trees.orphans[pairs.rows[row + Pair.ORPHANS]] = node
    pairs.rows[row + Pair.ORPHANS] += 1


@pk.function
def push_to(start: int, amount: int, row: int, pairs: Pairs, trees: Trees):
    """Send flow along the path between a node and its root; nodes behind full arcs are orphans."""
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
    """Send along a path what it takes, given the arc between the trees."""
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
def distance_to_root(start: int, path: int, trees: Trees) -> int:
    """Return how far a node is from its root, or `NONE` if it has none; remember that on the way.

    What was found since the last path still holds.
    """
    distance: int = 0
    node: int = start
    while trees.checked[node] != path:
        if trees.parents[node] == NONE:
            return NONE
        if trees.parents[node] == ROOT:
            trees.checked[node] = path
            trees.distances[node] = 0
        else:
            distance += 1
            node = trees.heads[trees.parents[node]]
    distance += trees.distances[node]
    node = start
    left: int = distance
    while trees.checked[node] != path:
        trees.checked[node] = path
        trees.distances[node] = left
        left -= 1
        node = trees.heads[trees.parents[node]]
    return distance


@pk.function
def find_parent(node: int, path: int, trees: Trees) -> bool:
    """Give an orphan the parent that is nearest to a root; return whether there is one."""
    side: int = trees.sides[node]
    nearest: int = INT32_MAX
    parent: int = NONE
    for arc in range(trees.rows[node], trees.rows[node + 1]):
        head: int = trees.heads[arc]
        if trees.sides[head] == side and room_away(trees.twins[arc], side, trees) > 0:
            distance: int = distance_to_root(head, path, trees)
            if distance != NONE and distance < nearest:
                nearest = distance
                parent = arc
    if parent == NONE:
        return False
    trees.parents[node] = parent
    trees.checked[node] = path
    trees.distances[node] = nearest + 1
    return True


@pk.function
def leave_children(node: int, row: int, pairs: Pairs, trees: Trees):
    """Make orphans of the children of a node that leaves its tree; others may reach it again."""
    side: int = trees.sides[node]
    for arc in range(trees.rows[node], trees.rows[node + 1]):
        head: int = trees.heads[arc]
        if trees.sides[head] == side:
            if room_away(trees.twins[arc], side, trees) > 0:
                activate(head, row, pairs, trees)
            if trees.parents[head] == trees.twins[arc]:
                leave_parent(head, row, pairs, trees)
    trees.sides[node] = Side.NEITHER


@pk.function
def adopt_orphans(row: int, pairs: Pairs, trees: Trees):
    """Find a parent for every orphan; those without leave their tree."""
    pairs.rows[row + Pair.PATHS] += 1
    path: int = pairs.rows[row + Pair.PATHS]
    while pairs.rows[row + Pair.ORPHANS] > pairs.rows[row + Pair.NODE]:
        pairs.rows[row + Pair.ORPHANS] -= 1
        node: int = trees.orphans[pairs.rows[row + Pair.ORPHANS]]
        if not find_parent(node, path, trees):
            leave_children(node, row, pairs, trees)


@pk.function
def add_terminal(node: int, side: int, row: int, pairs: Pairs, trees: Trees):
    """Make a node a source or a sink."""
    if trees.sides[node] != Side.NEITHER and trees.sides[node] != side:
        trees.parents[node] = NONE
        leave_children(node, row, pairs, trees)
        adopt_orphans(row, pairs, trees)
    trees.sides[node] = side
    trees.parents[node] = ROOT
    trees.distances[node] = 0
    activate(node, row, pairs, trees)


@pk.function
def maximise_flow(row: int, pairs: Pairs, trees: Trees) -> bool:
    """Make a flow maximal; return False, and stop, if it gets as large as the cut is now."""
    joint: int = find_path(row, pairs, trees)
    while joint != NONE:
        push(joint, row, pairs, trees)
        if pairs.rows[row + Pair.FLOW] >= pairs.rows[row + Pair.CUT]:
            return False
        adopt_orphans(row, pairs, trees)
        joint = find_path(row, pairs, trees)
    return True
