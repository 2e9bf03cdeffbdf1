"""Independent sets of moves, each of which lowers the cut and keeps the balance.

Lee et al., "G-kway", TODAES 2025, section 3.2. The orders are those of `jetpy.workloads.conduct`.
"""

import pykokkos as pk

from jetpy.workloads.connectivity import capacity, ends_row, keep_part, move, pull_of, saturated
from jetpy.workloads.hashing import mix
from jetpy.workloads.lanes import end_of, first_entry, is_left_to_lanes, step_of, vertex_of


@pk.function
def seek_part(
    v: int,
    seed: int,
    roomy: int,
    indptr: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    found_gains: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
    distances: pk.View1D[pk.int32],
    metric: int,
    unit: pk.int64,
    k: int,
) -> int:
    """Return the adjacent part with the largest gain, then hash, then the lowest; -1 if none.

    With `roomy` = 1 it has room for the vertex. Notes its gain, and the weight into the own part.
    """
    p: int = parts[v]
    row: int = rows[v]
    s: int = row
    last: int = s + capacity(indptr[v + 1] - indptr[v], k)
    inside: int = 0
    found: int = -1
    highest: pk.int64 = 0
    found_hash: pk.uint32 = 0
    while s < last:
        q: int = slots[s]
        if ends_row(q, row, last):
            break
        w: int = weights[s]
        s += 1
        if q == p:
            inside = w
        elif q >= 0 and w > 0:
            if roomy == 1:
                if account[q] + vertex_weights[v] > limits[q]:
                    continue
            pull: pk.int64 = pull_of(q, w, row, last, slots, weights, distances, metric, k)
            if found < 0 or pull >= highest:
                h: pk.uint32 = mix((v ^ seed) + (q << 16))
                if found < 0 or pull > highest or h > found_hash or (h == found_hash and q < found):
                    found = q
                    highest = pull
                    found_hash = h
    own[v] = inside
    if found >= 0:
        highest -= pull_of(p, inside, row, last, slots, weights, distances, metric, k)
        if unit > 1:
            highest //= unit
        found_gains[v] = saturated(highest)
    return found


@pk.workunit
def find_legal(
    i: int,
    watched: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    gains: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    counts: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    distances: pk.View1D[pk.int32],
    metric: int,
    unit: pk.int64,
    k: int,
):
    """Find every watched vertex a legal destination: a part with positive gain, and with room.

    The gain becomes the vertex's priority, -2147483647 if there is none. `best` and `gains` cache
    the destination that would be best if all parts had room, as for Jetlp. `counts` become 0.
    """
    if orders[5] != 1:
        return
    if i == 0:
        counts[0] = 0
        counts[1] = 0
    v: int = watched[i]
    if v < 0:
        return
    targets[v] = -1
    seed: int = orders[0]
    gain: int = 0
    q: int = -1
    roomy: int = 0
    while roomy < 2:
        if roomy == 1 or best[v] == -2:
            q = seek_part(
                v,
                seed,
                roomy,
                indptr,
                parts,
                vertex_weights,
                rows,
                slots,
                weights,
                own,
                priorities,
                account,
                limits,
                distances,
                metric,
                unit,
                k,
            )
            gain = priorities[v]
        if roomy == 0:
            if best[v] == -2:
                best[v] = q
                gains[v] = gain
            q = best[v]
            gain = gains[v]
            if q < 0 or gain <= 0:
                roomy = 2
            elif account[q] + vertex_weights[v] <= limits[q]:
                roomy = 2
        roomy += 1
    priorities[v] = -2147483647
    if q >= 0 and gain > 0:
        priorities[v] = gain
        targets[v] = q


@pk.workunit
def keep_lowest(
    i: int,
    watched: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    kept: pk.View1D[pk.int32],
    destinations: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    orders: pk.View1D[pk.int64],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    hub_degree: int,
    count: int,
):
    """Let a vertex stay if a lower neighbour has a legal destination: the others are independent.

    Destinations of the iteration before are forgotten.
    """
    if orders[5] != 1:
        return
    v: int = vertex_of(i, count, watched, hubs)
    if v < 0:
        return
    if i < count:
        keep_part(v, parts, sources, kept, orders)
        destinations[v] = -1
    if priorities[v] < 0:
        return
    e: int = indptr[v]
    end: int = indptr[v + 1]
    if is_left_to_lanes(i, count, end - e, hub_degree):
        return
    end = e + end_of(i, count, end - e, starts)
    e += first_entry(i, count, starts)
    while e < end:
        u: int = indices[e]
        if u < v:
            if priorities[u] > 0:
                targets[v] = -1
                break
        e += step_of(i, count)


