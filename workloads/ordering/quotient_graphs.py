"""Quotient graphs of the blocks of a matrix: the variables of each block, then its halo.

A halo has a copy of each vertex that is adjacent to the block and not in it. The list of a copy has
only variables of the block, because edges inside the halo do not change a degree in the block.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, Offset, edges
from jetpy.workloads.ordering.minimum_degree import Block, Kind, Quotient

NONE = -1


@dataclass(frozen=True, eq=False)
class Blocks:
    """Disjoint sets of vertices, by block or by position in `vertices`."""

    block_of: pk.View1D[pk.int32]  # block of each vertex, NONE outside of all blocks
    vertices: pk.View1D[pk.int32]  # the vertices of the blocks in ascending order, block by block
    positions: pk.View1D[pk.int32]  # position of each vertex in `vertices`
    starts: pk.View1D[pk.int32]  # first position of each block, and the end of the last block
    halo_sizes: pk.View1D[pk.int32]
    entry_counts: pk.View1D[Offset]  # entries of the quotient graph of each block
    last_copies: pk.View1D[Offset]  # last copy of each vertex in a chunk of blocks; NONE
    copies: pk.View1D[pk.int32]  # index in the halo of the end of each directed edge that leaves
    elements: int  # number of vertices that are elements, the first ones; they weigh 0
    paths: pk.View1D[pk.double]  # operations on the most expensive path up to each element


@pk.workunit
def list_vertices(i: int, n: int, blocks: Blocks):
    """List the vertices of all blocks; one index does all of it.

    Before, `starts` has the end of each block.
    """
    for k in range(n):
        v: int = n - 1 - k
        b: int = blocks.block_of[v]
        if b != NONE:
            blocks.starts[b] -= 1
            blocks.vertices[blocks.starts[b]] = v
            blocks.positions[v] = blocks.starts[b]


@pk.workunit
def find_halos(i: int, n: int, chunks: pk.View1D[pk.int32], matrix: Graph, blocks: Blocks):
    """Count the halo and the entries of each block of chunk i, ``chunks[i]..chunks[i + 1] - 1``.

    Each chunk has its own part of `last_copies`, for the n vertices of the matrix.
    """
    copies: int = 0
    for b in range(chunks[i], chunks[i + 1]):
        before: int = copies
        entries: int = 0
        for place in range(blocks.starts[b], blocks.starts[b + 1]):
            for e in edges(blocks.vertices[place], matrix):
                u: int = matrix.indices[e]
                entries += 1
                if blocks.block_of[u] != b:
                    last: int = i * n + u
                    if blocks.last_copies[last] < before:
                        blocks.last_copies[last] = copies
                        copies += 1
                    blocks.copies[e] = blocks.last_copies[last] - before
                    entries += 1
        blocks.halo_sizes[b] = copies - before
        blocks.entry_counts[b] = entries


@pk.function
def add_rows(
    b: int, base: int, matrix: Graph, blocks: Blocks, graph: Quotient, numbers: pk.View1D[Offset]
):
    """Write the lists of the vertices of block b, and count the entries of its halo."""
    first: int = numbers[base + Block.FIRST]
    begin: int = blocks.starts[b]
    halo: int = first + blocks.starts[b + 1] - begin
    for v in range(halo, numbers[base + Block.END]):
        graph.kinds[v] = Kind.HALO
        graph.lengths[v] = 0
        graph.paths[v] = 0.0
    end: int = numbers[base + Block.ENTRIES]
    for v in range(first, halo):
        vertex: int = blocks.vertices[begin + v - first]
        graph.kinds[v] = Kind.VARIABLE
        graph.paths[v] = 0.0
        if vertex < blocks.elements:
            graph.kinds[v] = Kind.ELEMENT
            graph.paths[v] = blocks.paths[vertex]
        graph.weights[v] = matrix.vertex_weights[vertex]
        graph.starts[v] = end
        for e in edges(vertex, matrix):
            u: int = matrix.indices[e]
            if blocks.block_of[u] == b:
                graph.entries[end] = first + blocks.positions[u] - begin
            else:
                copy: int = halo + blocks.copies[e]
                graph.entries[end] = copy
                graph.weights[copy] = matrix.vertex_weights[u]
                graph.lengths[copy] += 1
            end += 1
        graph.lengths[v] = end - graph.starts[v]
    numbers[base + Block.FREE] = end


@pk.function
def add_halo(first: int, halo: int, base: int, graph: Quotient, numbers: pk.View1D[Offset]):
    """Write the lists of the halo, variables halo..Block.END - 1, from the lists of the block."""
    end: int = numbers[base + Block.FREE]
    for h in range(halo, numbers[base + Block.END]):
        graph.starts[h] = end
        end += graph.lengths[h]
        graph.lengths[h] = 0
    for v in range(first, halo):
        for place in range(graph.starts[v], graph.starts[v] + graph.lengths[v]):
            h: int = graph.entries[place]
            if h >= halo:
                graph.entries[graph.starts[h] + graph.lengths[h]] = v
                graph.lengths[h] += 1
    numbers[base + Block.FREE] = end


@pk.workunit
def build_blocks(
    i: int,
    chosen: pk.View1D[pk.int32],
    matrix: Graph,
    blocks: Blocks,
    graph: Quotient,
    numbers: pk.View1D[Offset],
):
    """Build the quotient graph of block ``chosen[i]``, whose numbers are in place i."""
    base: int = i * Block.COUNT
    b: int = chosen[i]
    add_rows(b, base, matrix, blocks, graph, numbers)
    first: int = numbers[base + Block.FIRST]
    add_halo(first, first + blocks.starts[b + 1] - blocks.starts[b], base, graph, numbers)


@pk.workunit
def list_eliminated(
    i: int,
    chosen: pk.View1D[pk.int32],
    blocks: Blocks,
    graph: Quotient,
    numbers: pk.View1D[Offset],
    begins: pk.View1D[pk.int64],
    eliminated: pk.View1D[pk.int32],
):
    """List the vertices of block ``chosen[i]`` in order of elimination, from ``begins[i]`` on."""
    base: int = i * Block.COUNT
    first: int = numbers[base + Block.FIRST]
    begin: int = blocks.starts[chosen[i]]
    for k in range(numbers[base + Block.ORDERED]):
        place: int = begin + graph.order[first + k] - first
        eliminated[begins[i] + k] = blocks.vertices[place]
