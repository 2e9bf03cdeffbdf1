"""Placing the vertices that modifiers of a graph have loosened (iG-kway, section V-C).

On the whole graph, `marks` has 1 for a vertex whose edges have changed, 2 for one that is to be
placed again, 3 for a neighbour of such a one, 0 for all others. Those to be placed are then
numbered and make up a problem of their own, in which an edge ends at the number of another one, or
at -1 - p where its end stays in part p. `parts` are -1 there until a vertex is placed, and `waits`
counts its neighbours of lower number that are not placed yet. The weight of its edges into each
part is kept as in the connectivity table, but for the numbers of the parts in direct rows.
"""

import pykokkos as pk

from jetpy.workloads.buckets import slot_of_row
from jetpy.workloads.connectivity import add_to_row, capacity, ends_row, is_direct
from jetpy.workloads.hashing import mix


@pk.workunit
def weigh_rows(
    i: int,
    vertices: pk.View1D[pk.int32],
    first: pk.View1D[pk.int32],
    length: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    marks: pk.View1D[pk.int32],
    balances: pk.View1D[pk.int32],
    lanes: int,
    most: int,
):
    """Add up the edges of a vertex that leave its part, less those that stay in it.

    Those to neighbours that are to be placed count as leaving. Of more than `most` edges all count
    as staying.
    """
    j: int = i // lanes
    v: int = vertices[j]
    if length[v] > most:
        return
    start: pk.int64 = slot_of_row(v, first)
    balance: int = 0
    s: int = i % lanes
    while s < length[v]:
        u: int = slots[start + s]
        if parts[u] == parts[v] and marks[u] != 2:
            balance -= weights[start + s]
        else:
            balance += weights[start + s]
        s += lanes
    pk.atomic_fetch_add(balances, [j], balance)


@pk.workunit
def mark_loose(
    j: int,
    vertices: pk.View1D[pk.int32],
    balances: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    marks: pk.View1D[pk.int32],
    k: int,
):
    """Mark a vertex as to be placed if its balance is positive or it has no part (k) yet."""
    v: int = vertices[j]
    marks[v] = 1
    if balances[j] > 0 or parts[v] == k:
        marks[v] = 2


@pk.workunit
def find_neighbours(
    i: int,
    vertices: pk.View1D[pk.int32],
    first: pk.View1D[pk.int32],
    length: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    marks: pk.View1D[pk.int32],
    found: pk.View1D[pk.int32],
    counts: pk.View1D[pk.int32],
    lanes: int,
):
    """Mark the neighbours of vertices that are to be placed, and list them in any order.

    The list is `counts[0]` long, before and afterwards.
    """
    v: int = vertices[i // lanes]
    if marks[v] != 2:
        return
    start: pk.int64 = slot_of_row(v, first)
    s: int = i % lanes
    while s < length[v]:
        u: int = slots[start + s]
        if marks[u] == 0:
            before: int = pk.atomic_fetch_max(marks, [u], 3)
            if before == 0:
                place: int = pk.atomic_fetch_add(counts, [0], 1)
                found[place] = u
        s += lanes


@pk.workunit
def list_loose(
    j: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    found: pk.View1D[pk.int32],
    marks: pk.View1D[pk.int32],
    vertices: pk.View1D[pk.int32],
):
    """List those found that are to be placed."""
    if marks[found[j]] == 2:
        if last_pass:
            vertices[acc] = found[j]
        acc += 1


@pk.workunit
def number_listed(
    j: int,
    vertices: pk.View1D[pk.int32],
    numbers: pk.View1D[pk.int32],
    forget: int,
):
    """Number listed vertices; or take their numbers away."""
    numbers[vertices[j]] = j
    if forget == 1:
        numbers[vertices[j]] = -1


@pk.workunit
def clear_marks(j: int, vertices: pk.View1D[pk.int32], marks: pk.View1D[pk.int32]):
    """Take the marks of listed vertices away."""
    marks[vertices[j]] = 0


@pk.workunit
def gather_loose(
    i: int,
    vertices: pk.View1D[pk.int32],
    numbers: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    first: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    ends: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    lanes: int,
):
    """Copy the rows of those to be placed: to each other by number, else by part."""
    j: int = i // lanes
    start: pk.int64 = slot_of_row(vertices[j], first)
    e: int = indptr[j] + i % lanes
    while e < indptr[j + 1]:
        s: pk.int64 = start + (e - indptr[j])
        u: int = slots[s]
        ends[e] = numbers[u]
        if numbers[u] < 0:
            ends[e] = -1 - parts[u]
        edge_weights[e] = weights[s]
        e += lanes


@pk.workunit
def connect(
    i: int,
    indptr: pk.View1D[pk.int32],
    ends: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    waits: pk.View1D[pk.int32],
    lanes: int,
    k: int,
):
    """Sum up the edges into each part, and count the neighbours of lower number."""
    j: int = i // lanes
    degree: int = indptr[j + 1] - indptr[j]
    lower: int = 0
    e: int = indptr[j] + i % lanes
    while e < indptr[j + 1]:
        if ends[e] < 0:
            add_to_row(j, degree, -1 - ends[e], edge_weights[e], rows, slots, weights, k)
        elif ends[e] < j:
            lower += 1
        e += lanes
    if lower > 0:
        pk.atomic_fetch_add(waits, [j], lower)


@pk.workunit
def find_lightest(i: int, part_weights: pk.View1D[pk.int64], lightest: pk.View1D[pk.int32], k: int):
    """Find the part that weighs least, the first of several."""
    best: int = 0
    p: int = 1
    while p < k:
        if part_weights[p] < part_weights[best]:
            best = p
        p += 1
    lightest[0] = best


@pk.workunit
def choose(
    j: int,
    indptr: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    waits: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    part_weights: pk.View1D[pk.int64],
    lightest: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    pulls: pk.View1D[pk.int32],
    losses: pk.View1D[pk.int32],
    limit: pk.int64,
    seed: int,
    k: int,
):
    """Choose a part for each vertex that has none, unless it waits for neighbours of lower number.

    That is, of the parts with room for it, the one that most weight of its edges goes to, then the
    lightest. Without an edge to such a part it is the lightest of all. `losses` are by how much
    less weight goes there than to a part without room.
    """
    targets[j] = -1
    if parts[j] >= 0 or waits[j] > 0:
        return
    degree: int = indptr[j + 1] - indptr[j]
    found: int = lightest[0]
    strongest: int = 0
    wanted: int = 0
    found_hash: pk.uint32 = 0
    row: int = rows[j]
    last: int = row + capacity(degree, k)
    s: int = row
    while s < last:
        q: int = slots[s]
        if is_direct(degree, k):
            q = s - row
        elif ends_row(q, row, last):
            break
        w: int = weights[s]
        if q >= 0 and w > wanted:
            wanted = w
        if q >= 0 and w > 0 and w >= strongest:
            if part_weights[q] + vertex_weights[j] <= limit:
                h: pk.uint32 = mix((j ^ seed) + (q << 16))
                if (
                    w > strongest
                    or part_weights[q] < part_weights[found]
                    or (
                        part_weights[q] == part_weights[found]
                        and (h > found_hash or (h == found_hash and q < found))
                    )
                ):
                    found = q
                    strongest = w
                    found_hash = h
        s += 1
    targets[j] = found
    pulls[j] = strongest
    losses[j] = wanted - strongest


@pk.workunit
def list_choices(
    j: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    targets: pk.View1D[pk.int32],
    pulls: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int64],
    pull_bits: int,
    number_bits: int,
):
    """List who has chosen: by part, then by falling weight of the edges there, then by number."""
    if targets[j] >= 0:
        if last_pass:
            one: pk.int64 = 1
            key: pk.int64 = targets[j]
            rest: pk.int64 = (one << pull_bits) - 1 - pulls[j]
            if rest < 0:
                rest = 0
            key = (((key << pull_bits) + rest) << number_bits) + j
            keys[acc] = key
        acc += 1


