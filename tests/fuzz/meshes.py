"""Meshes: their dual graphs and node graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from jetpy.meshes.dual import cells_of_vertices, ghost_cells, spread
from jetpy.meshes.files import read_mesh, write_mesh
from jetpy.meshes.formats import meshio
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine
from tests.fuzz.oracles import Ints, Parts, sources_of

Blocks = list[tuple[str, Ints]]
CHOICES: Choices = {
    "mesh": ["line", "triangle", "quad", "mixed flat", "tetra", "hexahedron", "wedge", "mixed"],
    "common_nodes": [None, None, None, 1, 2, 3, 4, 9],
    "quadratic": [False, False, True],
    "boundary": [False, True],
}
DIMENSIONS = {"line": 1, "triangle": 2, "quad": 2, "mixed flat": 2}
OTHER_NODES = 3


@dataclass(frozen=True, eq=False)
class Meshed:
    kind: str
    blocks: Blocks
    boundary: Blocks
    common_nodes: int | None

    def __str__(self) -> str:
        sizes = {name: cells.shape for name, cells in [*self.blocks, *self.boundary]}
        return f"mesh: {self.kind}, {sizes}, common_nodes={self.common_nodes}"

    def _graph(self) -> Graph:
        return jetpy.dual_graph(self.boundary + self.blocks, common_nodes=self.common_nodes)

    def parts(self, engine: Engine) -> Parts:
        return jetpy.partition(self._graph(), 3, preset="fast", **engine).parts

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        """Cells of a mesh without gaps share a facet if they share `dimension` nodes."""
        incident = _incidence(self.blocks)
        shared = incident @ incident.T
        np.fill_diagonal(shared, 0)
        needed = self.common_nodes or DIMENSIONS.get(self.kind, 3)
        graph = self._graph()
        yield from _compare("mesh neighbours", graph, shared >= needed)
        everywhere = _incidence([*self.blocks, *self.boundary])
        common_cells = everywhere.T @ everywhere
        np.fill_diagonal(common_cells, 0)
        nodes = jetpy.node_graph(self.boundary + self.blocks)
        yield from _compare("mesh node pairs", nodes, common_cells > 0)
        first, *others = (self.parts(engine) for engine in engines)
        yield same("mesh parts", first.shape, (len(shared),))
        for other in others:
            yield equal("engines agree", first, other)
        yield from self._through_gmsh(graph, first)

    def _through_gmsh(self, graph: Graph, parts: Parts) -> Iterator[Finding]:
        """Gmsh's format orders cells anew, but keeps the dual graph and the sizes of parts."""
        standard = not any(name[-1].isdigit() for name, _ in self.blocks)
        if not standard or not graph.n or self.common_nodes:
            return
        blocks = [(name, cells) for name, cells in self.boundary + self.blocks if len(cells)]
        nodes = 1 + max(int(cells.max()) for _, cells in blocks)
        mesh = meshio().Mesh(np.zeros((nodes, 3)), blocks)
        with TemporaryDirectory() as folder:
            path = Path(folder, "out.msh")
            write_mesh(path, mesh, spread(mesh, parts), 3, ghost_cells(mesh, graph, parts))
            found = read_mesh(path)
        again = jetpy.dual_graph(found)
        yield equal("mesh in Gmsh", np.sort(again.degrees), np.sort(graph.degrees))
        written = np.concatenate(found.cell_data["part"])[cells_of_vertices(found)]
        yield equal("mesh in Gmsh", np.bincount(written.astype(int)), np.bincount(parts))
        cuts = [
            jetpy.evaluate(a, own.astype(np.int32)).cut
            for a, own in ((graph, parts), (again, written))
        ]
        yield same("mesh in Gmsh", *cuts)


def _incidence(blocks: Blocks) -> Ints:
    """Return the incidence matrix of cells and corners, shape (cells, nodes)."""
    corners = [corners_of(name, cells) for name, cells in blocks]
    nodes = max((int(cells.max(initial=-1)) for cells in corners), default=-1) + 1
    table = np.zeros((sum(map(len, corners)), nodes), np.int64)
    row = 0
    for cells in corners:
        table[np.arange(row, row + len(cells))[:, None], cells] = 1
        row += len(cells)
    return table


