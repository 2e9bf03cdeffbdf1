"""Dual graphs and node graphs, compared with brute force and lattices."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.errors import GraphError, OptionError
from jetpy.graph.csr import Graph
from jetpy.meshes.cell_types import TYPES, type_of
from jetpy.meshes.dual import spread
from tests.graphs import edge_dict

SOLID = [name for name, kind in TYPES.items() if kind.dimension == 3 and kind.corners]
FLAT = [name for name, kind in TYPES.items() if kind.dimension == 2 and kind.corners]


def edges(graph: Graph) -> set[tuple[int, int]]:
    assert set(graph.edge_weights.tolist()) <= {1}
    return {(u, v) for u, v in edge_dict(graph) if u < v}


def facets_of(name: str, cell: list[int]) -> set[frozenset[int]]:
    kind = TYPES[name]
    if name == "polygon":
        return {frozenset((cell[i - 1], cell[i])) for i in range(len(cell))}
    return {frozenset(cell[i] for i in facet) for facet in kind.facets}


@st.composite
def meshes(draw: st.DrawFn) -> list[tuple[str, list[list[int]]]]:
    """Draw cells of mixed types and one dimension on few nodes, so that they share facets."""
    names = draw(st.sampled_from([SOLID, [*FLAT, "polygon"], ["line"]]))
    found = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)):
        corners = TYPES[name].corners or draw(st.integers(3, 6))
        cell = st.permutations(range(max(corners, 6) + 1)).map(lambda p, c=corners: p[:c])
        found.append((name, draw(st.lists(cell, min_size=1, max_size=4))))
    return found


@settings(max_examples=200)
@given(meshes())
def test_shared_facets_equal_brute_force(mesh: list[tuple[str, list[list[int]]]]) -> None:
    cells = [(name, cell) for name, block in mesh for cell in block]
    graph = jetpy.dual_graph([(name, np.array(block)) for name, block in mesh])
    assert graph.n == len(cells)
    assert edges(graph) == {
        (a, b)
        for (a, one), (b, two) in combinations(enumerate(cells), 2)
        if facets_of(*one) & facets_of(*two)
    }


@settings(max_examples=100)
@given(meshes(), st.integers(1, 4))
def test_common_nodes_equal_brute_force(mesh: Any, least: int) -> None:
    cells = [set(cell) for _, block in mesh for cell in block]
    blocks = [(name, np.array(block)) for name, block in mesh]
    graph = jetpy.dual_graph(blocks, common_nodes=least)
    pairs = combinations(range(len(cells)), 2)
    assert edges(graph) == {(a, b) for a, b in pairs if len(cells[a] & cells[b]) >= least}
    nodes = jetpy.node_graph(blocks)
    assert edges(nodes) == {pair for cell in cells for pair in combinations(sorted(cell), 2)}


def hexahedra(*shape: int) -> np.ndarray:
    """Return the cells of a lattice in the order of the vertices of `jetpy.generators.cube`."""
    nodes = np.arange(np.prod([side + 1 for side in shape])).reshape([s + 1 for s in shape])
    low, high = slice(None, -1), slice(1, None)
    around = [(low, low, low), (high, low, low), (high, high, low), (low, high, low)]
    around += [(x, y, high) for x, y, _ in around]
    return np.stack([nodes[corner] for corner in around], -1).reshape(-1, 8)


def test_lattices_equal_the_generators() -> None:
    cube = jetpy.generators.cube(5, 4, 3)
    cells = hexahedra(5, 4, 3)
    found = jetpy.dual_graph(cells, "hexahedron")
    assert np.array_equal(found.indptr, cube.indptr)
    assert np.array_equal(found.indices, cube.indices)
    assert edges(jetpy.dual_graph(cells, "hexahedron", common_nodes=4)) == edges(cube)
    quadratic = np.hstack([cells, 1000 + np.arange(12 * len(cells)).reshape(-1, 12)])
    assert edges(jetpy.dual_graph(quadratic, "hexahedron20")) == edges(cube)
    assert jetpy.node_graph(cells, "hexahedron", n=130).n == 130
    flat = hexahedra(6, 5, 1)[:, :4]
    assert edges(jetpy.dual_graph(flat, "quad")) == edges(jetpy.generators.grid(6, 5))


def test_polyhedra_equal_hexahedra() -> None:
    def faces(cell: np.ndarray) -> list[list[int]]:
        return [[int(cell[i]) for i in facet] for facet in TYPES["hexahedron"].facets]

    cells = hexahedra(3, 3, 2)
    found = jetpy.dual_graph([("polyhedron8", [faces(cell) for cell in cells])])
    assert edges(found) == edges(jetpy.generators.cube(3, 3, 2))
    assert edges(jetpy.node_graph([("polyhedron", [faces(cell) for cell in cells])])) == edges(
        jetpy.node_graph(cells, "hexahedron")
    )


def test_mesh_objects_are_accepted() -> None:
    cells = hexahedra(3, 2, 2)
    blocks = [SimpleNamespace(type="hexahedron", data=part) for part in (cells[:5], cells[5:])]
    expected = edges(jetpy.generators.cube(3, 2, 2))
    assert edges(jetpy.dual_graph(SimpleNamespace(cells=blocks))) == expected
    assert edges(jetpy.dual_graph({"hexahedron": cells})) == expected
    types = np.full(len(cells) + 1, 12)
    types[3] = 10
    listed = [*cells[:3].tolist(), [0, 1, 3, 4], *cells[3:].tolist()]
    grid = SimpleNamespace(
        celltypes=types,
        offset=np.concatenate([[0], np.cumsum([len(cell) for cell in listed])]),
        cell_connectivity=np.concatenate(listed),
    )
    found = jetpy.dual_graph(grid)
    assert found.n == len(cells) + 1
    assert found.degrees[3] == 0


def test_pyvista_meshes_are_accepted() -> None:
    pyvista = pytest.importorskip("pyvista")
    points = np.random.default_rng(0).random((5, 3))
    mixed = pyvista.PolyData(points, faces=[3, 0, 1, 2, 4, 0, 2, 3, 4])
    assert edges(jetpy.dual_graph(mixed)) == {(0, 1)}
    with_line = pyvista.PolyData(points, lines=[2, 0, 1], faces=[3, 0, 1, 2, 3, 0, 2, 3])
    assert edges(jetpy.dual_graph(with_line)) == {(0, 1)}
    assert spread(with_line, [5, 7]).tolist() == [5, 5, 7]
    expected = edges(jetpy.generators.cube(4, 3, 2))
    image = pyvista.ImageData(dimensions=(3, 4, 5))  # the first axis varies fastest
    assert edges(jetpy.dual_graph(image)) == expected
    assert edges(jetpy.dual_graph(image.cast_to_unstructured_grid())) == expected


def test_boundary_cells_get_the_part_of_their_cell() -> None:
    cells = hexahedra(4, 1, 1)
    ends = np.array([[0, 2, 3, 1], [16, 18, 19, 17]])
    mesh = [("vertex", [[19], [50]]), ("quad", ends), ("hexahedron", cells), ("line", [[4, 5]])]
    graph = jetpy.dual_graph(mesh)
    assert edges(graph) == {(0, 1), (1, 2), (2, 3)}
    parts = spread(mesh, [3, 2, 1, 4])
    assert parts.tolist() == [4, 0, 3, 4, 3, 2, 1, 4, 3]
    assert spread([("hexahedron", cells)], [3, 2, 1, 4]).tolist() == [3, 2, 1, 4]


def test_no_faces_give_an_empty_graph() -> None:
    assert jetpy.dual_graph_of_faces([], []).n == 0


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12), st.integers(0, 9))
def test_faces_give_the_dual_graph(pairs: list[tuple[int, int]], boundary: int) -> None:
    owner = [u for u, _ in pairs] + [0] * boundary
    graph = jetpy.dual_graph_of_faces(np.array(owner, int), np.array([v for _, v in pairs], int))
    assert graph.n == max([*owner, *(v for _, v in pairs), -1]) + 1
    assert edges(graph) == {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}


def test_cell_types_are_known_by_several_names() -> None:
    names = {"triangle6": "triangle", "VTK_LAGRANGE_HEXAHEDRON": "hexahedron", "tetra": "tetra"}
    for name, plain in names.items():
        assert type_of(name)[0] == plain
    for name, kind in TYPES.items():
        for facet in kind.facets:
            assert len(set(facet)) == len(facet) >= kind.dimension, name


FAN = np.array([[0, 1, 2 + i] for i in range(70)])
BAD: dict[str, tuple[Any, str]] = {
    "unknown type": (lambda: jetpy.dual_graph([("spam", [[0]])]), "unknown cell type 'spam'"),
    "number of VTK": (lambda: type_of(99), "unknown cell type 99"),
    "no mesh": (lambda: jetpy.dual_graph(7), "cannot read cells from 'int'"),
    "no pair": (lambda: jetpy.dual_graph([[0, 1]]), "each must be .type, array"),
    "too few nodes": (
        lambda: jetpy.dual_graph([[0, 1]], "triangle"),
        "integers with at least 3 columns",
    ),
    "floats": (lambda: jetpy.dual_graph([[0.0, 1, 2]], "triangle"), "array of integers"),
    "ragged": (lambda: jetpy.dual_graph([[0, 1, 2], [3]], "triangle"), "array of integers"),
    "negative": (lambda: jetpy.dual_graph([[0, 1, -2]], "triangle"), "a triangle has node -2"),
    "large id": (lambda: jetpy.node_graph([[0, 10**12]], "line"), "a line has node 1000000000000"),
    "wide id": (
        lambda: jetpy.dual_graph(np.array([[0, 1, 2**64 - 1]], np.uint64), "triangle"),
        "a triangle has node 18446744073709551615",
    ),
    "one number": (lambda: jetpy.dual_graph(5, "triangle"), "are a int; they must be an array"),
    "polyhedra of nodes": (lambda: jetpy.dual_graph([("polyhedron", [[0, 1]])]), "lists of faces"),
    "negative in a polyhedron": (
        lambda: jetpy.dual_graph([("polyhedron", [[[0, 1, -2]]])]),
        "a polyhedron has node -2",
    ),
    "faces in rows": (
        lambda: jetpy.dual_graph_of_faces([[0]], [[1]]),
        "have 2 and 2 dimensions; they must have one",
    ),
    "crowded": (lambda: jetpy.dual_graph(FAN, "triangle"), r"70 cells share .* nodes \[0, 1\]"),
    "node beyond n": (
        lambda: jetpy.node_graph([[0, 7]], "line", n=7),
        "a cell has node 7, but n is 7",
    ),
    "more neighbours": (
        lambda: jetpy.dual_graph_of_faces([0], [1, 2]),
        "there are 2 neighbours, but 1 owners",
    ),
    "owners of floats": (
        lambda: jetpy.dual_graph_of_faces([0.5], [1]),
        "must be ids of cells: integers from 0",
    ),
    "no nodes in common": (
        lambda: jetpy.dual_graph([[0, 1]], "line", common_nodes=0),
        "common_nodes is 0",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_mesh_is_refused(case: str) -> None:
    make, words = BAD[case]
    with pytest.raises((GraphError, OptionError), match=words):
        make()
