"""Drawings: the part and colour of each pixel."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import jetpy
from jetpy.errors import GraphError
from jetpy.graph.csr import Graph
from jetpy.graph.generators import cube, delaunay, grid, rmat
from jetpy.pages import between, raster
from jetpy.pages.colouring import colours_of
from jetpy.pages.drawing import draw
from jetpy.pages.palette import FILLS
from jetpy.pages.view import longest_edges, view_of
from tests.graphs import isolated, path


def image_of(graph: Graph, parts: np.ndarray, k: int, places: np.ndarray) -> np.ndarray:
    view = view_of(graph, places)
    return raster.rasterise(view, raster.frame_of(view), parts.astype(np.int32), k)


def adjacency(graph: Graph) -> sp.csr_array:
    return sp.csr_array((graph.edge_weights, graph.indices, graph.indptr))


def test_pixels_show_the_nearest_vertex() -> None:
    graph = delaunay(300, 4)
    places = graph.coordinates
    parts = np.arange(graph.n)
    view = view_of(graph, places)
    frame = raster.frame_of(view)
    image = raster.rasterise(view, frame, parts.astype(np.int32), graph.n)
    assert max(image.shape) == raster.SIDE
    rng = np.random.default_rng(0)
    for row, column in rng.integers(60, min(image.shape) - 60, (200, 2)).tolist():
        apart = np.hypot(frame.rows - row, frame.columns - column)
        shown = image[row, column]
        assert shown != raster.NOTHING
        assert apart[shown] <= apart.min() + 2  # vertices are moved to whole pixels


def test_y_points_upwards_and_holes_stay_empty() -> None:
    graph = grid(41, 41)
    places = graph.coordinates.astype(float)
    kept = np.hypot(*(places - 20).T) > 8
    parts = (places[:, 1] > 20).astype(int)
    ring = jetpy.as_graph(adjacency(graph)[kept][:, kept])
    image = image_of(ring, parts[kept], 2, places[kept])
    middle = image.shape[0] // 2
    assert (image[middle - 100 : middle + 100, middle] == raster.NOTHING).all()
    assert image[50, middle] == 1
    assert image[-50, middle] == 0
    assert (image[:, 5] == raster.NOTHING).mean() < 0.1


def test_distant_components_stay_apart() -> None:
    rows = sp.block_diag([adjacency(grid(20, 20)), adjacency(grid(20, 20))]).tocsr()
    places = grid(20, 20).coordinates.astype(float)
    image = image_of(
        jetpy.as_graph(rows),
        np.arange(800) // 400,
        2,
        np.concatenate([places, places + np.array([24, 0])]),
    )
    assert (image[:, 380:420] == raster.NOTHING).all()
    assert raster.adjacent(image, 2).shape == (0, 3)


def test_triangulations_have_almost_no_holes() -> None:
    graph = delaunay(20_000, 1)
    image = image_of(graph, np.zeros(graph.n), 1, graph.coordinates)
    assert (image[20:-20, 20:-20] == 0).mean() > 0.9999


def test_majority_of_vertices_colours_a_pixel() -> None:
    places = np.array([[0, 0], [1, 1], *[[0.5, 0.5]] * 5])
    image = image_of(isolated(7), np.array([0, 0, 2, 1, 1, 1, 2]), 3, places)
    assert image[image.shape[0] // 2, image.shape[1] // 2] == 1


def test_front_vertices_hide_those_behind() -> None:
    graph = cube(20, 20, 20)
    x, y, z = graph.coordinates.T.astype(int)
    outside = (x == 19) | (y == 0) | (z == 19)  # visible from the right, the front and above
    image = image_of(graph, np.where(outside, 1, 0), 2, graph.coordinates)
    seen = image[image != raster.NOTHING]
    assert (seen == 1).mean() > 0.97
    image = image_of(graph, x * 0 + z, 20, graph.coordinates)
    shown = image[:, image.shape[1] // 2]
    heights = shown[shown != raster.NOTHING]
    assert (np.diff(heights) <= 0).all()


def test_longest_edge_per_vertex() -> None:
    graph = jetpy.as_graph(([0, 1, 3, 4, 4], [1, 0, 2, 1]))
    at = np.array([[0, 0], [3, 4], [3, 5], [9, 9]], float)
    assert longest_edges(graph, at).tolist() == [5, 5, 1, 5]
    assert longest_edges(isolated(2), at[:2]).tolist() == [1, 1]


def test_flat_meshes_in_space_are_drawn_from_above() -> None:
    flat = np.column_stack([grid(3, 4).coordinates, np.full(12, 7.0)])
    view = view_of(grid(3, 4), flat)
    assert view.depth is None
    assert np.allclose(7 * view.places, flat[:, :2])


def test_adjacent_parts_have_different_colours() -> None:
    graph = delaunay(20_000, 2)
    places = graph.coordinates
    parts = (8 * places[:, 0]).astype(int) * 8 + (8 * places[:, 1]).astype(int)
    image = image_of(graph, parts, 64, places)
    meetings = raster.adjacent(image, 64)
    colours = colours_of(64, meetings)
    assert (colours[meetings[:, 0]] != colours[meetings[:, 1]]).all()
    assert set(colours.tolist()) == set(range(len(FILLS)))
    assert {(a, b) for a, b, _ in meetings.tolist()} >= {(0, 1), (0, 8), (62, 63)}


def test_gaps_separate_parts_unless_too_little_remains() -> None:
    image = np.repeat(np.array([[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]], np.int32), 20, axis=0)
    assert (raster.with_gaps(image) == raster.NOTHING).sum() == 40
    noise = np.random.default_rng(0).integers(0, 9, (50, 50)).astype(np.int32)
    assert np.array_equal(raster.with_gaps(noise), noise)
    _, room = raster.roomiest(noise, 12)
    assert room.max() < 5
    assert (room[9:] == 0).all()


@pytest.mark.parametrize(
    "places",
    [
        np.zeros((4, 2)),
        np.arange(8).reshape(4, 2),
        np.eye(4, 3),
        1e300 * np.eye(4, 2),
        -np.eye(4, 3),
    ],
)
def test_degenerate_coordinates_are_drawn(places: np.ndarray) -> None:
    draw(path(4), np.array([0, 0, 1, 1], np.int32), 2, places)


def test_layout_keeps_distances() -> None:
    ring = sp.csr_array(np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1))
    places = between.layout(ring)
    lengths = np.linalg.norm(places[:, None] - places, axis=2)
    steps = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    hops = np.minimum(steps, 12 - steps)
    assert np.corrcoef(lengths.ravel(), hops.ravel())[0, 1] > 0.97
    two = between.layout(sp.csr_array((2, 2)))
    assert np.linalg.norm(two[0] - two[1]) == pytest.approx(1, rel=0.01)
    assert between.layout(sp.csr_array((1, 1))).shape == (1, 2)


def test_large_quotient_graphs_are_not_drawn() -> None:
    dense = sp.csr_array(np.ones((60, 60)) - np.eye(60))
    assert not between.is_drawable(dense)
    assert between.is_drawable(dense[:30, :30])
    assert not between.is_drawable(sp.csr_array((301, 301)))


def test_plot_draws_coordinates_or_the_quotient_graph() -> None:
    known = jetpy.partition(delaunay(400), 3, backend="cpu", threads=1)
    assert len(known.plot().axes) == 1
    unknown = jetpy.partition(rmat(7), 3, backend="cpu", threads=1)
    figure = unknown.plot()
    labels = [text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))]
    assert "weight of cut edges" in labels
    assert {"0", "1", "2"} <= set(labels)
    places = np.random.default_rng(0).random((unknown.graph.n, 2))
    assert len(unknown.plot(places).axes) == 1
    with pytest.raises(GraphError, match=r"numbers for each of \d+ vertices"):
        unknown.plot(places[1:])
    with pytest.raises(GraphError, match="the graph has no vertices"):
        jetpy.partition(isolated(0), 2, backend="cpu", threads=1).plot()
    with pytest.raises(GraphError, match="nothing to draw"):
        jetpy.partition(isolated(400), 350, backend="cpu", threads=1).plot()