@pk.workunit
def list_moves(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    watched: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    moves: pk.View1D[pk.int64],
):
    """List the moves by keys for sorting: by falling gain, then vertex."""
    v: int = watched[i]
    if v >= 0:
        if targets[v] >= 0:
            if last_pass:
                key: pk.int64 = 2147483647 - priorities[v]
                moves[acc] = (key << 32) + v
            acc += 1


@pk.workunit
def collect_moves(
    i: int,
    watched: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    counts: pk.View1D[pk.int32],
    moves: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
):
    """List the moves in any order, and count them."""
    if orders[5] != 1:
        return
    v: int = watched[i]
    if v < 0:
        return
    if targets[v] >= 0:
        place: int = pk.atomic_fetch_add(counts, [0], 1)
        key: pk.int64 = 2147483647 - priorities[v]
        moves[place] = (key << 32) + v


@pk.workunit
def rank_moves(
    i: int,
    moves: pk.View1D[pk.int64],
    counts: pk.View1D[pk.int32],
    ordered: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    most: int,
):
    """Sort the moves, each by looking at all others; if they are too many, ask the host to."""
    if orders[5] != 1:
        return
    if counts[0] > most:
        if i == 0:
            orders[6] = 4
        return
    if i >= counts[0]:
        return
    rank: int = 0
    j: int = 0
    while j < counts[0]:
        if moves[j] < moves[i]:
            rank += 1
        j += 1
    ordered[rank] = moves[i]


@pk.workunit
def weigh_moves(
    i: int,
    ordered: pk.View1D[pk.int64],
    counts: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    changes: pk.View1D[pk.int32],
    most: int,
):
    """Find by how much the number of overweight parts changes with each move of the sequence.

    A part counts from the first move that it has to do with.
    """
    if orders[5] != 1 or counts[0] > most or i >= counts[0]:
        return
    v: int = ordered[i] & 2147483647
    source: int = parts[v]
    target: int = targets[v]
    from_weight: pk.int64 = account[source] - limits[source]
    to_weight: pk.int64 = account[target] - limits[target]
    from_counts: int = 0
    to_counts: int = 0
    j: int = 0
    while j < i:
        u: int = ordered[j] & 2147483647
        weight: pk.int64 = vertex_weights[u]
        if parts[u] == source:
            from_weight -= weight
            from_counts = 1
        elif parts[u] == target:
            to_weight -= weight
            to_counts = 1
        if targets[u] == source:
            from_weight += weight
            from_counts = 1
        elif targets[u] == target:
            to_weight += weight
            to_counts = 1
        j += 1
    change: int = 0
    if from_weight > 0:
        change -= from_counts
    if to_weight > 0:
        change -= to_counts
    if from_weight > vertex_weights[v]:
        change += 1
    if to_weight + vertex_weights[v] > 0:
        change += 1
    changes[i] = change


@pk.workunit
def measure_moves(
    i: int,
    counts: pk.View1D[pk.int32],
    orders: pk.View1D[pk.int64],
    changes: pk.View1D[pk.int32],
    most: int,
):
    """Find the longest beginning of the sequence after which no part is overweight."""
    if orders[5] != 1 or counts[0] > most or i >= counts[0]:
        return
    overweight: int = 0
    j: int = 0
    while j <= i:
        overweight += changes[j]
        j += 1
    if overweight == 0:
        pk.atomic_fetch_max(counts, [1], i + 1)


@pk.workunit
def admit_moves(
    i: int,
    ordered: pk.View1D[pk.int64],
    counts: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    admitted: pk.View1D[pk.int32],
    most: int,
):
    """Admit a move up to there; one after it if its destination has room even if nobody leaves."""
    admitted[i] = 0
    if orders[5] != 1 or counts[0] > most or i >= counts[0]:
        return
    p: int = targets[ordered[i] & 2147483647]
    weight: pk.int64 = account[p]
    j: int = 0
    while j <= i:
        u: int = ordered[j] & 2147483647
        change: pk.int64 = vertex_weights[u]
        if targets[u] == p:
            weight += change
        elif parts[u] == p and j < counts[1]:
            weight -= change
        j += 1
    if i < counts[1] or weight <= limits[p]:
        admitted[i] = 1


