"""Coordinates: from generators and meshes, in files, and checks of those from users."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jetpy
from jetpy import generators
from jetpy.errors import FileFormatError, GraphError
from jetpy.graph.csr import Graph
from jetpy.io.coordinates import read_coordinates
from tests.graphs import path
from tests.meshes.test_dual import hexahedra

LONGEST = {  # maximum edge length
    "grid": (lambda: generators.grid(5, 7), 1.0),
    "cube": (lambda: generators.cube(3, 4, 300), 1.0),
    "cube with diagonals": (lambda: generators.cube(3, 4, 5, 26), 3**0.5),
    "tetrahedra": (lambda: generators.tetrahedra(2, 3, 4), 12**0.5),
    "rgg": (lambda: generators.random_geometric(200, 1, 0.1), 0.1),
    "rgg by cells": (lambda: generators.random_geometric(200, 1, 0.1, True), 0.1),
    "delaunay": (lambda: generators.delaunay(300), 0.6),
    "thinned": (lambda: generators.thinned_delaunay(300), 0.6),
    "road": (lambda: generators.road(300), 0.6),
}


@pytest.mark.parametrize("kind", LONGEST)
def test_edges_of_generated_graphs_are_short(kind: str) -> None:
    make, longest = LONGEST[kind]
    graph = make()
    places = graph.coordinates
    assert len(places) == graph.n
    assert len(np.unique(places, axis=0)) == graph.n
    sources = graph.sources(0, graph.n)
    lengths = np.linalg.norm(places[sources] * 1.0 - places[graph.indices], axis=1)
    assert lengths.max() <= longest
    assert np.array_equal(pickle.loads(pickle.dumps(graph)).coordinates, places)


def test_coordinates_of_generated_graphs_are_computed_on_first_use() -> None:
    graph = generators.cube(20, 30, 40)
    assert "coordinates" not in vars(graph)
    assert graph.coordinates.dtype == np.uint8
    assert generators.rmat(5).coordinates is None


def test_grids_have_x_along_rows() -> None:
    assert generators.grid(2, 3).coordinates.tolist() == [
        *([0, 0], [1, 0], [2, 0]),
        *([0, 1], [1, 1], [2, 1]),
    ]


@pytest.mark.parametrize("suffix", [".npz", ".npz.gz"])
def test_npz_archives_store_coordinates(tmp_path: Path, suffix: str) -> None:
    graph = generators.thinned_delaunay(90)
    jetpy.write_graph(tmp_path / f"x{suffix}", graph)
    found = jetpy.read_graph(tmp_path / f"x{suffix}")
    assert np.array_equal(found.coordinates, graph.coordinates)
    jetpy.write_graph(tmp_path / "y.npz", path(4))
    assert jetpy.read_graph(tmp_path / "y.npz").coordinates is None


def test_npz_archive_with_wrong_shape_is_refused(tmp_path: Path) -> None:
    graph = path(3)
    arrays = {"indptr": graph.indptr, "indices": graph.indices}
    np.savez(tmp_path / "x.npz", **arrays, coordinates=np.zeros((2, 2)))
    with pytest.raises(FileFormatError, match=r"x\.npz: coordinates has shape .* 3 vertices"):
        jetpy.read_graph(tmp_path / "x.npz")


def test_replacing_weights_keeps_coordinates() -> None:
    graph = generators.delaunay(30)
    heavy = jetpy.as_graph(graph, vertex_weights=np.arange(1, 31))
    assert np.array_equal(heavy.coordinates, graph.coordinates)


def test_meshes_have_coordinates() -> None:
    meshio = pytest.importorskip("meshio")
    cells = hexahedra(4, 3, 2)
    points = np.stack(np.meshgrid(*map(np.arange, (5, 4, 3))), -1).reshape(-1, 3).astype(float)
    mesh = meshio.Mesh(points, [("quad", cells[:2, :4]), ("hexahedron", cells)])
    expected = points[cells].mean(axis=1)
    assert np.allclose(jetpy.dual_graph(mesh).coordinates, expected)
    assert np.array_equal(jetpy.node_graph(mesh).coordinates, points)
    assert jetpy.dual_graph(mesh.cells).coordinates is None
    short = meshio.Mesh(points[:-1], [("hexahedron", cells)])
    with pytest.raises(GraphError, match="2 or 3 numbers for each of 60 vertices"):
        _ = jetpy.dual_graph(short).coordinates


MISTAKES: dict[str, tuple[object, str]] = {
    "too few": (
        [[0, 0]],
        "coordinates has shape .*(1, 2).*; it must have 2 or 3 numbers for each of 2 vertices",
    ),
    "one number": ([0, 1], "coordinates has shape"),
    "four numbers": (np.zeros((2, 4)), "coordinates has shape"),
    "words": ([["a", "b"], ["c", "d"]], "coordinates must be numbers"),
    "infinite": ([[0, 0], [0, np.inf]], "vertex 1 has coordinates .*; coordinates must be finite"),
    "complex": ([[0, 0], [0, 1j]], "coordinates must be numbers"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_bad_coordinates_are_refused(what: str) -> None:
    places, words = MISTAKES[what]
    with pytest.raises(GraphError, match=words):
        path(2).with_coordinates(places)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("x.npy", lambda file, places: np.save(file, places)),
        ("x.xyz", lambda file, places: np.savetxt(file, places)),
        ("x.csv", lambda file, places: np.savetxt(file, places, delimiter=",", header="x,y,z")),
    ],
)
def test_coordinates_are_read_from_files(
    tmp_path: Path, name: str, write: Callable[..., None]
) -> None:
    places = np.random.default_rng(0).normal(size=(20, 3)) * 1e-3
    write(tmp_path / name, places)
    assert np.allclose(read_coordinates(tmp_path / name, 20), places, rtol=1e-12)
    with pytest.raises(
        FileFormatError, match=f"{name}: coordinates has shape .* each of 21 vertices"
    ):
        read_coordinates(tmp_path / name, 21)


def test_with_coordinates_leaves_the_graph_unchanged() -> None:
    graph: Graph = path(2)
    moved = graph.with_coordinates([[0, 1], [2, 3]])
    assert moved.coordinates.tolist() == [[0, 1], [2, 3]]
    assert moved.indices is graph.indices
    assert graph.coordinates is None
