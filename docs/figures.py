"""Draws the figures of docs/algorithm from runs of jetpy: python -m docs.figures [NAME ...].

Nothing is drawn by hand: hierarchies, iterations and moves are read from the program while it
works on small meshes whose vertices have places. Needs the extra `report`.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

import jetpy
from docs.watching import IMBALANCE, Parts, backend, mesh, refine_once, watched_run
from jetpy.device.device_graph import upload
from jetpy.multilevel.hierarchy import coarsen, finest_level
from jetpy.pages import raster
from jetpy.pages.colouring import colours_of
from jetpy.pages.figures import new_figure
from jetpy.pages.palette import FILLS, INK, MUTED, ON_FILL, PAGE, SERIES
from jetpy.pages.style import styled
from jetpy.pages.view import view_of
from jetpy.problem.metrics import edge_cut
from jetpy.problem.options import RefineOptions
from jetpy.problem.presets import preset
from jetpy.problem.problem import make_problem
from jetpy.progress import no_progress
from jetpy.workloads.common.control_block import Task

FOLDER = Path(__file__).parent / "algorithm" / "figures"
DPI = 160
COLOURS = 24
DEPTHS = 2
"""Depths of a separator tree in the figure of separators."""


# Drawing


def map_of(axes: Any, graph: jetpy.Graph, regions: Parts, colours: Any = None) -> raster.Frame:
    """Draw which region each place of a mesh is in, and return the frame of the drawing."""
    k = int(regions.max()) + 1
    view = view_of(graph, graph.coordinates)
    frame = raster.frame_of(view)
    image = raster.rasterise(view, frame, regions, k)
    if colours is None:
        colours = colours_of(k, raster.adjacent(image, k))
    fills = np.array([[*bytes.fromhex(fill[1:]), 255] for fill in FILLS], np.uint8)
    seen = raster.with_gaps(image)
    axes.imshow(np.where((seen == raster.NOTHING)[:, :, None], np.uint8(255), fills[colours[seen]]))
    axes.set_axis_off()
    return frame


def mark(axes: Any, frame: raster.Frame, which: Any, **style: Any) -> None:
    """Mark vertices on a map."""
    at = frame.columns[which], frame.rows[which]
    axes.scatter(*at, **{"s": 5, "linewidths": 0.6, "color": ON_FILL, **style})


def titled(axes: Any, title: str) -> None:
    """Give a panel its title."""
    axes.set_title(title, fontsize=8, color=INK)


def below(figure: Figure, handles: list[Line2D]) -> None:
    """Put a legend below all panels."""
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)


def dot(label: str, **style: Any) -> Line2D:
    """Return an entry of a legend."""
    return Line2D([], [], linestyle="", **{"marker": "o", "color": ON_FILL, **style}, label=label)


# Figures


def hierarchy() -> Figure:
    """Every coarse vertex of four levels, on the mesh that all of them stand for."""
    graph = mesh(1500)
    changes = {"coarsen.coarsest": "per-part", "coarsen.per_part": 10, "initial.task_size": 0}
    options = preset("default").changed(changes)
    problem = make_problem(graph.total_vertex_weight, 4, IMBALANCE, 0, options)
    levels = coarsen(finest_level(backend(), upload(backend(), graph)), [problem], no_progress)
    names, shown = np.arange(graph.n, dtype=np.int32), {}
    for number, level in enumerate(levels):
        if level.coarse_of is not None:
            names = level.coarse_of[names]
        shown[number] = names
    figure = new_figure(4.95)
    for axes, number in zip(figure.subplots(2, 2).flat, (3, 4, 5, len(levels) - 1), strict=True):
        map_of(axes, graph, shown[number])
        small = levels[number].graph
        titled(axes, f"level {number}: {small.n:,} vertices, {small.nnz // 2:,} edges")
    return figure


def iterations() -> Figure:
    """Cut and imbalance after each iteration of a run."""
    graph, k = mesh(20_000), 8
    _, seen = watched_run(graph, k)
    ideal = -(-graph.total_vertex_weight // k)
    figure = new_figure(4.4)
    upper, lower = figure.subplots(2, 1, sharex=True)
    times = np.arange(len(seen))
    kinds = {
        Task.PROPAGATE: ("Jetlp", SERIES[0], "o"),
        Task.REBALANCE_WEAKLY: ("weak rebalancing", SERIES[1], "^"),
        Task.REBALANCE_STRONGLY: ("strong rebalancing", SERIES[2], "s"),
    }
    for axes, values in (
        (upper, np.array([i.cut for i in seen])),
        (lower, np.array([100 * (i.heaviest / ideal - 1) for i in seen])),
    ):
        for task, (name, colour, marker) in kinds.items():
            own = np.array([i.task == task for i in seen])
            if own.any():
                axes.scatter(times[own], values[own], s=7, color=colour, marker=marker, label=name)
        for place in np.flatnonzero(np.diff([i.level for i in seen])):
            axes.axvline(place + 0.5, color=MUTED, linewidth=0.4)
    allowed = np.array([100 * (i.limit / ideal - 1) for i in seen])
    lower.step(times, allowed, where="mid", color=INK, linewidth=0.8, linestyle="--", label="limit")
    lower.legend(lower.lines[-1:], ["limit"], loc="upper right")
    upper.set_ylabel("cut")
    lower.set_ylabel("heaviest part, % above average")
    lower.set_xlabel("iteration; lines part the refinements of levels")
    upper.legend(loc="upper right", markerscale=1.6)
    return figure


def before_and_after() -> Figure:
    """The partition of the finest level as it came from the coarser one, and refined."""
    graph, k = mesh(4000), 6
    result, seen = watched_run(graph, k)
    finest = [i for i in seen if i.n == graph.n]
    start, end = finest[0].before, result.parts
    figure = new_figure(2.75)
    panels = figure.subplots(1, 2)
    for axes, parts, what in ((panels[0], start, "before"), (panels[1], end, "after")):
        frame = map_of(axes, graph, parts, np.arange(k))
        titled(axes, f"{what}: cut {edge_cut(graph, parts):,}")
    mark(panels[1], frame, start != end)
    below(figure, [dot("has changed its part", markersize=3)])
    return figure


def afterburner() -> Figure:
    """Which vertices the two filters of one iteration of Jetlp let through."""
    graph, k = mesh(1500), 4
    _, seen = watched_run(graph, k)
    start = next(i for i in seen if i.n == graph.n).before
    once = refine_once(graph, start, k, RefineOptions(overfill=None, finest_ratios=(75,)))
    assert once.task == Task.PROPAGATE
    moved, proposed = once.before != once.after, once.before != once.wanted
    figure = new_figure(5.0)
    axes = figure.subplots()
    frame = map_of(axes, graph, once.before, np.arange(k))
    mark(axes, frame, moved, s=22)
    mark(axes, frame, proposed & ~moved, s=22, marker="X", color=PAGE, edgecolors=ON_FILL)
    cuts = [edge_cut(graph, parts) for parts in (once.before, once.wanted, once.after)]
    titled(
        axes,
        f"cut {cuts[0]}; {cuts[1]} if all {proposed.sum()} moved that want to; "
        f"{cuts[2]} as {moved.sum()} do",
    )
    below(
        figure,
        [
            dot("moves", markersize=5),
            dot("held back", marker="X", color=PAGE, markeredgecolor=ON_FILL, markersize=6),
        ],
    )
    return figure


def rebalancing() -> Figure:
    """One iteration of weak and of strong rebalancing, from the same overfull part."""
    graph, k = mesh(2500), 4
    start = jetpy.partition(graph, k, targets=[12, 10, 10, 10], backend="cpu", threads=1).parts
    figure = new_figure(2.75)
    for axes, name, rounds in zip(figure.subplots(1, 2), ("weak", "strong"), (8, 0), strict=True):
        once = refine_once(graph, start, k, RefineOptions(weak_rounds=rounds))
        assert once.task == (Task.REBALANCE_WEAKLY if rounds else Task.REBALANCE_STRONGLY)
        frame = map_of(axes, graph, once.after, np.arange(k))
        mark(axes, frame, once.before != once.after, s=2.5)
        heaviest = 100 * (once.heaviest * k / graph.n - 1)
        titled(axes, f"{name}: cut {once.cut:,}, heaviest {heaviest:+.1f} %")
    below(figure, [dot("was in the orange part", markersize=3)])
    return figure


def separators() -> Figure:
    """The separators of the first two depths on a mesh, and the pattern of the permuted matrix."""
    graph = mesh(2500)
    order = jetpy.nested_dissection(graph, preset="fast", backend="cpu", threads=1)
    tree = order.tree
    assert tree is not None
    depths, regions = np.zeros((2, len(tree)), np.int32)
    for node in reversed(range(len(tree))):
        parent = tree.parents[node]
        depths[node] = 0 if parent < 0 else depths[parent] + 1
        regions[node] = node if depths[node] <= DEPTHS else regions[parent]
    node_of = np.repeat(np.arange(len(tree)), tree.sizes)[order.iperm]
    is_separator = depths[node_of] < DEPTHS
    figure = new_figure(2.75)
    left, right = figure.subplots(1, 2)
    _, region = np.unique(regions[node_of], return_inverse=True)
    frame = map_of(left, graph, region.astype(np.int32))
    mark(left, frame, is_separator, s=2.5)
    titled(left, f"separators: {is_separator.sum()} of {graph.n:,} vertices")
    rows, columns = order.iperm[graph.sources(0, graph.n)], order.iperm[graph.indices]
    ends = is_separator[order.perm[rows]] | is_separator[order.perm[columns]]
    for chosen, colour in ((~ends, SERIES[0]), (ends, ON_FILL)):
        right.scatter(columns[chosen], rows[chosen], s=0.4, linewidths=0, color=colour)
    right.set(aspect="equal", xlim=(0, graph.n), ylim=(graph.n, 0), xticks=[], yticks=[])
    titled(right, "permuted matrix")
    below(figure, [dot("in a separator", markersize=3)])
    return figure


FIGURES = {
    "hierarchy": hierarchy,
    "iterations": iterations,
    "before-and-after": before_and_after,
    "afterburner": afterburner,
    "rebalancing": rebalancing,
    "separators": separators,
}


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG of few colours, on a light background."""
    content = io.BytesIO()
    with styled():
        figure.savefig(content, format="png", dpi=DPI)
    image = Image.open(content).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Draw the figures that are named, or all."""
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or FIGURES:
        with styled():
            figure = FIGURES[name]()
        save(figure, FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
