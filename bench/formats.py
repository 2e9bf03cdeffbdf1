"""Readers of edges from circuits, netlists, surfaces, finite elements and power grids.

Each reader takes the bytes of a file and returns the edges as an int64 array of shape (e, 2), in
any direction, with loops and duplicates. `simple_graph` makes a graph from them. Readers do not
check their input, because `bench.unseen` compares the checksum of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse import csgraph

from jetpy import Graph

Edges = npt.NDArray[np.int64]
Reader = Callable[[bytes], Edges]

LARGEST_CLIQUE = 10
"""Maximum number of pins of a net that becomes a clique. Larger nets are left out."""

_PAIR = re.compile(rb"^[ \t]*(\d+)[ \t,]+(\d+)", re.MULTILINE)
_GATE = re.compile(rb"^\s*(\S+?)\s*=\s*\w+\s*\(([^)]*)\)", re.MULTILINE)
_BRANCHES = re.compile(rb"mpc\.branch\s*=\s*\[(.*?)\]", re.DOTALL)
_SIDES = {
    5: ((0, 1), (1, 2), (2, 0)),
    9: ((0, 1), (1, 2), (2, 3), (3, 0)),
    10: ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)),
}
"""Sides of triangles, quadrilaterals and tetrahedra, by their VTK cell type, which SU2 uses."""


def simple_graph(edges: Edges, name: str) -> Graph:
    """Return the largest connected component of a graph, with unit weights and sorted rows.

    The vertices keep the order of their ids. The ids need not be contiguous.
    """
    ids, ends = np.unique(edges, return_inverse=True)
    u, v = ends.reshape(-1, 2)[edges[:, 0] != edges[:, 1]].T
    half = sp.coo_array((np.ones(len(u), bool), (u, v)), shape=(len(ids), len(ids))).tocsr()
    matrix = (half + half.T).tocsr()
    label = csgraph.connected_components(matrix, directed=False)[1]
    component = np.flatnonzero(label == np.argmax(np.bincount(label)))
    matrix = matrix[component][:, component]
    matrix.sort_indices()
    indptr, indices = (a.astype(np.int32) for a in (matrix.indptr, matrix.indices))
    return Graph(indptr, indices, np.ones_like(indices), np.ones(len(component), np.int32), name)


def read_pairs(data: bytes, *, sizes: bool = False) -> Edges:
    """Read the first two integers of each line that starts with two integers.

    This reads edge lists. With `sizes`, the first of these lines contains sizes and is skipped, as
    in Matrix Market files. Comments, column names and the rest of each line are ignored.
    """
    numbers = np.array(list(chain.from_iterable(_PAIR.findall(data))), "S")
    return numbers.astype(np.int64).reshape(-1, 2)[int(sizes) :]


def read_metis(data: bytes) -> Edges:
    """Read a METIS file without weights."""
    head, *rows = (line for line in data.split(b"\n") if not line.startswith(b"%"))
    rows = rows[: int(head.split()[0])]
    counts = [len(row.split()) for row in rows]
    targets = np.array(b" ".join(rows).split(), "S").astype(np.int64)
    return np.column_stack((np.repeat(np.arange(1, len(rows) + 1), counts), targets))


def read_aig(data: bytes) -> Edges:
    """Read a binary AIGER file: edges from gates and latches to the signals that they read.

    The constant is left out.
    """
    lines = data.split(b"\n", 1)
    _, inputs, latches, outputs, gates = map(int, lines[0].split()[1:6])
    *head, rest = lines[1].split(b"\n", latches + outputs)
    states = np.arange(latches) + inputs + 1
    next_states = np.array([line.split()[0] for line in head[:latches]], "S").astype(np.int64)
    literals = 2 * (inputs + latches + 1 + np.arange(gates, dtype=np.int64))
    first_delta, second_delta = _base_128(rest, 2 * gates).reshape(-1, 2).T
    first_input = literals - first_delta
    edges = np.concatenate(
        (
            np.column_stack((states, next_states // 2)),
            np.column_stack((literals // 2, first_input // 2)),
            np.column_stack((literals // 2, (first_input - second_delta) // 2)),
        )
    )
    return edges[edges[:, 1] > 0]


def read_bench(data: bytes) -> Edges:
    """Read an ISCAS netlist (``.bench``): edges from gates and flip-flops to their inputs."""
    ids: dict[bytes, int] = {}
    return np.array(
        [
            (ids.setdefault(gate, len(ids)), ids.setdefault(pin.strip(), len(ids)))
            for gate, pins in _GATE.findall(data)
            for pin in pins.split(b",")
        ],
        np.int64,
    )


def read_hgr(data: bytes, *, star: bool) -> Edges:
    """Read an hMETIS file without net weights. Each net becomes a star or a clique.

    The centre of a star is an additional vertex. With cliques, nets of more than `LARGEST_CLIQUE`
    pins are left out.
    """
    head, *lines = data.splitlines()
    nets, vertices = map(int, head.split()[:2])
    pins = [[int(pin) for pin in line.split()] for line in lines[:nets]]
    pairs: Iterable[tuple[int, int]]
    if star:
        pairs = ((vertices + 1 + net, pin) for net, members in enumerate(pins) for pin in members)
    else:
        small = (members for members in pins if len(members) <= LARGEST_CLIQUE)
        pairs = chain.from_iterable(combinations(members, 2) for members in small)
    return np.array(list(pairs), np.int64)


def read_obj(data: bytes) -> Edges:
    """Read a Wavefront surface: the edges of its faces."""
    return np.array(
        [
            (int(a.split(b"/")[0]), int(b.split(b"/")[0]))
            for line in data.splitlines()
            if line.startswith(b"f ")
            for corners in [line.split()[1:]]
            for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)
        ],
        np.int64,
    )


def read_ply(data: bytes) -> Edges:
    """Read a binary PLY surface of triangles whose vertices are three floats: edges of faces."""
    head, body = data.split(b"end_header\n", 1)
    vertices, faces = (
        int(re.findall(rb"element %s (\d+)" % what, head)[0]) for what in (b"vertex", b"face")
    )
    face = np.dtype([("count", "u1"), ("corners", "<i4", 3)])
    corners = np.frombuffer(body, face, faces, offset=12 * vertices)["corners"].astype(np.int64)
    return np.stack((corners, np.roll(corners, 1, axis=1)), axis=2).reshape(-1, 2)


def read_su2_cells(data: bytes) -> Edges:
    """Read an SU2 mesh: edges between cells that share a side.

    Cells are triangles, quadrilaterals or tetrahedra.
    """
    lines = iter(data.splitlines())
    count = next(int(line.split(b"=")[1]) for line in lines if line.startswith(b"NELEM"))
    last: dict[tuple[int, ...], int] = {}
    edges = []
    for cell in range(count):
        kind, *nodes = map(int, next(lines).split())
        for side in _SIDES[kind]:
            key = tuple(sorted(nodes[corner] for corner in side))
            other = last.setdefault(key, cell)
            if other != cell:
                edges.append((other, cell))
    return np.array(edges, np.int64)


def read_matpower(data: bytes) -> Edges:
    """Read a MATPOWER case: the branches between buses."""
    found = _BRANCHES.search(data)
    assert found is not None
    return read_pairs(found[1])


def _base_128(data: bytes, count: int) -> npt.NDArray[np.int64]:
    """Decode the first `count` numbers of AIGER's base-128 encoding.

    Each byte contains seven bits, lowest first. The top bit is set in all but the last byte of a
    number.
    """
    digits = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(digits < 128)[:count]
    digits = digits[: ends[-1] + 1]
    starts = np.concatenate(([0], ends[:-1] + 1))
    positions = np.arange(len(digits)) - np.repeat(starts, ends + 1 - starts)
    return np.add.reduceat((digits & 127).astype(np.int64) << 7 * positions, starts)


READERS: dict[str, Reader] = {
    "pairs": read_pairs,
    "pairs after sizes": partial(read_pairs, sizes=True),
    "metis": read_metis,
    "aig": read_aig,
    "bench": read_bench,
    "hgr star": partial(read_hgr, star=True),
    "hgr clique": partial(read_hgr, star=False),
    "obj": read_obj,
    "ply": read_ply,
    "su2 cells": read_su2_cells,
    "matpower": read_matpower,
}
"""Readers by the name of the format in unseen.csv."""
