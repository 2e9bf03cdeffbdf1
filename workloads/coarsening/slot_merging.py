"""Merging of parallel edges on GPUs: one index per slot of a coarse row, so that no thread waits.

The edges of a pair are gathered into the slots of their coarse row. In a short row, each slot
compares itself with the others: the first slot of a neighbour adds up the weights of all of them.
In a long row, lanes enter the edges into a hash table. The used slots are then copied to the coarse
graph. The entries of a short row are in the order in which `contraction` merges them.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.coarsening.contraction import Pairs, entries_of
from jetpy.workloads.common.groups import Graph, LongRows, Offset, Weight
from jetpy.workloads.common.hash_table import FREE, claim_slot, slot_of_claim
from jetpy.workloads.common.hashing import spread
from jetpy.workloads.common.lists import row_with_entry
from jetpy.workloads.common.long_rows import lane_entries, row_of
from jetpy.workloads.common.packing import pack, upper_of


@dataclass(frozen=True, eq=False)
class Slots:
    """Coarse rows during the merge: row c has the slots ``offsets[c]..offsets[c + 1] - 1``."""

    offsets: pk.View1D[Offset]
    keys: pk.View1D[pk.int32]  # coarse neighbour, or FREE
    sums: pk.View1D[Weight]  # weight of the edges to it; `merged` if an earlier slot has it, too


@pk.function
def merged(weight: int) -> int:
    """Return what `sums` contains for a slot whose weight an earlier slot adds; its own inverse."""
    return -1 - weight


@pk.function
def weight_in(slot: int, slots: Slots) -> int:
    """Return the weight of the edge in a slot, whether it is merged or not."""
    weight: int = slots.sums[slot]
    if weight < 0:
        return merged(weight)
    return weight


@pk.function
def is_used(slot: int, slots: Slots) -> bool:
    """Whether a slot becomes an entry of the coarse graph."""
    return slots.keys[slot] != FREE and slots.sums[slot] >= 0


@pk.function
def edge_of_entry(c: int, entry: int, graph: Graph, pairs: Pairs) -> int:
    """Return an edge of a pair: those of the representative come first."""
    u: int = pairs.representatives[c]
    first: int = graph.indptr[u]
    degree: int = graph.indptr[u + 1] - first
    if entry < degree:
        return first + entry
    return graph.indptr[pairs.match[u]] + (entry - degree)


@pk.workunit
def gather_slots(slot: int, n: int, graph: Graph, pairs: Pairs, slots: Slots, longest: int):
    """Copy an edge of a pair into a slot of its coarse row, one of n rows.

    Rows of more than `longest` slots become empty hash tables.
    """
    c: int = row_with_entry(slot, 0, n, slots.offsets)
    slots.keys[slot] = FREE
    slots.sums[slot] = 0
    start: int = slots.offsets[c]
    if slots.offsets[c + 1] - start > longest:
        return
    e: int = edge_of_entry(c, slot - start, graph, pairs)
    d: int = pairs.coarse_of[graph.indices[e]]
    if d != c:
        slots.keys[slot] = d
        slots.sums[slot] = graph.edge_weights[e]


@pk.workunit
def merge_long_rows(i: int, graph: Graph, pairs: Pairs, slots: Slots, long_rows: LongRows):
    """Merge a lane's share of the edges of a pair into the hash table of a long coarse row.

    The order of the entries in a row varies between runs, so no result may depend on it.
    """
    c: int = row_of(i, long_rows)
    start: int = slots.offsets[c]
    size: int = slots.offsets[c + 1] - start
    u: int = pairs.representatives[c]
    entries: int = entries_of(u, pairs.match[u], graph)
    for entry in lane_entries(i, entries, long_rows):
        e: int = edge_of_entry(c, entry, graph, pairs)
        d: int = pairs.coarse_of[graph.indices[e]]
        if d != c:
            claim: int = claim_slot(d, start + spread(d, size), start, size, slots.keys)
            pk.atomic_fetch_add(slots.sums, [slot_of_claim(claim)], graph.edge_weights[e])


@pk.workunit
def merge_slots(slot: int, acc: pk.Acc[pk.int64], n: int, slots: Slots, longest: int):
    """Add the weights of later slots of the same neighbour, or mark the slot as merged.

    Counts the used slots. A thread that adds up weights may see a slot before or after it is
    marked, with the same weight.
    """
    d: int = slots.keys[slot]
    if d == FREE:
        return
    c: int = row_with_entry(slot, 0, n, slots.offsets)
    start: int = slots.offsets[c]
    end: int = slots.offsets[c + 1]
    if end - start <= longest:
        is_first: bool = True
        for s in range(start, slot):
            if slots.keys[s] == d:
                is_first = False
        if not is_first:
            slots.sums[slot] = merged(slots.sums[slot])
            return
        total: int = slots.sums[slot]
        for s in range(slot + 1, end):
            if slots.keys[s] == d:
                total += weight_in(s, slots)
        slots.sums[slot] = total
    acc += 1


@pk.workunit
def copy_slots(
    slot: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    sums_weights: bool,
    slots: Slots,
    coarse: Graph,
):
    """Copy the used slots to the coarse graph; `sums` then has the number of used slots before.

    The scan counts the used slots. If `sums_weights`, it packs the count and the sum of the weights
    into one sum.
    """
    place: int = acc
    added: pk.int64 = 0
    if sums_weights:
        place = upper_of(acc)
    if is_used(slot, slots):
        added = 1
        if sums_weights:
            added = pack(1, slots.sums[slot])
        if last_pass:
            coarse.indices[place] = slots.keys[slot]
            coarse.edge_weights[place] = slots.sums[slot]
    if last_pass:
        slots.sums[slot] = place
    acc += added


@pk.workunit
def offset_used(c: int, room: int, nnz: int, slots: Slots, coarse: Graph):
    """Set the offset of a coarse row, or of the end, given the numbers of all and of used slots."""
    coarse.indptr[c] = nnz
    if slots.offsets[c] < room:
        coarse.indptr[c] = slots.sums[slots.offsets[c]]
