"""Drawing of a partition by coordinates: a map of the parts, with edges if the graph is small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jetpy.graph.coordinates import Coordinates
from jetpy.graph.csr import Graph, IntArray
from jetpy.pages import raster
from jetpy.pages.colouring import colours_of
from jetpy.pages.figures import WIDTH, new_figure
from jetpy.pages.palette import FILLS, ON_FILL
from jetpy.pages.view import view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_DRAWN = 6000
"""Maximum number of vertices and edges together for drawing edges."""
_ROOM = 9.0
"""Pixels around a part's number, per digit."""


def draw(graph: Graph, parts: IntArray, k: int, coordinates: Coordinates) -> tuple[Figure, str]:
    """Draw a partition, and return the figure and its caption.

    Parameters
    ----------
    graph : Graph
        With at least one vertex.
    parts : int32, shape (n,)
        In 0..k - 1.
    k : int
    coordinates : numbers, shape (n, 2) or (n, 3)
    """
    view = view_of(graph, coordinates)
    frame = raster.frame_of(view)
    image = raster.rasterise(view, frame, parts, k)
    meetings = raster.adjacent(image, k)
    colours = colours_of(k, meetings)
    figure, axes = _blank(frame.height / frame.width)
    axes.imshow(_pixels(image, colours), interpolation="none")
    numbered = _number(axes, image, [FILLS[colour] for colour in colours])
    has_edges = view.depth is None and graph.n + graph.m <= MAX_DRAWN
    if has_edges:
        _draw_edges(axes, graph, parts, frame)
    what = "The area around each vertex has the colour of its part"
    if graph.n > np.count_nonzero(image != raster.NOTHING):
        shown = (
            "the part of most of its vertices"
            if view.depth is None
            else "the part of the vertex in front"
        )
        what = f"The colour of each pixel shows {shown}"
    room = {0: "", k: ", with its number"}.get(numbered, ", with its number where it fits")
    clash = bool((colours[meetings[:, 0]] == colours[meetings[:, 1]]).any())
    differ = f"{'most ' if clash else ''}adjacent parts have different colours"
    edges = "Lines are edges; heavy lines are cut edges." if has_edges else ""
    return figure, " ".join(filter(None, (f"{what}{room}; {differ}.", edges, view.how)))


def _pixels(image: raster.Image, colours: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Return an image of parts as red, green, blue and alpha, uint8."""
    fills = np.array([[*bytes.fromhex(fill[1:]), 255] for fill in FILLS], np.uint8)
    seen = raster.with_gaps(image)
    return np.where((seen == raster.NOTHING)[:, :, None], np.uint8(0), fills[colours[seen]])


def _draw_edges(axes: Axes, graph: Graph, parts: IntArray, frame: raster.Frame) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    places = np.stack([frame.columns, frame.rows], axis=1)
    sources = graph.sources(0, graph.n)
    once = sources < graph.indices
    ends = np.stack([sources[once], graph.indices[once]], axis=1)
    cut = parts[ends[:, 0]] != parts[ends[:, 1]]
    for edges, width in ((ends[~cut], 0.35), (ends[cut], 1.2)):
        if len(edges):
            codes = np.tile([Path.MOVETO, Path.LINETO], len(edges))
            lines = Path(places[edges].reshape(-1, 2), codes)
            axes.add_patch(PathPatch(lines, fill=False, edgecolor=ON_FILL, linewidth=width))


def _blank(aspect: float) -> tuple[Figure, Axes]:
    """Return a figure without axes, with this ratio of height to width."""
    figure = new_figure(WIDTH * min(aspect, 1.5))
    axes: Axes = figure.subplots()
    axes.set_axis_off()
    return figure, axes


def _number(axes: Axes, image: raster.Image, fills: Sequence[str]) -> int:
    """Write the number of each part that has room for it, and return the count.

    No number is written if most parts lack room.
    """
    places, room = raster.roomiest(image, len(fills))
    digits = np.char.str_len(np.arange(len(room)).astype(str))
    fitting = np.flatnonzero(room >= _ROOM * np.maximum(digits, 1.5)).tolist()
    if 2 * len(fitting) < len(room):
        return 0
    for part in fitting:
        behind = {"boxstyle": "round,pad=0.1", "facecolor": fills[part], "linewidth": 0}
        middle: dict[str, Any] = {"ha": "center", "va": "center"}
        x, y = places[part]
        axes.text(x, y, f"{part}", color=ON_FILL, size=8, bbox=behind, **middle)
    return len(fitting)