@pk.workunit
def queue(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    keys: pk.View1D[pk.int64],
    targets: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    queued: pk.View1D[pk.int64],
    starts: pk.View1D[pk.int64],
    number_bits: int,
):
    """Sum up the weights before each place of the sorted list, and before each part's first."""
    one: pk.int64 = 1
    mask: pk.int64 = (one << number_bits) - 1
    j: int = keys[i] & mask
    if last_pass:
        queued[i] = acc
        begins: int = 1
        if i > 0:
            if targets[keys[i - 1] & mask] == targets[j]:
                begins = 0
        if begins == 1:
            starts[targets[j]] = acc
    acc += vertex_weights[j]


@pk.workunit
def admit(
    i: int,
    acc: pk.Acc[pk.int64],
    keys: pk.View1D[pk.int64],
    targets: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    queued: pk.View1D[pk.int64],
    starts: pk.View1D[pk.int64],
    part_weights: pk.View1D[pk.int64],
    parts: pk.View1D[pk.int32],
    limit: pk.int64,
    number_bits: int,
):
    """Place the first of those who chose a part, and all others until it is full; count them."""
    one: pk.int64 = 1
    j: int = keys[i] & ((one << number_bits) - 1)
    p: int = targets[j]
    before: pk.int64 = queued[i] - starts[p]
    if before == 0 or part_weights[p] + before + vertex_weights[j] <= limit:
        parts[j] = p
        acc += 1


@pk.workunit
def settle(
    i: int,
    keys: pk.View1D[pk.int64],
    parts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    part_weights: pk.View1D[pk.int64],
    indptr: pk.View1D[pk.int32],
    ends: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    waits: pk.View1D[pk.int32],
    number_bits: int,
    lanes: int,
    k: int,
):
    """Add those just placed to their parts, and tell their neighbours."""
    one: pk.int64 = 1
    j: int = keys[i // lanes] & ((one << number_bits) - 1)
    p: int = parts[j]
    if p < 0:
        return
    if i % lanes == 0:
        weight: pk.int64 = vertex_weights[j]
        pk.atomic_fetch_add(part_weights, [p], weight)
    e: int = indptr[j] + i % lanes
    while e < indptr[j + 1]:
        u: int = ends[e]
        if u >= 0:
            add_to_row(u, indptr[u + 1] - indptr[u], p, edge_weights[e], rows, slots, weights, k)
            if u > j:
                pk.atomic_fetch_add(waits, [u], -1)
        e += lanes


@pk.workunit
def change_of_cut(
    i: int,
    acc: pk.Acc[pk.int64],
    indptr: pk.View1D[pk.int32],
    ends: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    homes: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    lanes: int,
):
    """Sum up, in both directions of each edge, what is cut now but was not when all were home."""
    j: int = i // lanes
    e: int = indptr[j] + i % lanes
    while e < indptr[j + 1]:
        u: int = ends[e]
        before: int = -1 - u
        after: int = -1 - u
        w: pk.int64 = edge_weights[e]
        if u >= 0:
            before = homes[u]
            after = parts[u]
        else:
            w *= 2
        if after != parts[j]:
            acc += w
        if before != homes[j]:
            acc -= w
        e += lanes
