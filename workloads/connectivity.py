"""The connectivity table: for each vertex, the weight of its edges into each adjacent part.

Row v has min(degree, k) slots from `rows[v]` on. Where the degree is high for k, slot p belongs
to part p (direct row). Elsewhere -1 marks a slot that was never used, -2 one whose weight fell to
zero and that may be taken again. A short row is a list: slots are taken from the front, and it
ends at the first -1. A long one is a hash table with linear probing. Which slot a part has
depends on the order of updates, so no result may depend on slots: readers break ties by hash and
part.
"""

import pykokkos as pk

from jetpy.workloads.distance import distance_of
from jetpy.workloads.hashing import place_of
from jetpy.workloads.lanes import end_of, first_entry, is_left_to_lanes, step_of


@pk.function
def is_direct(degree: int, k: int) -> bool:
    """Whether a row of this degree is indexed by part."""
    return degree >= k and (k <= 16 or degree >= 4 * k)


@pk.function
def capacity(degree: int, k: int) -> int:
    """Number of slots of a row."""
    if degree < k:
        return degree
    return k


@pk.function
def first_slot(p: int, row: int, size: int) -> int:
    """Return where the search for a part begins in a row that is not direct."""
    if size <= 16:
        return row
    h: pk.uint32 = p
    return row + place_of(h * 1597334677, size)


@pk.function
def ends_row(q: int, row: int, last: int) -> bool:
    """Whether a reader of the slots row..last - 1 is done when it meets q."""
    return q == -1 and last - row <= 16


@pk.function
def pull_of(
    q: int,
    weight: int,
    row: int,
    last: int,
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    distances: pk.View1D[pk.int32],
    metric: int,
    k: int,
) -> pk.int64:
    """Return how much draws a vertex, given its row and the weight of its edges there, to part q.

    That weight where all parts have distance 1; else minus what its edges would cost.
    """
    pull: pk.int64 = weight
    if metric == 0:
        return pull
    pull = 0
    s: int = row
    while s < last:
        p: int = slots[s]
        if ends_row(p, row, last):
            break
        if p >= 0:
            w: pk.int64 = weights[s]
            pull -= w * distance_of(p, q, metric, distances, k)
        s += 1
    return pull


@pk.function
def saturated(gain: pk.int64) -> int:
    """Return a gain, or the limit of those kept where it is beyond."""
    if gain > 2147483646:
        return 2147483646
    if gain < -2147483646:
        return -2147483646
    return gain


@pk.function
def is_tied(inside: int, weight: int, limit: pk.int64) -> bool:
    """Whether the weight of a vertex's edges is above limit / 128 of its own (-1: no limit)."""
    tie: pk.int64 = inside
    bound: pk.int64 = weight
    return limit >= 0 and tie * 128 > bound * limit


@pk.function
def watch(
    u: int,
    best: pk.View1D[pk.int32],
    watched: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    k: int,
):
    """Add a vertex to the watched ones, unless it is one of them or another thread adds it."""
    if pk.atomic_compare_exchange(best, [u], -3, -2) == -3:
        one: pk.int64 = 1
        place: pk.int64 = pk.atomic_fetch_add(account, [k + 129], one)
        watched[place] = u


@pk.workunit
def list_watched(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    vertex_weights: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    watched: pk.View1D[pk.int32],
    loose: int,
):
    """List the vertices with adjacent parts, and those that little ties to their own."""
    if best[v] > -3 or not is_tied(own[v], vertex_weights[v], loose):
        if last_pass:
            watched[acc] = v
            if best[v] == -3:
                best[v] = -1
        acc += 1


@pk.workunit
def list_members(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    candidates: pk.View1D[pk.int32],
    values: pk.View1D[pk.int32],
    threshold: int,
    vertices: pk.View1D[pk.int32],
):
    """List the candidates whose value is above a threshold."""
    v: int = candidates[i]
    if v >= 0:
        if values[v] > threshold:
            if last_pass:
                vertices[acc] = v
            acc += 1


@pk.workunit
def size_rows(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    indptr: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    k: int,
):
    """Place the rows one after the other."""
    if last_pass:
        rows[v] = acc
    acc += capacity(indptr[v + 1] - indptr[v], k)


