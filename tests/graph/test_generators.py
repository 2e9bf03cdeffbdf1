from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csgraph, csr_array

from jetpy.errors import OptionError
from jetpy.graph.csr import Graph
from jetpy.graph.generators import (
    GENERATORS,
    cube,
    delaunay,
    grid,
    random_geometric,
    rmat,
    road,
    tetrahedra,
    thinned_delaunay,
)
from jetpy.io.graphs import as_graph
from tests.graphs import edge_dict

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "generate_graphs.py"

EXAMPLES: dict[str, Callable[[], Graph]] = {
    "grid": lambda: grid(7, 5),
    "cube": lambda: cube(3, 4, 5),
    "tetrahedra": lambda: tetrahedra(2, 1, 3),
    "delaunay": lambda: delaunay(200, 1),
    "rgg": lambda: random_geometric(300, 1),
    "rmat": lambda: rmat(8, 4, 1),
    "road": lambda: road(300, 1),
    "thinned": lambda: thinned_delaunay(300, 1),
}


@pytest.mark.parametrize("kind", GENERATORS)
def test_graphs_are_valid_sorted_and_reproducible(kind: str) -> None:
    graph, again = EXAMPLES[kind](), EXAMPLES[kind]()
    for array in (graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights):
        assert array.dtype == np.int32
    matrix = csr_array((graph.edge_weights, graph.indices, graph.indptr), (graph.n, graph.n))
    assert matrix.has_canonical_format
    assert edge_dict(as_graph(matrix)) == edge_dict(again)
    assert set(graph.edge_weights.tolist()) == set(graph.vertex_weights.tolist()) == {1}
    assert graph.name.startswith(kind)


@pytest.mark.parametrize("kind", ["rgg", "rmat", "road", "thinned"])
def test_random_graphs_are_connected(kind: str) -> None:
    graph = EXAMPLES[kind]()
    matrix = csr_array((graph.edge_weights, graph.indices, graph.indptr))
    assert csgraph.connected_components(matrix)[0] == 1


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 6), (6, 1), (2, 2), (4, 3), (1, 1, 1), (2, 3, 4), (1, 5, 1), (3, 1, 2)]
)
def test_lattices_equal_networkx(shape: tuple[int, ...]) -> None:
    oracle = nx.grid_graph(shape[::-1])
    number = {place: int(np.ravel_multi_index(place, shape)) for place in oracle}
    edges = {(number[a], number[b]) for a, b in oracle.edges}
    graph = grid(*shape) if len(shape) == 2 else cube(*shape)
    assert graph.n == len(oracle)
    assert set(edge_dict(graph)) == edges | {(v, u) for u, v in edges}


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 2, 2), (1, 5, 2), (3, 1, 1), (3, 4, 2)])
def test_cubes_with_diagonals_join_vertices_of_the_same_cell(shape: tuple[int, ...]) -> None:
    places = list(product(*map(range, shape)))
    edges = {
        (u, v)
        for u, v in permutations(range(len(places)), 2)
        if max(abs(x - y) for x, y in zip(places[u], places[v], strict=True)) == 1
    }
    assert set(edge_dict(cube(*shape, 26))) == edges


def nodes_of_tetrahedra(shape: tuple[int, ...]) -> Iterator[list[tuple[float, ...]]]:
    """Yield the vertices and the midpoints of each tetrahedron.

    A tetrahedron of a cell has the points whose coordinates, from the lowest corner of the cell,
    are in one descending order.
    """
    for cell in product(*map(range, shape)):
        for x, y, z in permutations(range(3)):
            corners = [
                np.array(cell) + corner
                for corner in product((0, 1), repeat=3)
                if corner[x] >= corner[y] >= corner[z]
            ]
            assert len(corners) == 4
            midpoints = [(one + other) / 2 for one, other in combinations(corners, 2)]
            yield [tuple(map(float, node)) for node in (*corners, *midpoints)]


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 1), (1, 2, 3)])
def test_nodes_of_the_same_tetrahedron_are_joined(shape: tuple[int, ...]) -> None:
    oracle = {pair for nodes in nodes_of_tetrahedra(shape) for pair in permutations(nodes, 2)}
    graph = tetrahedra(*shape)
    places = [tuple(place) for place in (graph.coordinates[:, ::-1] / 2).tolist()]
    assert {place for pair in oracle for place in pair} == set(places)
    assert {(places[u], places[v]) for u, v in edge_dict(graph)} == oracle