def corners_of(name: str, cells: Ints) -> Ints:
    """Return the corners of cells, which precede all other nodes."""
    digits = "".join(c for c in name if c.isdigit())
    return cells[:, : cells.shape[1] - OTHER_NODES] if digits else cells


def _compare(check: str, graph: Graph, table: Ints) -> Iterator[Finding]:
    """Compare a graph with an adjacency matrix."""
    found = np.zeros(table.shape, bool)
    if graph.n != len(table):
        yield same(check, graph.n, len(table))
        return
    found[sources_of(graph), graph.indices] = True
    same_pairs = (found == table).all() and len(graph.indices) == int(table.sum())
    yield ensure(check, same_pairs, f"{np.argwhere(found != table)[:5].tolist()} differ")
    ones = (graph.edge_weights == 1).all() and (graph.vertex_weights == 1).all()
    yield ensure(check, ones, "a weight is not 1")


def _boxes(rng: Random, dimension: int) -> Ints:
    """Return the corners of the cells of a grid in binary order, shape (cells, 2**dimension)."""
    most = {1: 60, 2: 12, 3: 5}[dimension]
    shape = rng.integers(1, most, dimension)
    nodes = np.arange(np.prod(shape + 1)).reshape(shape + 1)
    corners = np.stack(
        [
            nodes[tuple(slice(b, b + s) for b, s in zip(bits, shape, strict=True))].ravel()
            for bits in np.ndindex(*[2] * dimension)
        ],
        axis=1,
    )
    return corners[rng.random(len(corners)) < rng.choice([0.7, 1.0])]


def _cells(rng: Random, kind: str) -> Blocks:
    """Return cells that share whole facets or no nodes of a facet."""
    boxes = _boxes(rng, DIMENSIONS.get(kind, 3))
    split = rng.random(len(boxes)) < (0.5 if kind.startswith("mixed") else 1.0)
    some, others = boxes[split], boxes[~split]
    if kind == "line":
        return [("line", boxes)]
    if kind == "quad":
        return [("quad", boxes[:, [0, 1, 3, 2]])]
    if kind in ("triangle", "mixed flat"):
        halves = np.concatenate([some[:, [0, 1, 3]], some[:, [0, 3, 2]]])
        return [("triangle", halves), ("quad", others[:, [0, 1, 3, 2]])]
    around = [0, 1, 3, 2, 4, 5, 7, 6]
    if kind == "hexahedron":
        return [("hexahedron", boxes[:, around])]
    if kind == "wedge":
        lower, upper = [[0, 1, 3], [0, 3, 2]], [[4, 5, 7], [4, 7, 6]]
        halves = [boxes[:, a + b] for a, b in zip(lower, upper, strict=True)]
        return [("wedge", np.concatenate(halves))]
    if kind == "tetra":
        ways = [[0, a, b, 7] for a in (1, 2, 4) for b in (3, 5, 6) if a & b]
        return [("tetra", np.concatenate([boxes[:, way] for way in ways]))]
    centres = boxes.max(initial=-1) + 1 + np.arange(len(some))
    faces = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]]
    pyramids = [np.column_stack([some[:, face], centres]) for face in faces]
    return [("hexahedron", others[:, around]), ("pyramid", np.concatenate(pyramids))]


def meshed(rng: Random) -> Meshed:
    kind = rng.pick("mesh", CHOICES["mesh"])
    blocks = [(name, rng.permutation(cells)) for name, cells in _cells(rng, kind)]
    nodes = 1 + max((int(cells.max(initial=-1)) for _, cells in blocks), default=-1)
    numbers = rng.permutation(nodes)
    blocks = [(name, numbers[cells]) for name, cells in blocks]
    boundary: Blocks = []
    if kind != "line" and rng.pick("boundary", CHOICES["boundary"]):
        boundary = [("line", cells[:, :2]) for _, cells in blocks]
    if rng.pick("quadratic", CHOICES["quadratic"]):
        blocks = [
            (f"{name}{cells.shape[1] + OTHER_NODES}", _with_nodes(rng, cells, nodes))
            for name, cells in blocks
        ]
    return Meshed(kind, blocks, boundary, rng.pick("common_nodes", CHOICES["common_nodes"]))


def _with_nodes(rng: Random, cells: Ints, first: int) -> Ints:
    """Return cells with additional nodes that are not corners and must be ignored."""
    more = rng.integers(first, first + 5, (len(cells), OTHER_NODES))
    return np.concatenate([cells, more], axis=1)