@pk.function
def fill_row(
    v: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    distances: pk.View1D[pk.int32],
    metric: int,
    k: int,
) -> pk.int64:
    """Compute one row, and `own`, from the parts of the neighbours.

    Returns what its edges cost, which may be nothing; -1 if there is no adjacent part.
    The best destination becomes unknown if the vertex is watched and it or a neighbour has moved.
    """
    e: int = indptr[v]
    end: int = indptr[v + 1]
    row: int = rows[v]
    size: int = capacity(end - e, k)
    last: int = row + size
    direct: int = 0
    if is_direct(end - e, k):
        direct = 1
    s: int = 0
    while s < size:
        slots[row + s] = -1
        if direct == 1:
            slots[row + s] = s
        weights[row + s] = 0
        s += 1
    home: int = parts[v]
    inside: int = 0
    outside: int = 0
    cost: pk.int64 = 0
    moved: int = 0
    if sources[v] != home:
        moved = 1
    while e < end:
        u: int = indices[e]
        p: int = parts[u]
        w: int = edge_weights[e]
        if sources[u] != p:
            moved = 1
        if p == home:
            inside += w
        else:
            outside += w
            if metric != 0:
                wide: pk.int64 = w
                cost += wide * distance_of(home, p, metric, distances, k)
        s = row + p
        if direct == 0:
            s = first_slot(p, row, size)
            while slots[s] >= 0 and slots[s] != p:
                s += 1
                if s == last:
                    s = row
            slots[s] = p
        weights[s] += w
        e += 1
    own[v] = inside
    if moved == 1 and best[v] != -3:
        best[v] = -2
    if outside == 0:
        return -1
    if metric == 0:
        cost = outside
    return cost


@pk.function
def take_slot(
    row: int,
    size: int,
    p: int,
    slots: pk.View1D[pk.int32],
) -> int:
    """Find the slot of part p in a row, or take the first free one for it."""
    s: int = first_slot(p, row, size)
    start: int = s
    last: int = row + size
    looking: int = 1
    while looking == 1:
        if slots[s] == p:
            return s
        if slots[s] == -1:
            break
        s += 1
        if s == last:
            s = row
        if s == start:
            looking = 0
    s = start
    while True:
        found: int = slots[s]
        if found < 0:
            found = pk.atomic_compare_exchange(slots, [s], found, p)
            if found < 0:
                return s
        if found == p:
            return s
        s += 1
        if s == last:
            s = row
    return last


@pk.function
def add_to_row(
    u: int,
    degree: int,
    p: int,
    weight: int,
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    k: int,
):
    """Add an edge into part p to the row of a vertex that others may be adding to."""
    s: int = rows[u]
    if is_direct(degree, k):
        s += p
    else:
        s = take_slot(s, capacity(degree, k), p, slots)
    pk.atomic_fetch_add(weights, [s], weight)


@pk.function
def take_from_row(
    u: int,
    degree: int,
    p: int,
    weight: int,
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    k: int,
):
    """Take an edge into part p out of the row of a vertex that others may be taking from.

    Whoever takes the last weight out of a slot is the last to look for it, and frees it.
    """
    s: int = rows[u]
    if is_direct(degree, k):
        pk.atomic_fetch_add(weights, [s + p], -weight)
        return
    row: int = s
    size: int = capacity(degree, k)
    s = first_slot(p, row, size)
    while slots[s] != p:
        s += 1
        if s == row + size:
            s = row
    before: int = pk.atomic_fetch_add(weights, [s], -weight)
    if before == weight:
        slots[s] = -2


@pk.function
def clear_piece(
    i: int,
    count: int,
    indptr: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    k: int,
):
    """Empty the slots that a lane has of a hub's row."""
    v: int = hubs[(i - count) >> 7]
    degree: int = indptr[v + 1] - indptr[v]
    s: int = first_entry(i, count, starts)
    end: int = end_of(i, count, capacity(degree, k), starts)
    while s < end:
        slots[rows[v] + s] = -1
        if is_direct(degree, k):
            slots[rows[v] + s] = s
        weights[rows[v] + s] = 0
        s += step_of(i, count)


@pk.workunit
def clear_rows(
    i: int,
    indptr: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    k: int,
):
    """Empty the rows of hubs."""
    clear_piece(i, 0, indptr, rows, slots, weights, hubs, starts, k)


@pk.workunit
def build_rows(
    i: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    destinations: pk.View1D[pk.int32],
    watched: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    hub_degree: int,
    count: int,
    distances: pk.View1D[pk.int32],
    metric: int,
    k: int,
):
    """Compute every row, those of hubs from empty ones.

    Best destinations become unknown (-2), or that of a vertex without adjacent parts that is not
    watched (-3). Hubs are all watched.
    """
    v: int = i
    if i >= count:
        v = hubs[(i - count) >> 7]
    degree: int = indptr[v + 1] - indptr[v]
    if i < count:
        best[v] = -2
        priorities[v] = -2147483647
        destinations[v] = -1
        watched[v] = -1
        if degree <= hub_degree:
            outside: pk.int64 = fill_row(
                v,
                indptr,
                indices,
                edge_weights,
                parts,
                rows,
                slots,
                weights,
                own,
                sources,
                best,
                distances,
                metric,
                k,
            )
            if outside < 0:
                best[v] = -3
        return
    e: int = indptr[v] + first_entry(i, count, starts)
    end: int = indptr[v] + end_of(i, count, degree, starts)
    while e < end:
        add_to_row(v, degree, parts[indices[e]], edge_weights[e], rows, slots, weights, k)
        e += step_of(i, count)


