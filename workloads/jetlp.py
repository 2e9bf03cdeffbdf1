"""Jetlp: unconstrained label propagation with two filters and locks (Jet, section 4.1)."""

import pykokkos as pk

from jetpy.workloads.connectivity import capacity
from jetpy.workloads.hashing import mix


@pk.workunit
def propose(
    v: int,
    indptr: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    gains: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    locks: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    k: int,
    seed: int,
    ratio: int,
    iteration: int,
):
    """Choose a destination for every vertex and pass it through the first filter.

    `best` caches the destination (-1: no adjacent part, -2: unknown), `gains` its gain F(v) and
    `own` the weight into the own part. A vertex that passes has its gain as priority, others
    -2147483647. `ratio` is the filter ratio c in percent.
    """
    priorities[v] = -2147483647
    if locks[v] == iteration:
        return
    if best[v] == -2:
        p: int = parts[v]
        s: int = rows[v]
        last: int = s + capacity(indptr[v + 1] - indptr[v], k)
        inside: int = 0
        found: int = -1
        highest: int = 0
        found_hash: pk.uint32 = 0
        while s < last:
            q: int = slots[s]
            if q == -1:
                break
            w: int = weights[s]
            if q == p:
                inside = w
            elif q >= 0 and w > 0 and w >= highest:
                h: pk.uint32 = mix((v ^ seed) + (q << 16))
                if w > highest or h > found_hash or (h == found_hash and q < found):
                    found = q
                    highest = w
                    found_hash = h
            s += 1
        best[v] = found
        own[v] = inside
        gains[v] = highest - inside
    if best[v] >= 0:
        limit: pk.int64 = own[v]
        limit = limit * ratio
        limit //= 100
        if gains[v] >= 0 or -gains[v] < limit:
            priorities[v] = gains[v]


@pk.workunit
def list_proposals(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    priorities: pk.View1D[pk.int32],
    proposals: pk.View1D[pk.int32],
):
    """List the vertices that passed the first filter."""
    if priorities[v] != -2147483647:
        if last_pass:
            proposals[acc] = v
        acc += 1


@pk.workunit
def afterburn(
    i: int,
    proposals: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    accepted: pk.View1D[pk.int32],
):
    """Recompute a proposal's gain as if all neighbours of higher priority had moved."""
    v: int = proposals[i]
    source: int = parts[v]
    destination: int = best[v]
    priority: int = priorities[v]
    gain: int = 0
    e: int = indptr[v]
    end: int = indptr[v + 1]
    while e < end:
        u: int = indices[e]
        p: int = parts[u]
        other: int = priorities[u]
        if other > priority or (other == priority and u < v):
            if other != -2147483647:
                p = best[u]
        if p == destination:
            gain += edge_weights[e]
        elif p == source:
            gain -= edge_weights[e]
        e += 1
    accepted[i] = 0
    if gain >= 0:
        accepted[i] = 1


@pk.workunit
def list_moves(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    proposals: pk.View1D[pk.int32],
    accepted: pk.View1D[pk.int32],
    locks: pk.View1D[pk.int32],
    moves: pk.View1D[pk.int32],
    iteration: int,
):
    """List the accepted proposals and lock them for the next Jetlp iteration."""
    if accepted[i] == 1:
        if last_pass:
            moves[acc] = proposals[i]
            locks[proposals[i]] = iteration + 1
        acc += 1