def test_inner_nodes_of_tetrahedra_have_18_26_or_64_neighbours() -> None:
    graph = tetrahedra(4, 4, 4)
    inner = graph.degrees.reshape(9, 9, 9)[2:6, 2:6, 2:6]
    assert np.unique(inner).tolist() == [18, 26, 64]


def test_road_has_the_expected_size() -> None:
    graph = road(2000, 3)
    assert graph.n == 2000
    assert graph.m == 2500


def test_radius_bounds_the_edges() -> None:
    n, radius = 120, 0.2
    points = np.random.default_rng(7).random((n, 2))
    oracle = nx.Graph()
    oracle.add_nodes_from(range(n))
    oracle.add_edges_from(
        (u, v) for u in range(n) for v in range(u) if np.hypot(*(points[u] - points[v])) <= radius
    )
    keep = max(nx.connected_components(oracle), key=len)
    largest = nx.convert_node_labels_to_integers(oracle.subgraph(sorted(keep)), ordering="sorted")
    edges = set(largest.edges)
    graph = random_geometric(n, 7, radius)
    assert set(edge_dict(graph)) == edges | {(v, u) for u, v in edges}


def test_different_seeds_give_different_graphs() -> None:
    for kind in ("delaunay", "rgg", "rmat", "road", "thinned"):
        make = GENERATORS[kind]
        assert edge_dict(make(8, seed=1)) != edge_dict(make(8, seed=2))


def test_signatures_are_annotated_with_parsable_types() -> None:
    for make in GENERATORS.values():
        for parameter in inspect.signature(make, eval_str=True).parameters.values():
            assert parameter.annotation in (int, float, bool, float | None)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: grid(0, 5), "each side is 0; it must be at least 1"),
        (lambda: cube(2, -1, 5), "each side is -1; it must be at least 1"),
        (lambda: cube(2, 3, 5, 18), "neighbours is 18; it must be 6 or 26"),
        (lambda: cube(2**9, 2**9, 2**10, 26), "more than 4292870144 directed edges"),
        (lambda: tetrahedra(2, 0, 5), "each side is 0; it must be at least 1"),
        (lambda: grid(2**20, 2**20), "more than 4292870144 directed edges"),
        (lambda: delaunay(2), "n is 2; it must be at least 3"),
        (lambda: random_geometric(1), "n is 1; it must be at least 2"),
        (lambda: random_geometric(9, 0, 0.0), "radius is 0.0; it must be positive"),
        (lambda: random_geometric(9, 0, float("nan")), "radius is nan; it must be positive"),
        (lambda: rmat(0), "scale is 0; it must be at least 1"),
        (lambda: rmat(5, 0), "edge_factor is 0; it must be at least 1"),
        (lambda: rmat(40), "more than 2147483647 directed edges"),
        (lambda: road(2), "n is 2; it must be at least 3"),
        (lambda: thinned_delaunay(9, 0, 0.0), "keep is 0.0; it must be above 0"),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], Graph], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        make()


@pytest.fixture(scope="module")
def reference() -> Any:
    if not REFERENCE.exists():
        pytest.skip("the reference program is missing")
    spec = importlib.util.spec_from_file_location("generate_graphs", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [0, 5])
def test_graphs_equal_those_of_the_reference_program(reference: Any, seed: int) -> None:
    pairs = [
        (grid(9, 14), reference.grid(9, 14)),
        (cube(5, 6, 7), reference.grid(5, 6, 7)),
        (delaunay(1500, seed), reference.delaunay(1500, seed)),
        (random_geometric(1500, seed), reference.rgg(1500, seed)),
        (random_geometric(1500, seed, None, True), reference.rgg(1500, seed, True)),
        (rmat(11, 8, seed), reference.rmat(11, 8, seed)),
        (road(1500, seed), reference.road(1500, seed)),
        (thinned_delaunay(1500, seed), reference.thinned_delaunay(1500, seed)),
    ]
    for graph, matrix in pairs:
        assert np.array_equal(graph.indptr, matrix.indptr)
        assert np.array_equal(graph.indices, matrix.indices)