@pk.function
def move(
    v: int,
    destinations: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    movers: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    list_size: int,
    k: int,
):
    """Put a vertex into its destination, and list it; `sources` keeps where it came from.

    The account holds the part weights, 64 counters for the change of the cut, 64 for the moved
    vertices, whether rows are to be computed anew, the number of watched vertices, and whether
    these do not suffice to rebalance. `movers` has a list for each of the 64 counters: blocks of
    512 vertices are dealt round.
    """
    p: int = parts[v]
    q: int = destinations[v]
    weight: pk.int64 = vertex_weights[v]
    one: pk.int64 = 1
    sources[v] = p
    parts[v] = q
    pk.atomic_fetch_add(account, [p], -weight)
    pk.atomic_fetch_add(account, [q], weight)
    section: int = (v >> 9) & 63
    place: pk.int64 = pk.atomic_fetch_add(account, [k + 64 + section], one)
    movers[section * list_size + place] = v


@pk.workunit
def choose_update(
    i: int,
    account: pk.View1D[pk.int64],
    n: int,
    share: int,
    list_size: int,
    k: int,
    orders: pk.View1D[pk.int64],
):
    """Compute rows anew, rather than update them, if more than n / share vertices moved."""
    if orders[5] == 0:
        return
    moved: pk.int64 = 0
    counter: int = k + 64
    while counter < k + 128:
        moved += account[counter]
        counter += 1
    if moved * share > n:
        account[k + 128] = 1


@pk.function
def keep_part(
    v: int,
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    kept: pk.View1D[pk.int32],
    orders: pk.View1D[pk.int64],
):
    """Forget where a vertex came from; keep its part, if the orders say that these are the best."""
    sources[v] = parts[v]
    if orders[4] == 1:
        kept[v] = parts[v]


@pk.function
def subtract_edges(
    v: int,
    e: int,
    end: int,
    step: int,
    counter: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    watched: pk.View1D[pk.int32],
    distances: pk.View1D[pk.int32],
    metric: int,
    k: int,
):
    """Take every so many-th edge of a moved vertex out of its neighbours' rows."""
    old: int = sources[v]
    new: int = parts[v]
    change: pk.int64 = 0
    while e < end:
        u: int = indices[e]
        w: pk.int64 = edge_weights[e]
        take_from_row(u, indptr[u + 1] - indptr[u], old, edge_weights[e], rows, slots, weights, k)
        if parts[u] == sources[u]:
            w = 2 * w
        if metric == 0:
            if parts[u] != new:
                change += w
            if sources[u] != old:
                change -= w
        else:
            farther: int = distance_of(new, parts[u], metric, distances, k)
            farther -= distance_of(old, sources[u], metric, distances, k)
            change += w * farther
        if best[u] != -2:
            if best[u] == -3:
                watch(u, best, watched, account, k)
            best[u] = -2
        e += step
    if change != 0:
        pk.atomic_fetch_add(account, [k + (counter & 63)], change)


@pk.workunit
def subtract_moves(
    i: int,
    movers: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    destinations: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    watched: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    hub_degree: int,
    count: int,
    share: int,
    list_size: int,
    distances: pk.View1D[pk.int32],
    metric: int,
    k: int,
    orders: pk.View1D[pk.int64],
):
    """Take the edges of moved vertices out of their neighbours' rows (first pass of an update).

    Sums up twice the change of the cut (an edge between two moved vertices is met from both ends,
    any other counts double), marks their and the neighbours' best destinations as unknown and
    watches these. `share` indices share the edges of a moved vertex that is no hub.
    """
    if orders[5] == 0 or account[k + 128] == 1:
        return
    v: int = 0
    e: int = 0
    if i >= count:
        v = hubs[(i - count) >> 7]
        if destinations[v] >= 0:
            e = indptr[v]
            subtract_edges(
                v,
                e + first_entry(i, count, starts),
                e + end_of(i, count, indptr[v + 1] - e, starts),
                128,
                i,
                indptr,
                indices,
                edge_weights,
                parts,
                sources,
                best,
                rows,
                slots,
                weights,
                account,
                watched,
                distances,
                metric,
                k,
            )
        return
    width: int = count // (64 * share)
    section: int = i // (width * share)
    place: int = i // share - section * width
    while place < account[k + 64 + section]:
        v = movers[section * list_size + place]
        best[v] = -2
        e = indptr[v]
        if indptr[v + 1] - e <= hub_degree:
            subtract_edges(
                v,
                e + i % share,
                indptr[v + 1],
                share,
                i,
                indptr,
                indices,
                edge_weights,
                parts,
                sources,
                best,
                rows,
                slots,
                weights,
                account,
                watched,
                distances,
                metric,
                k,
            )
        place += width