@pk.workunit
def list_events(
    j: int,
    moves: pk.View1D[pk.int64],
    parts: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    events: pk.View1D[pk.int64],
):
    """List what move j of the sequence means to two parts: part, j, and 1 if a vertex comes."""
    v: int = moves[j] & 2147483647
    source: pk.int64 = parts[v]
    target: pk.int64 = targets[v]
    place: pk.int64 = j
    events[2 * place] = (source << 32) + 2 * place
    events[2 * place + 1] = (target << 32) + 2 * place + 1


@pk.function
def change_of(
    event: pk.int64,
    moves: pk.View1D[pk.int64],
    vertex_weights: pk.View1D[pk.int32],
    certain: int,
) -> pk.int64:
    """Return by how much an event changes the weight of its part, at most.

    Only as many moves are certain; others may or may not take place.
    """
    place: pk.int64 = event & 4294967295
    place = place >> 1
    v: int = moves[place] & 2147483647
    change: pk.int64 = vertex_weights[v]
    if (event & 1) == 0:
        change = -change
        if place >= certain:
            change = 0
    return change


@pk.workunit
def add_up_events(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    events: pk.View1D[pk.int64],
    moves: pk.View1D[pk.int64],
    vertex_weights: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int64],
    bases: pk.View1D[pk.int64],
    certain: pk.View1D[pk.int32],
):
    """Sum up the changes to the end of each event; `bases` has the sum before a part's first.

    Only so many moves are certain to take place.
    """
    begins: int = 1
    if i > 0:
        if (events[i] >> 32) == (events[i - 1] >> 32):
            begins = 0
    if last_pass and begins == 1:
        bases[events[i] >> 32] = acc
    acc += change_of(events[i], moves, vertex_weights, certain[0])
    if last_pass:
        sums[i] = acc


@pk.workunit
def mark_overweight(
    i: int,
    events: pk.View1D[pk.int64],
    sums: pk.View1D[pk.int64],
    bases: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
    changes: pk.View1D[pk.int32],
    count: int,
):
    """Count the part as overweight from an event to its next, if it is.

    `changes` has by how much the number of overweight parts changes with each move.
    """
    p: pk.int64 = events[i] >> 32
    if account[p] + sums[i] - bases[p] <= limits[p]:
        return
    place: pk.int64 = (events[i] & 4294967295) >> 1
    pk.atomic_fetch_add(changes, [place], 1)
    if i + 1 < count:
        if (events[i + 1] >> 32) == p:
            place = (events[i + 1] & 4294967295) >> 1
            pk.atomic_fetch_add(changes, [place], -1)


@pk.workunit
def find_longest(
    j: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    changes: pk.View1D[pk.int32],
    longest: pk.View1D[pk.int32],
    count: int,
):
    """Find the longest beginning of the sequence after which no part is overweight."""
    acc += changes[j]
    if last_pass and acc == 0:
        ends: int = 1
        if j + 1 < count:
            if changes[j + 1] == 0:
                ends = 0
        if ends == 1:
            pk.atomic_fetch_max(longest, [0], j + 1)


@pk.workunit
def admit_rest(
    i: int,
    events: pk.View1D[pk.int64],
    sums: pk.View1D[pk.int64],
    bases: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
    longest: pk.View1D[pk.int32],
    admitted: pk.View1D[pk.int32],
):
    """Admit a move up to there; one after it if its destination has room even if nobody leaves."""
    if (events[i] & 1) == 0:
        return
    p: pk.int64 = events[i] >> 32
    place: pk.int64 = (events[i] & 4294967295) >> 1
    admitted[place] = 0
    if place < longest[0] or account[p] + sums[i] - bases[p] <= limits[p]:
        admitted[place] = 1


@pk.workunit
def make_moves(
    j: int,
    moves: pk.View1D[pk.int64],
    admitted: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    destinations: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    movers: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    list_size: int,
    k: int,
):
    """Make the moves that are admitted."""
    if admitted[j] == 0:
        return
    v: int = moves[j] & 2147483647
    destinations[v] = targets[v]
    move(v, destinations, parts, sources, vertex_weights, movers, account, list_size, k)
