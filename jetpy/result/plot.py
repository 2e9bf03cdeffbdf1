"""A partition as a matplotlib figure: `Partition.plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.evaluation.evaluate import evaluate
from jetpy.graph.csr import Graph, IntArray
from jetpy.pages import between
from jetpy.pages.drawing import draw
from jetpy.pages.figures import WIDTH, new_figure
from jetpy.pages.page import check_installed
from jetpy.pages.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(graph: Graph, parts: IntArray, k: int, coordinates: npt.ArrayLike | None) -> Figure:
    """Draw a partition; see `Partition.plot`."""
    check_installed()
    if not graph.n:
        raise GraphError("the graph has no vertices; plot needs at least one")
    if coordinates is not None:
        graph = graph.with_coordinates(coordinates)
    if graph.coordinates is not None:
        return draw(graph, parts, k, graph.coordinates)[0]
    evaluation = evaluate(graph, parts, k)
    has_quotient, has_matrix = between.is_drawable(evaluation.cut_matrix), evaluation.cut > 0
    if not (has_quotient or has_matrix):
        raise GraphError(
            "there is nothing to draw: the graph has no coordinates and no edges between "
            "parts; give coordinates"
        )
    figure = new_figure(WIDTH, WIDTH * (has_quotient + has_matrix))
    panels = figure.subfigures(1, has_quotient + has_matrix, squeeze=False).flat
    with styled():
        if has_quotient:
            places = between.layout(evaluation.cut_matrix)
            weights = evaluation.part_weights.reshape(evaluation.k, -1).sum(axis=1)
            between.draw_quotient(panels[0], places, evaluation.cut_matrix, weights)
        if has_matrix:
            between.draw_cut_matrix(panels[-1], evaluation.cut_matrix)
    return figure