@pk.function
def add_edges(
    v: int,
    e: int,
    end: int,
    step: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    k: int,
):
    """Add every so many-th edge of a moved vertex to its neighbours' rows."""
    p: int = parts[v]
    while e < end:
        u: int = indices[e]
        add_to_row(u, indptr[u + 1] - indptr[u], p, edge_weights[e], rows, slots, weights, k)
        e += step


@pk.workunit
def add_moves(
    i: int,
    movers: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    destinations: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    hub_degree: int,
    count: int,
    share: int,
    list_size: int,
    k: int,
    orders: pk.View1D[pk.int64],
):
    """Add the edges of moved vertices to their neighbours' rows (second pass of an update)."""
    if orders[5] == 0 or account[k + 128] == 1:
        return
    v: int = 0
    e: int = 0
    if i >= count:
        v = hubs[(i - count) >> 7]
        if destinations[v] >= 0:
            e = indptr[v]
            add_edges(
                v,
                e + first_entry(i, count, starts),
                e + end_of(i, count, indptr[v + 1] - e, starts),
                128,
                indptr,
                indices,
                edge_weights,
                parts,
                rows,
                slots,
                weights,
                k,
            )
        return
    width: int = count // (64 * share)
    section: int = i // (width * share)
    place: int = i // share - section * width
    while place < account[k + 64 + section]:
        v = movers[section * list_size + place]
        e = indptr[v]
        if indptr[v + 1] - e <= hub_degree:
            add_edges(
                v,
                e + i % share,
                indptr[v + 1],
                share,
                indptr,
                indices,
                edge_weights,
                parts,
                rows,
                slots,
                weights,
                k,
            )
        place += width


@pk.workunit
def rebuild_rows(
    i: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    watched: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    hub_degree: int,
    count: int,
    distances: pk.View1D[pk.int32],
    metric: int,
    k: int,
    orders: pk.View1D[pk.int64],
):
    """Compute every row anew after many moves, those of hubs but for their contents.

    Sums up what the edges between parts cost, each twice. The best destinations of moved vertices
    and their neighbours become unknown, and these are watched.
    """
    if orders[5] == 0 or account[k + 128] == 0:
        return
    if i >= count:
        clear_piece(i, count, indptr, rows, slots, weights, hubs, starts, k)
        return
    if is_left_to_lanes(i, count, indptr[i + 1] - indptr[i], hub_degree):
        return
    outside: pk.int64 = fill_row(
        i,
        indptr,
        indices,
        edge_weights,
        parts,
        rows,
        slots,
        weights,
        own,
        sources,
        best,
        distances,
        metric,
        k,
    )
    if outside >= 0:
        if best[i] == -3:
            watch(i, best, watched, account, k)
        pk.atomic_fetch_add(account, [k + (i & 63)], outside)


@pk.workunit
def rebuild_hubs(
    i: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    distances: pk.View1D[pk.int32],
    metric: int,
    k: int,
    orders: pk.View1D[pk.int64],
):
    """Fill the rows of hubs that `rebuild_rows` has emptied; what it sums up and marks, too."""
    if orders[5] == 0 or account[k + 128] == 0:
        return
    v: int = hubs[i >> 7]
    degree: int = indptr[v + 1] - indptr[v]
    home: int = parts[v]
    outside: pk.int64 = 0
    moved: int = 0
    if sources[v] != home:
        moved = 1
    e: int = indptr[v] + first_entry(i, 0, starts)
    end: int = indptr[v] + end_of(i, 0, degree, starts)
    while e < end:
        u: int = indices[e]
        p: int = parts[u]
        w: pk.int64 = edge_weights[e]
        outside += w * distance_of(home, p, metric, distances, k)
        if sources[u] != p:
            moved = 1
        add_to_row(v, degree, p, edge_weights[e], rows, slots, weights, k)
        e += step_of(i, 0)
    if moved == 1:
        best[v] = -2
    if outside > 0:
        pk.atomic_fetch_add(account, [k + (i & 63)], outside)
