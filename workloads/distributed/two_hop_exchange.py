"""Exchange of vertices for two-hop matching: one process receives and pairs a whole group.

The record of a vertex contains its key, weight, digest, and part if coarsening keeps parts apart.
The key packs the group and the global id.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.coarsening.two_hop import NO_KEY
from jetpy.workloads.common.ghosts import owned_global_id
from jetpy.workloads.common.groups import NO_VERTEX, Constraints, Graph, Weight
from jetpy.workloads.common.packing import lower_of, pack, upper_of

RECORD_WORDS = 3
"""Words (int64) of the record of a vertex."""
DIGEST = RECORD_WORDS - 1
"""Index of the part and the digest, packed, in a record."""


@dataclass(frozen=True, eq=False)
class OutgoingVertices:
    """Vertices that this process sends to others, or to itself."""

    keys: pk.View1D[pk.int64]  # group and local id, packed
    target_ranks: pk.View1D[pk.int32]
    processes: int  # number of processes
    digests: pk.View1D[pk.int32]  # by local id


@dataclass(frozen=True, eq=False)
class ReceivedVertices:
    """Vertices that this process has received, sorted by key."""

    recv_buffer: pk.View1D[pk.int64]
    order: pk.View1D[pk.int64]  # indices of records
    keys: pk.View1D[pk.int64]  # group, and index in this order, packed
    ids: pk.View1D[pk.int32]
    vertex_weights: pk.View1D[Weight]
    digests: pk.View1D[pk.int32]
    parts: pk.View1D[pk.int32]


@pk.workunit
def list_outgoing(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    keys: pk.View1D[pk.int64],
    outgoing: OutgoingVertices,
):
    """List the vertices that have a group, and the rank that pairs the group."""
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
    constraints: Constraints,
    graph: Graph,
    vertices: pk.View1D[pk.int32],
    send_buffer: pk.View1D[pk.int64],
):
    """Write the record of a vertex to the send buffer, and its local id to `vertices`."""
    key: pk.int64 = outgoing.keys[order[i]]
    v: int = lower_of(key)
    vertices[i] = v
    send_buffer[RECORD_WORDS * i] = pack(upper_of(key), owned_global_id(v, graph))
    send_buffer[RECORD_WORDS * i + 1] = graph.vertex_weights[v]
    part: int = 0
    if constraints.within_parts:
        part = constraints.parts[v]
    send_buffer[RECORD_WORDS * i + DIGEST] = pack(part, outgoing.digests[v])


@pk.workunit
def copy_keys(i: int, recv_buffer: pk.View1D[pk.int64], keys: pk.View1D[pk.int64]):
    """Copy the key of a received vertex."""
    keys[i] = recv_buffer[RECORD_WORDS * i]


@pk.workunit
def unpack_vertices(i: int, received: ReceivedVertices):
    """Read the record of a received vertex; i is its index in the order of the keys."""
    record: pk.int64 = RECORD_WORDS * received.order[i]
    received.ids[i] = lower_of(received.recv_buffer[record])
    received.keys[i] = pack(upper_of(received.recv_buffer[record]), i)
    received.vertex_weights[i] = received.recv_buffer[record + 1]
    received.digests[i] = lower_of(received.recv_buffer[record + DIGEST])
    received.parts[i] = upper_of(received.recv_buffer[record + DIGEST])


@pk.workunit
def pack_reply(
    i: int, received: ReceivedVertices, match: pk.View1D[pk.int32], partners: pk.View1D[pk.int32]
):
    """Write the global id of a vertex's partner, or NO_VERTEX, at the index of its record."""
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
    """Store the global id of a vertex's partner, if any; the vertex is then matched with itself."""
    if found[i] != NO_VERTEX:
        partners[vertices[i]] = found[i]
        match[vertices[i]] = vertices[i]
