"""Vertices of a group, of any pieces of the graph, which meet at one process to be paired.

Of each goes its key, group and number in the whole graph in one, its weight and its digest.
"""

import pykokkos as pk

from jetpy.workloads.coarsening.two_hop import NO_KEY
from jetpy.workloads.common.ghosts import owned_global_id
from jetpy.workloads.common.groups import NO_VERTEX, Graph, Weight
from jetpy.workloads.common.packing import lower_of, pack, upper_of

TOLD = 3
"""Numbers that are told of a vertex."""
DIGEST = TOLD - 1


class OutgoingVertices:
    """Those who go to meetings."""

    keys: pk.View1D[pk.int64]
    target_ranks: pk.View1D[pk.int32]  # processes
    processes: int


class ReceivedVertices:
    """Those who have come, in order of their keys."""

    told: pk.View1D[pk.int64]
    order: pk.View1D[pk.int64]  # places in it
    keys: pk.View1D[pk.int64]  # group, and place in this order
    ids: pk.View1D[pk.int32]
    vertex_weights: pk.View1D[Weight]
    digests: pk.View1D[pk.int32]


@pk.workunit
def list_outgoing(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    keys: pk.View1D[pk.int64],
    outgoing: OutgoingVertices,
):
    """List the vertices that have a group, and where it meets."""
    if keys[i] != NO_KEY:
        if last_pass:
            outgoing.keys[acc] = keys[i]
            outgoing.target_ranks[acc] = upper_of(keys[i]) % outgoing.processes
        acc += 1


@pk.workunit
def pack_vertices(
    i: int,
    outgoing: OutgoingVertices,
    order: pk.View1D[pk.int64],
    digests: pk.View1D[pk.int32],
    graph: Graph,
    vertices: pk.View1D[pk.int32],
    told: pk.View1D[pk.int64],
):
    """Write what is told of a vertex, in an order; `vertices` become those in it."""
    key: pk.int64 = outgoing.keys[order[i]]
    v: int = lower_of(key)
    vertices[i] = v
    told[TOLD * i] = pack(upper_of(key), owned_global_id(v, graph))
    told[TOLD * i + 1] = graph.vertex_weights[v]
    told[TOLD * i + DIGEST] = digests[v]


@pk.workunit
def copy_keys(i: int, told: pk.View1D[pk.int64], keys: pk.View1D[pk.int64]):
    """Copy the keys of those who have come."""
    keys[i] = told[TOLD * i]


@pk.workunit
def unpack_vertices(i: int, received: ReceivedVertices):
    """Write what is known of a vertex at its place in the order."""
    place: pk.int64 = TOLD * received.order[i]
    received.ids[i] = lower_of(received.told[place])
    received.keys[i] = pack(upper_of(received.told[place]), i)
    received.vertex_weights[i] = received.told[place + 1]
    received.digests[i] = received.told[place + DIGEST]


@pk.workunit
def pack_reply(
    i: int, received: ReceivedVertices, match: pk.View1D[pk.int32], partners: pk.View1D[pk.int32]
):
    """Write the partner of a vertex where it came in."""
    partner: int = match[i]
    if partner != NO_VERTEX:
        partner = received.ids[partner]
    partners[received.order[i]] = partner


@pk.workunit
def unpack_reply(
    i: int,
    vertices: pk.View1D[pk.int32],
    found: pk.View1D[pk.int32],
    partners: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
):
    """Note the partner of a vertex that has found one, which is matched then: with itself."""
    if found[i] != NO_VERTEX:
        partners[vertices[i]] = found[i]
        match[vertices[i]] = vertices[i]
