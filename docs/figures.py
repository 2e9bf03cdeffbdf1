"""Draw the figures of the pages about the algorithm, from runs: ``python docs/figures.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from jetpy.backends import get_backend
from jetpy.backends.level import upload
from jetpy.generators import delaunay
from jetpy.graph import Graph, IntArray
from jetpy.hierarchy import coarsen, finest_level
from jetpy.metrics import edge_cut, part_weights
from jetpy.pages import raster
from jetpy.pages.colouring import colours_of
from jetpy.pages.figures import new_figure, styled
from jetpy.pages.palette import FILLS, INK, SERIES
from jetpy.pages.view import view_of
from jetpy.presets import preset
from jetpy.problem import Problem, pose
from jetpy.progress import no_progress
from jetpy.refinement.jet import Refinement
from jetpy.workloads.control_block import Control, Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent / "algorithm"
BACKEND = get_backend("numba", 1)
VERTICES, PARTS, IMBALANCE, SEED = 6000, 8, 0.03, 0
WIDTH = 7.2
DPI, COLOURS = 100, 48
NAMES = {
    Task.PROPAGATE: "Jetlp",
    Task.REBALANCE_WEAKLY: "weak rebalancing",
    Task.REBALANCE_STRONGLY: "strong rebalancing",
}
MARKS = dict(zip(NAMES, "osD", strict=True))


class Iteration(NamedTuple):
    """What an iteration did, and what came of it."""

    task: Task
    cut: int
    heaviest: int
    parts: IntArray


def problem_of(graph: Graph) -> Problem:
    """Return the problem of the figures."""
    return pose(graph.total_vertex_weight, PARTS, IMBALANCE, SEED, preset("default"))


def iterations(graph: Graph, start: IntArray) -> list[Iteration]:
    """Refine a partition of the graph, and return each iteration; the first is the start."""
    problem = problem_of(graph)
    refinement = Refinement(BACKEND, upload(BACKEND, graph), problem)
    refinement.start(BACKEND.from_host(start.copy()), problem.options.refine.finest_ratios[0], None)
    found = [_iteration(graph, Task.PROPAGATE, start)]
    while True:
        refinement._launch_any()
        if not refinement.look():
            return found
        parts = BACKEND.to_host(refinement.state.parts)
        if (parts != found[-1].parts).any():
            task = Task(int(refinement.state.control_block.host[Control.TASK]))
            found.append(_iteration(graph, task, parts))


def _iteration(graph: Graph, task: Task, parts: IntArray) -> Iteration:
    weights = part_weights(graph, parts, PARTS)
    return Iteration(task, edge_cut(graph, parts), int(weights.max()), parts.copy())


def levels(graph: Graph) -> list[IntArray]:
    """Return the vertex of each level that each vertex of the graph is in, finest first."""
    level = finest_level(BACKEND, upload(BACKEND, graph))
    found = [np.arange(graph.n, dtype=np.int32)]
    for coarser in coarsen(level, [problem_of(graph)], no_progress)[1:]:
        found.append(BACKEND.to_host(coarser.coarse_of)[found[-1]])
    return found


def slices(graph: Graph) -> IntArray:
    """Cut a mesh into slices, the first of them twice as wide: neither good nor balanced."""
    assert graph.coordinates is not None
    order = np.argsort(graph.coordinates[:, 0], kind="stable")
    shares = np.array([2.0, *[1.0] * (PARTS - 1)])
    bounds = np.cumsum(shares / shares.sum()) * graph.n
    parts = np.empty(graph.n, np.int32)
    parts[order] = np.searchsorted(bounds, np.arange(graph.n), side="right").clip(max=PARTS - 1)
    return parts


def draw_map(axes: Axes, graph: Graph, parts: IntArray, title: str) -> None:
    """Draw a mesh in the colours of parts, or of vertices of a level."""
    assert graph.coordinates is not None
    k = int(parts.max()) + 1
    view = view_of(graph, graph.coordinates)
    frame = raster.frame_of(view)
    image = raster.with_gaps(raster.rasterise(view, frame, parts, k))
    colours = colours_of(k, raster.adjacent(image, k))
    fills = np.array([[*bytes.fromhex(fill[1:]), 255] for fill in FILLS], np.uint8)
    nothing = (image == raster.NOTHING)[:, :, None]
    axes.imshow(np.where(nothing, np.uint8(0), fills[colours[image]])[::2, ::2])
    axes.set_axis_off()
    axes.set_title(title)


def levels_figure(graph: Graph) -> Figure:
    """Show vertices of four levels where they are."""
    found = levels(graph)
    figure = new_figure(WIDTH / 4 + 0.3, WIDTH)
    chosen = [1, len(found) // 3 + 1, 2 * len(found) // 3, len(found) - 1]
    for axes, number in zip(figure.subplots(1, 4), chosen, strict=True):
        of_level = found[number]
        draw_map(axes, graph, of_level, f"level {number}: {int(of_level.max()) + 1:,} vertices")
    return figure


def parts_figure(graph: Graph, found: list[Iteration]) -> Figure:
    """Show a partition before its refinement, on the way, and at the end."""
    limit = problem_of(graph).limit
    balanced = [i for i in found if i.heaviest <= limit]
    best = min(balanced, key=lambda i: i.cut)
    first = next(number for number, i in enumerate(found) if i.heaviest <= limit)
    figure = new_figure(WIDTH / 3 + 0.3, WIDTH)
    shown = ((0, found[0]), (first, found[first]), (found.index(best), best))
    for axes, (number, iteration) in zip(figure.subplots(1, 3), shown, strict=True):
        draw_map(axes, graph, iteration.parts, f"iteration {number}: cut {iteration.cut:,}")
    return figure


def iterations_figure(graph: Graph, found: list[Iteration]) -> Figure:
    """Show the cut and the heaviest part after each iteration."""
    limit = problem_of(graph).limit
    figure = new_figure(3.6, WIDTH)
    upper, lower = figure.subplots(2, 1, sharex=True)
    for axes, values in ((upper, [i.cut for i in found]), (lower, [i.heaviest for i in found])):
        axes.plot(values, color=INK, linewidth=0.6, zorder=1)
        for colour, (task, name) in zip(SERIES, NAMES.items(), strict=False):
            places = [place for place, i in enumerate(found) if place and i.task is task]
            if not places:
                continue
            axes.scatter(
                places, [values[place] for place in places], s=14, color=colour,
                marker=MARKS[task], label=name if axes is upper else None, zorder=2,
            )  # fmt: skip
    lower.axhline(limit, color=INK, linewidth=1, linestyle="--")
    lower.annotate(
        f"limit {limit}", (1, limit), (0, 3), ("axes fraction", "data"), "offset points",
        ha="right", size=8,
    )  # fmt: skip
    upper.set_ylabel("cut")
    lower.set_ylabel("heaviest part")
    lower.set_xlabel("iteration")
    figure.legend(loc="outside upper left", ncols=3)
    return figure


def save(figure: Figure, name: str) -> None:
    """Write a figure to the folder of the pages; a drawing with few colours."""
    path = FOLDER / name
    with styled():
        if path.suffix == ".svg":
            figure.savefig(path, metadata={"Date": None})
        else:
            figure.savefig(path, dpi=DPI)
            Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"wrote {path}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Draw all figures."""
    graph = delaunay(VERTICES, SEED)
    found = iterations(graph, slices(graph))
    with styled():
        save(levels_figure(graph), "levels.png")
        save(parts_figure(graph, found), "parts.png")
        save(iterations_figure(graph, found), "iterations.svg")


if __name__ == "__main__":
    main()
