"""Minimum degree orderings by quotient graphs; one index orders a block of consecutive variables.

A pivot is eliminated by making it an element: the list of the variables that were adjacent to it,
which are now pairwise adjacent. A variable keeps a list of elements, then of variables: itself
adjacent to all variables of these elements, and to these variables. Elements that are part of a new
one disappear. Indistinguishable variables are merged, variables that are adjacent to nothing but
the new element are eliminated with its pivot, and degrees are upper bounds.

A variable of the halo is adjacent to the block, but not eliminated. It makes degrees exact where
the block touches the rest of the matrix.

Source: Amestoy, Davis, Duff, "An approximate minimum degree ordering algorithm", SIAM Journal on
Matrix Analysis and Applications 17 (1996). For the halo: Pellegrini, Roman, Amestoy, "Hybridizing
nested dissection and halo approximate minimum degree for efficient sparse matrix ordering",
Concurrency: Practice and Experience 12 (2000).
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import Offset
from jetpy.workloads.ordering.elimination import operations_of

NONE = -1


class Kind(IntEnum):
    """What a variable of the matrix is in the quotient graph."""

    VARIABLE = 0
    HALO = 1
    """A variable that is not eliminated."""
    ELEMENT = 2
    """A pivot, or vertices that were eliminated before; then its weight is 0."""
    ABSORBED = 3
    """Part of another variable or element, or eliminated with a pivot."""


@dataclass(frozen=True, eq=False)
class Quotient:
    """Quotient graphs of blocks; each array has an entry for each variable of the matrix.

    List v of a variable or element is ``entries[starts[v]..starts[v] + lengths[v] - 1]``.
    """

    entries: pk.View1D[pk.int32]
    starts: pk.View1D[Offset]
    lengths: pk.View1D[pk.int32]
    element_counts: pk.View1D[pk.int32]  # elements at the front of the list of a variable
    kinds: pk.View1D[pk.int32]  # Kind
    weights: pk.View1D[pk.int32]  # of a variable; negative while it is in the new element
    degrees: pk.View1D[pk.int32]  # bound of the degree of a variable; weight of an element
    uncovered: pk.View1D[pk.int64]  # weight of an element outside the new one, plus the step's base
    heads: pk.View1D[pk.int32]  # first variable of each degree
    nexts: pk.View1D[pk.int32]  # next variable of the same degree, or in the same bucket
    befores: pk.View1D[pk.int32]  # previous variable of the same degree
    buckets: pk.View1D[pk.int32]  # first variable of each bucket of hashes
    hashes: pk.View1D[pk.int32]  # bucket of a variable of the new element
    next_members: pk.View1D[pk.int32]  # next variable merged with the same one
    last_members: pk.View1D[pk.int32]
    order: pk.View1D[pk.int32]  # the eliminated variables
    paths: pk.View1D[pk.double]  # operations on the most expensive path up to an element
    costs: pk.View1D[pk.double]  # Cost.COUNT for each block


class Block(IntEnum):
    """Indices of the numbers of a block."""

    FIRST = 0
    """First variable of the block, and first entry of `order`."""
    END = 1
    ENTRIES = 2
    """First of its entries."""
    FREE = 3
    """First unused entry."""
    ROOM = 4
    """End of its entries."""
    LEAST = 5
    """A lower bound of the smallest degree."""
    REMAINING = 6
    """Weight of the variables that are not eliminated."""
    ORDERED = 7
    """Number of variables in `order`."""
    COUNT = 8


class Cost(IntEnum):
    """Indices of what the elimination of a block costs."""

    OPERATIONS = 0
    PATH = 1
    """Operations on the most expensive path of the elimination tree, or a little more: an element
    that is part of a new one counts as its child."""
    COUNT = 2


@pk.function
def flipped(v: int) -> int:
    """Return a negative number for a variable, or the variable of such a number."""
    return -2 - v


@pk.function
def list_of(v: int, base: int, graph: Quotient, numbers: pk.View1D[Offset]) -> int:
    """Return the index in `heads` for a variable; the last list has all larger degrees, too."""
    first: int = numbers[base + Block.FIRST]
    last: int = numbers[base + Block.END] - 1
    if graph.degrees[v] > last - first:
        return last
    return first + graph.degrees[v]


@pk.function
def enlist(v: int, base: int, graph: Quotient, numbers: pk.View1D[Offset]):
    """Put a variable at the front of the list of its degree."""
    own: int = list_of(v, base, graph, numbers)
    head: int = graph.heads[own]
    graph.nexts[v] = head
    graph.befores[v] = NONE
    if head != NONE:
        graph.befores[head] = v
    graph.heads[own] = v
    if own - numbers[base + Block.FIRST] < numbers[base + Block.LEAST]:
        numbers[base + Block.LEAST] = own - numbers[base + Block.FIRST]


@pk.function
def unlist(v: int, base: int, graph: Quotient, numbers: pk.View1D[Offset]):
    """Take a variable out of the list of its degree."""
    after: int = graph.nexts[v]
    before: int = graph.befores[v]
    if after != NONE:
        graph.befores[after] = before
    if before != NONE:
        graph.nexts[before] = after
    else:
        graph.heads[list_of(v, base, graph, numbers)] = after


@pk.function
def is_live(v: int, graph: Quotient) -> bool:
    """Whether a variable or element still has a list."""
    return graph.kinds[v] != Kind.ABSORBED


@pk.function
def compact(base: int, graph: Quotient, numbers: pk.View1D[Offset]):
    """Move the lists of a block to the front of its entries.

    Each list begins with the flipped name of its owner meanwhile, and `starts` has what was there.
    """
    for v in range(numbers[base + Block.FIRST], numbers[base + Block.END]):
        if is_live(v, graph) and graph.lengths[v] > 0:
            start: int = graph.starts[v]
            graph.starts[v] = graph.entries[start]
            graph.entries[start] = flipped(v)
    target: int = numbers[base + Block.ENTRIES]
    source: int = target
    while source < numbers[base + Block.FREE]:
        if graph.entries[source] >= 0:
            source += 1
            continue
        owner: int = flipped(graph.entries[source])
        graph.entries[source] = graph.starts[owner]
        graph.starts[owner] = target
        for place in range(graph.lengths[owner]):
            graph.entries[target + place] = graph.entries[source + place]
        source += graph.lengths[owner]
        target += graph.lengths[owner]
    numbers[base + Block.FREE] = target


@pk.function
def add_to_element(v: int, p: int, base: int, graph: Quotient, numbers: pk.View1D[Offset]):
    """Append a variable to the new element of pivot p, unless it is in it or gone."""
    if graph.weights[v] <= 0:
        return
    graph.degrees[p] += graph.weights[v]
    graph.weights[v] = -graph.weights[v]
    graph.entries[numbers[base + Block.FREE]] = v
    numbers[base + Block.FREE] += 1
    if graph.kinds[v] == Kind.VARIABLE:
        unlist(v, base, graph, numbers)


@pk.function
def form_element(p: int, base: int, graph: Quotient, numbers: pk.View1D[Offset]):
    """Make a pivot an element: the union of its elements and variables, at the free entries."""
    needed: int = graph.lengths[p]
    for place in range(graph.element_counts[p]):
        needed += graph.lengths[graph.entries[graph.starts[p] + place]]
    if numbers[base + Block.ROOM] - numbers[base + Block.FREE] < needed:
        compact(base, graph, numbers)
    start: int = numbers[base + Block.FREE]
    graph.weights[p] = -graph.weights[p]
    graph.degrees[p] = 0
    for place in range(graph.lengths[p]):
        item: int = graph.entries[graph.starts[p] + place]
        if place < graph.element_counts[p]:
            for inner in range(graph.lengths[item]):
                add_to_element(graph.entries[graph.starts[item] + inner], p, base, graph, numbers)
            absorb_element(item, p, graph)
        else:
            add_to_element(item, p, base, graph, numbers)
    graph.kinds[p] = Kind.ELEMENT
    graph.starts[p] = start
    graph.lengths[p] = numbers[base + Block.FREE] - start


@pk.function
def absorb(v: int, graph: Quotient):
    """Drop the list of a variable or an element."""
    graph.kinds[v] = Kind.ABSORBED
    graph.lengths[v] = 0
    graph.element_counts[v] = 0


@pk.function
def absorb_element(e: int, p: int, graph: Quotient):
    """Drop an element that is part of the new element of pivot p."""
    absorb(e, graph)
    if graph.paths[e] > graph.paths[p]:
        graph.paths[p] = graph.paths[e]


@pk.function
def join(v: int, u: int, graph: Quotient):
    """Absorb variable v into variable or pivot u; both are in the new element."""
    graph.weights[u] += graph.weights[v]
    graph.weights[v] = 0
    graph.next_members[graph.last_members[u]] = v
    graph.last_members[u] = graph.last_members[v]
    absorb(v, graph)


@pk.function
def measure_elements(p: int, step: pk.int64, graph: Quotient):
    """Compute, for each element of a variable of the new element, its weight outside the new one.

    The weight is added to `step`, which is larger than all earlier entries of `uncovered`.
    """
    for place in range(graph.lengths[p]):
        v: int = graph.entries[graph.starts[p] + place]
        for k in range(graph.element_counts[v]):
            e: int = graph.entries[graph.starts[v] + k]
            if is_live(e, graph):
                if graph.uncovered[e] < step:
                    graph.uncovered[e] = step + graph.degrees[e]
                graph.uncovered[e] += graph.weights[v]


@pk.function
def update_variable(
    v: int, p: int, step: pk.int64, base: int, graph: Quotient, numbers: pk.View1D[Offset]
):
    """Remove what the new element of pivot p covers from the list of a variable, and add p.

    The variable then has its bound without the new element, and is in a bucket. If nothing is left,
    it is eliminated with p.
    """
    start: int = graph.starts[v]
    kept: int = start
    degree: pk.int64 = 0
    h: pk.uint32 = 0
    for k in range(graph.element_counts[v]):
        e: int = graph.entries[start + k]
        if is_live(e, graph):
            outside: pk.int64 = graph.uncovered[e] - step
            if outside > 0:
                degree += outside
                h += e
                graph.entries[kept] = e
                kept += 1
            else:
                absorb_element(e, p, graph)
    elements: int = kept - start
    for k in range(graph.element_counts[v], graph.lengths[v]):
        u: int = graph.entries[start + k]
        if graph.weights[u] > 0:
            degree += graph.weights[u]
            h += u
            graph.entries[kept] = u
            kept += 1
    if kept == start and graph.kinds[v] == Kind.VARIABLE:
        graph.degrees[p] += graph.weights[v]
        join(v, p, graph)
        return
    graph.entries[kept] = graph.entries[start + elements]
    graph.entries[start + elements] = p
    graph.element_counts[v] = elements + 1
    graph.lengths[v] = kept - start + 1
    if degree < graph.degrees[v]:
        graph.degrees[v] = degree
    size: pk.uint32 = numbers[base + Block.END] - numbers[base + Block.FIRST]
    bucket: int = h % size
    bucket += numbers[base + Block.FIRST]
    graph.hashes[v] = bucket
    graph.nexts[v] = graph.buckets[bucket]
    graph.buckets[bucket] = v


@pk.function
def is_same(v: int, u: int, mark: pk.int64, graph: Quotient) -> bool:
    """Whether v has the list of u, whose entries are marked."""
    if graph.lengths[v] != graph.lengths[u] or graph.kinds[v] != graph.kinds[u]:
        return False
    if graph.element_counts[v] != graph.element_counts[u]:
        return False
    for k in range(graph.lengths[v]):
        if graph.uncovered[graph.entries[graph.starts[v] + k]] != mark:
            return False
    return True


@pk.function
def merge_bucket(bucket: int, step: pk.int64, graph: Quotient) -> pk.int64:
    """Merge the variables of a bucket that have the same list; return the next step."""
    mark: pk.int64 = step
    u: int = graph.buckets[bucket]
    graph.buckets[bucket] = NONE
    while u != NONE:
        if graph.nexts[u] != NONE:
            for k in range(graph.lengths[u]):
                graph.uncovered[graph.entries[graph.starts[u] + k]] = mark
            before: int = u
            v: int = graph.nexts[u]
            while v != NONE:
                after: int = graph.nexts[v]
                if is_same(v, u, mark, graph):
                    join(v, u, graph)
                    graph.nexts[before] = after
                else:
                    before = v
                v = after
            mark += 1
        u = graph.nexts[u]
    return mark


@pk.function
def finish_element(p: int, base: int, graph: Quotient, numbers: pk.View1D[Offset]) -> pk.double:
    """Put the variables of the new element into the lists of their degrees, and order the pivot.

    Returns the operations of its columns of the factor.
    """
    weight: int = -graph.weights[p]
    numbers[base + Block.REMAINING] -= weight
    start: int = graph.starts[p]
    kept: int = start
    for place in range(start, start + graph.lengths[p]):
        v: int = graph.entries[place]
        if graph.kinds[v] == Kind.ABSORBED:
            continue
        own: int = -graph.weights[v]
        graph.weights[v] = own
        degree: pk.int64 = graph.degrees[v]
        degree += graph.degrees[p] - own
        if degree > numbers[base + Block.REMAINING] - own:
            degree = numbers[base + Block.REMAINING] - own
        graph.degrees[v] = degree
        if graph.kinds[v] == Kind.VARIABLE:
            enlist(v, base, graph, numbers)
        graph.entries[kept] = v
        kept += 1
    graph.weights[p] = 0
    graph.lengths[p] = kept - start
    numbers[base + Block.FREE] = kept
    if kept == start:
        absorb(p, graph)
    member: int = p
    while member != NONE:
        graph.order[numbers[base + Block.FIRST] + numbers[base + Block.ORDERED]] = member
        numbers[base + Block.ORDERED] += 1
        member = graph.next_members[member]
    return operations_of(graph.degrees[p] + weight, weight)


@pk.function
def begin_block(base: int, graph: Quotient, numbers: pk.View1D[Offset]) -> int:
    """Put the variables of a block into the lists of their degrees; return their number.

    Elements come before the variables, in the block and in each list, and weigh 0.
    """
    first: int = numbers[base + Block.FIRST]
    end: int = numbers[base + Block.END]
    count: int = 0
    for v in range(first, end):
        graph.heads[v] = NONE
        graph.buckets[v] = NONE
        graph.next_members[v] = NONE
        graph.last_members[v] = v
        graph.element_counts[v] = 0
        graph.uncovered[v] = 0
        numbers[base + Block.REMAINING] += graph.weights[v]
    for v in range(first, end):
        degree: pk.int64 = 0
        for place in range(graph.starts[v], graph.starts[v] + graph.lengths[v]):
            u: int = graph.entries[place]
            if graph.kinds[u] == Kind.ELEMENT:
                graph.element_counts[v] += 1
                degree += graph.degrees[u] - graph.weights[v]
            else:
                degree += graph.weights[u]
        if degree > numbers[base + Block.REMAINING]:
            degree = numbers[base + Block.REMAINING]
        graph.degrees[v] = degree
    for i in range(end - first):
        v: int = end - 1 - i
        if graph.kinds[v] == Kind.VARIABLE:
            enlist(v, base, graph, numbers)
            count += 1
    return count


@pk.function
def next_pivot(base: int, graph: Quotient, numbers: pk.View1D[Offset]) -> int:
    """Take a variable of smallest degree out of its list."""
    first: int = numbers[base + Block.FIRST]
    while graph.heads[first + numbers[base + Block.LEAST]] == NONE:
        numbers[base + Block.LEAST] += 1
    p: int = graph.heads[first + numbers[base + Block.LEAST]]
    unlist(p, base, graph, numbers)
    return p


@pk.workunit
def order_blocks(i: int, graph: Quotient, numbers: pk.View1D[Offset]):
    """Order the variables of block i that are not in its halo."""
    base: int = i * Block.COUNT
    count: int = begin_block(base, graph, numbers)
    operations: pk.double = 0.0
    longest: pk.double = 0.0
    for v in range(numbers[base + Block.FIRST], numbers[base + Block.END]):
        if graph.paths[v] > longest:
            longest = graph.paths[v]
    jump: pk.int64 = numbers[base + Block.REMAINING]
    step: pk.int64 = 1
    while numbers[base + Block.ORDERED] < count:
        p: int = next_pivot(base, graph, numbers)
        form_element(p, base, graph, numbers)
        measure_elements(p, step, graph)
        for place in range(graph.starts[p], graph.starts[p] + graph.lengths[p]):
            update_variable(graph.entries[place], p, step, base, graph, numbers)
        step += jump + 1
        for place in range(graph.starts[p], graph.starts[p] + graph.lengths[p]):
            v: int = graph.entries[place]
            if graph.kinds[v] != Kind.ABSORBED:
                step = merge_bucket(graph.hashes[v], step, graph)
        step += 1
        cost: pk.double = finish_element(p, base, graph, numbers)
        operations += cost
        graph.paths[p] += cost
        if graph.paths[p] > longest:
            longest = graph.paths[p]
    graph.costs[i * Cost.COUNT + Cost.OPERATIONS] = operations
    graph.costs[i * Cost.COUNT + Cost.PATH] = longest
