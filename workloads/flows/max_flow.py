"""Maximum flows by augmenting paths, one index per network.

Goldberg, Hed, Kaplan, Tarjan, Werneck, "Maximum flows by incremental breadth-first search", ESA
2011. A tree of unsaturated arcs grows from the sources and another one from the sinks, by turns, a
level at a time. If they meet, flow is sent along the path. Nodes that this cuts off (orphans)
search for another parent in their tree, as near to the root as possible. If neither tree can grow,
the flow is maximal. The trees then contain exactly the nodes that the sources reach and the nodes
that reach the sinks, so they depend only on the terminals.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import INT32_MAX
from jetpy.workloads.flows.flow_networks import Arcs, Side, end_of
from jetpy.workloads.flows.regions import Pair, Regions

NONE = -1
"""Stands for a missing node or arc."""
ROOT = -2
"""Parent of a terminal."""
NOT_WAITING = -1
LAST_WAITING = -2


class Trees(Arcs):
    """The search trees of all networks, by node."""

    sides: pk.View1D[pk.int32]  # the tree of each node, by Side
    marks: pk.View1D[pk.int32]  # HELD, CHOSEN, and the sides in whose frontier the node is
    parents: pk.View1D[pk.int32]  # the arc to the parent; ROOT, NONE
    labels: pk.View1D[pk.int32]  # distance to the root
    current: pk.View1D[pk.int32]  # arcs before it lead to no parent that is nearer to a root
    waiting: pk.View1D[pk.int32]  # by node and side: next active node; LAST_WAITING, NOT_WAITING
    orphans: pk.View1D[pk.int32]  # the next orphan with the same label
    buckets: pk.View1D[pk.int32]  # the first orphan with each label, for each network
    frontiers: pk.View1D[pk.int32]  # nodes next to the terminals, two lists for each network


@pk.function
def set_side(node: int, side: int, row: int, pairs: Regions, trees: Trees):
    """Put a node in a tree or in neither, and update what the two minimum cuts would move."""
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
def begin_flow(row: int, pairs: Regions, trees: Trees):
    """Begin with zero flow: the trees are the source and the sink."""
    begin: int = pairs.rows[row + Pair.NODE]
    for node in range(begin, end_of(row, pairs)):
        trees.sides[node] = Side.NEITHER
        trees.parents[node] = NONE
        trees.labels[node] = 0
        trees.marks[node] = 0
        trees.waiting[2 * node] = NOT_WAITING
        trees.waiting[2 * node + 1] = NOT_WAITING
        trees.buckets[2 * node] = NONE
        trees.buckets[2 * node + 1] = NONE
    pairs.rows[row + Pair.FLOW] = 0
    pairs.rows[row + Pair.ORPHANS] = INT32_MAX
    pairs.rows[row + Pair.ORPHANS_END] = 0
    pairs.rows[row + Pair.GROWING] = Side.NEITHER
    for side in range(2):
        pairs.rows[row + Pair.ACTIVE + side] = NONE
        pairs.rows[row + Pair.NEXT_ACTIVE + side] = NONE
        add_terminal(begin + side, side + 1, row, pairs, trees)


@pk.function
def activate(node: int, side: int, row: int, pairs: Regions, trees: Trees):
    """List a node as active if it is on the last level of its tree, or on the level that grows."""
    place: int = 2 * node + side - 1
    field: int = row + Pair.ACTIVE + side - 1
    if trees.waiting[place] != NOT_WAITING:
        return
    if trees.labels[node] > pairs.rows[row + Pair.LEVELS + side - 1]:
        field = row + Pair.NEXT_ACTIVE + side - 1
    elif trees.labels[node] < pairs.rows[row + Pair.LEVELS + side - 1]:
        return
    trees.waiting[place] = pairs.rows[field]
    if pairs.rows[field] == NONE:
        trees.waiting[place] = LAST_WAITING
    pairs.rows[field] = node


@pk.function
def take_active(side: int, row: int, pairs: Regions, trees: Trees) -> int:
    """Remove a node from the list of active nodes of a side, and return it."""
    field: int = row + Pair.ACTIVE + side - 1
    node: int = pairs.rows[field]
    place: int = 2 * node + side - 1
    pairs.rows[field] = trees.waiting[place]
    if trees.waiting[place] == LAST_WAITING:
        pairs.rows[field] = NONE
    trees.waiting[place] = NOT_WAITING
    return node


@pk.function
def room_away(arc: int, side: int, trees: Trees) -> int:
    """Return the residual capacity of an arc away from the root of a node of a tree."""
    if side == Side.SOURCE:
        return trees.capacities[arc]
    return trees.capacities[trees.twins[arc]]


@pk.function
def room_towards(arc: int, side: int, trees: Trees) -> int:
    """Return the residual capacity of the reverse of an arc in the same sense."""
    if side == Side.SOURCE:
        return trees.capacities[trees.twins[arc]]
    return trees.capacities[arc]


@pk.function
def grow_from(node: int, side: int, row: int, pairs: Regions, trees: Trees) -> bool:
    """Add the neighbours of an active node to its tree, and augment where it meets the other tree.

    Return False once the flow reaches the present cut.
    """
    arc: int = trees.rows[node]
    level: int = trees.labels[node]
    while arc < trees.ends[node]:
        head: int = trees.heads[arc]
        if trees.sides[head] == side or room_away(arc, side, trees) == 0:
            arc += 1
        elif trees.sides[head] == Side.NEITHER:
            set_side(head, side, row, pairs, trees)
            trees.parents[head] = trees.twins[arc]
            trees.current[head] = trees.twins[arc]
            trees.labels[head] = level + 1
            activate(head, side, row, pairs, trees)
            arc += 1
        else:
            if side == Side.SOURCE:
                push(arc, row, pairs, trees)
            else:
                push(trees.twins[arc], row, pairs, trees)
            if pairs.rows[row + Pair.FLOW] >= pairs.rows[row + Pair.CUT]:
                return False
            if trees.sides[node] != side or trees.labels[node] != level:
                return True
    return True


@pk.function
def grow_level(side: int, row: int, pairs: Regions, trees: Trees) -> bool:
    """Grow a tree from its active nodes; return False once the flow reaches the present cut."""
    pairs.rows[row + Pair.GROWING] = side
    while pairs.rows[row + Pair.ACTIVE + side - 1] != NONE:
        node: int = take_active(side, row, pairs, trees)
        if trees.sides[node] == side:
            if trees.labels[node] > pairs.rows[row + Pair.LEVELS + side - 1]:
                activate(node, side, row, pairs, trees)
            elif not grow_from(node, side, row, pairs, trees):
                return False
    pairs.rows[row + Pair.ACTIVE + side - 1] = pairs.rows[row + Pair.NEXT_ACTIVE + side - 1]
    pairs.rows[row + Pair.NEXT_ACTIVE + side - 1] = NONE
    pairs.rows[row + Pair.LEVELS + side - 1] += 1
    pairs.rows[row + Pair.GROWING] = Side.NEITHER
    return True


@pk.function
def min_room(node: int, trees: Trees) -> int:
    """Return the bottleneck capacity of the path between a node and its root."""
    amount: int = INT32_MAX
    side: int = trees.sides[node]
    arc: int = trees.parents[node]
    while arc != ROOT and amount > 1:
        room: int = room_towards(arc, side, trees)
        if room < amount:
            amount = room
        arc = trees.parents[trees.heads[arc]]
    return amount


@pk.function
def leave_parent(node: int, row: int, pairs: Regions, trees: Trees):
    """Make a node an orphan."""
    label: int = trees.labels[node]
    bucket: int = 2 * pairs.rows[row + Pair.NODE] + label
    trees.parents[node] = NONE
    trees.orphans[node] = trees.buckets[bucket]
    trees.buckets[bucket] = node
    if pairs.rows[row + Pair.ORPHANS] > label:
        pairs.rows[row + Pair.ORPHANS] = label
    if pairs.rows[row + Pair.ORPHANS_END] <= label:
        pairs.rows[row + Pair.ORPHANS_END] = label + 1


@pk.function
def push_to(start: int, amount: int, row: int, pairs: Regions, trees: Trees):
    """Send flow along the path between a node and its root; saturated arcs leave orphans."""
    node: int = start
    arc: int = trees.parents[node]
    side: int = trees.sides[node]
    while arc != ROOT:
        parent: int = trees.heads[arc]
        forth: int = arc
        if side == Side.SOURCE:
            forth = trees.twins[arc]
        trees.capacities[forth] -= amount
        trees.capacities[trees.twins[forth]] += amount
        if trees.capacities[forth] == 0:
            leave_parent(node, row, pairs, trees)
        node = parent
        arc = trees.parents[node]
    adopt_orphans(side, row, pairs, trees)


@pk.function
def push(joint: int, row: int, pairs: Regions, trees: Trees):
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
    pairs.rows[row + Pair.FLOW] += amount
    push_to(tail, amount, row, pairs, trees)
    push_to(head, amount, row, pairs, trees)


@pk.function
def find_parent(node: int, side: int, row: int, pairs: Regions, trees: Trees) -> int:
    """Return the first arc of an orphan to a possible parent that is nearest to a root, or `NONE`.

    Labels end with the level that grows. Unless the label of the node stays the same, its children
    become orphans. Other orphans may be parents, because they leave their children if their label
    rises.
    """
    label: int = trees.labels[node] - 1
    for arc in range(trees.current[node], trees.ends[node]):
        other: int = trees.heads[arc]
        if trees.labels[other] == label and trees.sides[other] == side:
            if room_towards(arc, side, trees) > 0:
                return arc
    label = pairs.rows[row + Pair.LEVELS + side - 1]
    if pairs.rows[row + Pair.GROWING] == side:
        label += 1
    parent: int = NONE
    for arc in range(trees.rows[node], trees.ends[node]):
        head: int = trees.heads[arc]
        if trees.sides[head] == side:
            if trees.parents[head] == trees.twins[arc]:
                leave_parent(head, row, pairs, trees)
            if trees.labels[head] < label and room_towards(arc, side, trees) > 0:
                label = trees.labels[head]
                parent = arc
    return parent


@pk.function
def adopt_orphans(side: int, row: int, pairs: Regions, trees: Trees):
    """Find a parent for every orphan of a side; an orphan without one leaves its tree."""
    label: int = pairs.rows[row + Pair.ORPHANS]
    begin: int = 2 * pairs.rows[row + Pair.NODE]
    while label < pairs.rows[row + Pair.ORPHANS_END]:
        node: int = trees.buckets[begin + label]
        if node == NONE:
            label += 1
        else:
            trees.buckets[begin + label] = trees.orphans[node]
            parent: int = find_parent(node, side, row, pairs, trees)
            if parent == NONE:
                set_side(node, Side.NEITHER, row, pairs, trees)
            else:
                trees.parents[node] = parent
                trees.current[node] = parent
                if trees.labels[trees.heads[parent]] != label - 1:
                    trees.labels[node] = trees.labels[trees.heads[parent]] + 1
                    activate(node, side, row, pairs, trees)
    pairs.rows[row + Pair.ORPHANS] = INT32_MAX
    pairs.rows[row + Pair.ORPHANS_END] = 0


@pk.function
def add_terminal(node: int, side: int, row: int, pairs: Regions, trees: Trees):
    """Make a node a source or a sink; all other nodes of its side are terminals."""
    other: int = trees.sides[node]
    if other != Side.NEITHER:
        set_side(node, Side.NEITHER, row, pairs, trees)
        for arc in range(trees.rows[node], trees.ends[node]):
            head: int = trees.heads[arc]
            if trees.parents[head] == trees.twins[arc]:
                leave_parent(head, row, pairs, trees)
        adopt_orphans(other, row, pairs, trees)
    set_side(node, side, row, pairs, trees)
    trees.parents[node] = ROOT
    trees.labels[node] = 0
    pairs.rows[row + Pair.LEVELS + side - 1] = 0
    activate(node, side, row, pairs, trees)


@pk.function
def maximise_flow(row: int, pairs: Regions, trees: Trees) -> bool:
    """Augment until the flow is maximal; stop and return False once it reaches the present cut."""
    side: int = Side.SOURCE
    while pairs.rows[row + Pair.ACTIVE] != NONE or pairs.rows[row + Pair.ACTIVE + 1] != NONE:
        if pairs.rows[row + Pair.ACTIVE + side - 1] != NONE:
            if not grow_level(side, row, pairs, trees):
                return False
        side = Side.SOURCE + Side.SINK - side
    return True
