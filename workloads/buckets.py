"""The bucket list: a graph whose edges come and go (iG-kway, section V-A and V-B).

The row of a vertex is a run of buckets of 32 slots each, from bucket `first[v]` on. Its neighbours
fill the first `length[v]` slots, in any order; the others are spare. Rows of several vertices are
walked by `lanes` indices each, of which every one takes every `lanes`-th slot.
"""

import pykokkos as pk


@pk.function
def slot_of_row(v: int, first: pk.View1D[pk.int32]) -> pk.int64:
    """Return the first slot of a row."""
    bucket: pk.int64 = first[v]
    return bucket * 32


@pk.workunit
def lay_rows(
    i: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    first: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    lanes: int,
):
    """Copy the rows of a graph into buckets."""
    v: int = i // lanes
    start: pk.int64 = slot_of_row(v, first)
    e: int = indptr[v] + i % lanes
    while e < indptr[v + 1]:
        s: pk.int64 = start + (e - indptr[v])
        slots[s] = indices[e]
        weights[s] = edge_weights[e]
        e += lanes


@pk.workunit
def move_rows(
    i: int,
    vertices: pk.View1D[pk.int32],
    first: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    length: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    new_slots: pk.View1D[pk.int32],
    new_weights: pk.View1D[pk.int32],
    lanes: int,
):
    """Copy the rows of some vertices to other buckets, from `targets` on."""
    j: int = i // lanes
    v: int = vertices[j]
    source: pk.int64 = slot_of_row(v, first)
    target: pk.int64 = slot_of_row(j, targets)
    s: int = i % lanes
    while s < length[v]:
        new_slots[target + s] = slots[source + s]
        new_weights[target + s] = weights[source + s]
        s += lanes


@pk.workunit
def assign(
    j: int,
    vertices: pk.View1D[pk.int32],
    values: pk.View1D[pk.int32],
    array: pk.View1D[pk.int32],
):
    """Set what an array says of some vertices."""
    array[vertices[j]] = values[j]


@pk.workunit
def forget(
    j: int,
    vertices: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
):
    """Delete vertices that have no edges."""
    vertex_weights[vertices[j]] = 0
    parts[vertices[j]] = -1


@pk.workunit
def find_edges(
    i: int,
    sources: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    first: pk.View1D[pk.int32],
    length: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    places: pk.View1D[pk.int32],
    found_weights: pk.View1D[pk.int32],
    lanes: int,
):
    """Find edges in the rows of their sources: the place there, and the weight.

    Both stay as they are where there is no such edge.
    """
    j: int = i // lanes
    v: int = sources[j]
    start: pk.int64 = slot_of_row(v, first)
    s: int = i % lanes
    while s < length[v]:
        if slots[start + s] == targets[j]:
            places[j] = s
            found_weights[j] = weights[start + s]
            return
        s += lanes


@pk.workunit
def modify_rows(
    j: int,
    acc: pk.Acc[pk.int64],
    vertices: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    places: pk.View1D[pk.int32],
    targets: pk.View1D[pk.int32],
    changes: pk.View1D[pk.int32],
    first: pk.View1D[pk.int32],
    length: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
):
    """Delete edges from the row of a vertex, then insert others; sum up the change of the cut.

    Vertex number j of a list has the modifiers from `starts[j]` on. A deletion has the place of
    the edge in the row, the largest one first, so that the last edge can take it; an insertion has
    place -1, its target and its weight. Each edge is counted in the rows of both its ends.
    """
    v: int = vertices[j]
    start: pk.int64 = slot_of_row(v, first)
    used: int = length[v]
    c: int = starts[j]
    while c < starts[j + 1]:
        s: int = places[c]
        change: int = changes[c]
        if s >= 0:
            used -= 1
            change = -weights[start + s]
            slots[start + s] = slots[start + used]
            weights[start + s] = weights[start + used]
        else:
            slots[start + used] = targets[c]
            weights[start + used] = change
            used += 1
        if parts[v] != parts[targets[c]]:
            acc += change
        c += 1
    length[v] = used


@pk.workunit
def list_neighbours(
    i: int,
    vertices: pk.View1D[pk.int32],
    first: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    neighbours: pk.View1D[pk.int32],
    lanes: int,
):
    """Copy the neighbours of listed vertices."""
    j: int = i // lanes
    start: pk.int64 = slot_of_row(vertices[j], first)
    e: int = indptr[j] + i % lanes
    while e < indptr[j + 1]:
        neighbours[e] = slots[start + (e - indptr[j])]
        e += lanes


@pk.workunit
def list_vertices(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    vertex_weights: pk.View1D[pk.int32],
    vertices: pk.View1D[pk.int32],
    numbers: pk.View1D[pk.int32],
):
    """List the vertices that are there, and number them; a deleted one has no weight."""
    if vertex_weights[v] > 0:
        if last_pass:
            vertices[acc] = v
            numbers[v] = acc
        acc += 1


@pk.workunit
def offset_listed(
    j: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    vertices: pk.View1D[pk.int32],
    length: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
):
    """Find where the rows of listed vertices begin if they follow each other; the end is last."""
    if last_pass:
        indptr[j] = acc
    acc += length[vertices[j]]
    if last_pass:
        indptr[j + 1] = acc


@pk.workunit
def copy_listed(
    i: int,
    vertices: pk.View1D[pk.int32],
    numbers: pk.View1D[pk.int32],
    first: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    lanes: int,
):
    """Copy the rows of listed vertices out of the buckets, neighbours by their numbers."""
    j: int = i // lanes
    start: pk.int64 = slot_of_row(vertices[j], first)
    e: int = indptr[j] + i % lanes
    while e < indptr[j + 1]:
        s: pk.int64 = start + (e - indptr[j])
        indices[e] = numbers[slots[s]]
        edge_weights[e] = weights[s]
        e += lanes
