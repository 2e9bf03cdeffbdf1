"""Experiments of iG-kway (Lee et al., DAC 2025).

A session has 100 iterations. The first one partitions the graph, and each other one applies a batch
of modifiers. iG-kway updates the partition. G-kway† builds the rows of the modified graph again on
the host, and partitions it from scratch, with iG-kway's coarsening. In quick runs, G-kway† runs in
few iterations, and its seconds are their mean times the number of iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import jetpy
from bench.instances import Instance
from bench.papers.experiment import Cell, Values, experiment
from bench.papers.setting import Setting
from bench.papers.stand_ins import CIRCUIT, MESH, SOCIAL, PaperGraph, by_name, described
from jetpy.choices import Preset
from jetpy.study.modifiers import random_batch, rebuilt

PRESET: Preset = "igkway"
"""jetpy's preset with the options of iG-kway; its full partition is that of G-kway†."""
ITERATIONS = 100
MODIFIERS = 50
"""Modifiers of an iteration; the paper has "tens to hundreds", and in Figure 8 at least 50."""
SHOWN = (1, 25, 50, 75, 100)
"""Iterations in Figure 6; in quick runs, G-kway† runs in these alone."""
GRAPHS = by_name(
    PaperGraph("tv80", CIRCUIT, 3_901_702, 5_298_851),
    PaperGraph("mem_ctrl", CIRCUIT, 32_445_075, 42_670_885),
    PaperGraph("usb", CIRCUIT, 139_479, 180_510),
    PaperGraph("vga_lcd", CIRCUIT, 1_869_688, 23_447_678),
    PaperGraph("wb_dma", CIRCUIT, 9_646_140, 12_208_324),
    PaperGraph("systemcase", CIRCUIT, 10_897_616, 14_386_851),
    PaperGraph("des_perf", CIRCUIT, 303_690, 387_292),
    PaperGraph("coAuthorsCiteseer", SOCIAL, 227_320, 814_134),
    PaperGraph("adaptive", MESH, 6_815_744, 13_624_320),
    PaperGraph("NLR", MESH, 4_163_763, 2_487_976),
)
"""The graphs of Table I, with its numbers of vertices and edges."""
SPEEDUP, IMPROVEMENT = "speedup", "cut improvement"


NEEDS = "graphs of Table I, or stand-ins; a GPU with --backend"


class Full(NamedTuple):
    """A partition from scratch: seconds to build the rows and to partition, and the cut."""

    modification: float
    partitioning: float
    cut: int


class Iteration(NamedTuple):
    """An iteration of iG-kway: seconds by kind, and the cut; and one of G-kway†, if it ran."""

    modification: float
    partitioning: float
    cut: int
    full: Full | None


Session = Sequence[Iteration]


def sessions(setting: Setting, name: str, k: int, modifiers: int = MODIFIERS) -> list[Session]:
    """Return a session for each seed on one of `GRAPHS`; experiments share them."""
    instance = GRAPHS[name].find(setting)

    def measure() -> list[Session]:
        seeds = range(setting.seeds)
        return [_session(setting, instance, k, modifiers, seed) for seed in seeds]

    return setting.keep((PRESET, instance.name, k, modifiers), measure)


def _session(setting: Setting, instance: Instance, k: int, modifiers: int, seed: int) -> Session:
    graph = setting.graph(instance)
    how: dict[str, Any] = {"backend": setting.backend, "threads": setting.threads}
    how |= {"k": k, "preset": PRESET, "seed": seed}
    whole = partial(jetpy.partition, **how)
    first = whole(graph)
    start = Full(0.0, first.seconds["total"], first.cut)
    found = [Iteration(*start, start)]
    on_device = {"on_host": False}
    live = jetpy.IncrementalPartitioner(graph, parts=first.parts, options=on_device, **how)
    rng = np.random.default_rng(seed)
    for number in range(2, ITERATIONS + 1):
        ids, first_new = live.vertices, len(live.partition)
        batch = random_batch(rng, graph, ids, first_new, modifiers)
        began = perf_counter()
        graph = rebuilt(graph, ids, first_new, batch)
        rebuilding = perf_counter() - began
        update = live.update(batch)
        full = None
        if number in SHOWN or not setting.quick:
            scratch = whole(graph)
            full = Full(rebuilding, scratch.seconds["total"], scratch.cut)
        partitioning = update.seconds - update.modification_seconds
        found.append(Iteration(update.modification_seconds, partitioning, update.cut, full))
    return found


def fulls(session: Session) -> list[Full]:
    """Return the iterations in which G-kway† ran."""
    return [iteration.full for iteration in session if iteration.full]


def modification(session: Session) -> float:
    """Return the seconds in which iG-kway modifies the graph."""
    return sum(iteration.modification for iteration in session)


def partitioning(session: Session) -> float:
    """Return the seconds in which iG-kway partitions."""
    return sum(iteration.partitioning for iteration in session)


def full_modification(session: Session) -> float:
    """Return the seconds in which G-kway† builds the rows of modified graphs."""
    return len(session) * fmean(full.modification for full in fulls(session))


def full_partitioning(session: Session) -> float:
    """Return the seconds in which G-kway† partitions."""
    return len(session) * fmean(full.partitioning for full in fulls(session))


def speedup(session: Session) -> float:
    """Return the partitioning time of G-kway† divided by that of iG-kway."""
    return full_partitioning(session) / partitioning(session)


def cut(session: Session) -> float:
    """Return iG-kway's cut after the session."""
    return session[-1].cut


def full_cut(session: Session) -> float:
    """Return the last cut of G-kway†, which always runs in the last iteration."""
    return fulls(session)[-1].cut


def improvement(session: Session) -> float:
    """Return the cut of G-kway† divided by that of iG-kway: above 1, iG-kway's is smaller."""
    ours, theirs = cut(session), full_cut(session)
    return 1.0 if ours == theirs else theirs / max(1, ours)


Measure = Callable[[Session], float]
COLUMNS: dict[str, Measure] = {
    "modification, iG-kway (s)": modification,
    "modification, G-kway† (s)": full_modification,
    "partitioning, iG-kway (s)": partitioning,
    "partitioning, G-kway† (s)": full_partitioning,
    SPEEDUP: speedup,
    "cut, iG-kway": cut,
    "cut, G-kway†": full_cut,
    IMPROVEMENT: improvement,
}
RATIOS: dict[str, Measure] = {SPEEDUP: speedup, IMPROVEMENT: improvement}


def _mean(found: Iterable[Session], measure: Measure) -> float:
    return fmean(map(measure, found))


@experiment("igkway.table1", NEEDS, 30)
def table1(setting: Setting) -> Values:
    """Return seconds of modification and partitioning, and cuts, for k = 2 (Table I)."""
    values: dict[Cell, float | str] = {}
    for name, paper_graph in GRAPHS.items():
        instance = paper_graph.find(setting)
        values[name, "graph"] = described(setting, instance)
        values[name, "vertices"] = setting.graph(instance).n
        values[name, "edges"] = setting.graph(instance).m
        found = sessions(setting, name, 2)
        values |= {(name, column): _mean(found, measure) for column, measure in COLUMNS.items()}
    for column, measure in RATIOS.items():
        means = [_mean(sessions(setting, name, 2), measure) for name in GRAPHS]
        values["Average", column] = fmean(means)
    return values


@experiment("igkway.fig6", NEEDS, 2)
def fig6(setting: Setting) -> Values:
    """Return speedup and cut improvement over the iterations, for usb and two k (Figure 6).

    The paper's cuts are "within ±3%" in all iterations. Its text does not give the two k.
    """
    values: dict[Cell, float | str] = {}
    for number in SHOWN:
        for k in (2, 32):
            begun = [session[:number] for session in sessions(setting, "usb", k)]
            for name, measure in RATIOS.items():
                values[str(number), f"{name}, k = {k}"] = _mean(begun, measure)
    cuts = [float(value) for (_, column), value in values.items() if IMPROVEMENT in column]
    values["at least", f"{IMPROVEMENT}, both k"] = min(cuts)
    values["at most", f"{IMPROVEMENT}, both k"] = max(cuts)
    values["graph", f"{SPEEDUP}, k = 2"] = described(setting, GRAPHS["usb"].find(setting))
    return values


@experiment("igkway.fig7", NEEDS, 75)
def fig7(setting: Setting) -> Values:
    """Return speedup and cut improvement over k, for three circuits and a mesh (Figure 7)."""
    values: dict[Cell, float | str] = {}
    names = ("wb_dma", "mem_ctrl", "tv80", "adaptive")
    for k in (2, 4, 8, 16, 32):
        for ratio, measure in RATIOS.items():
            for name in names:
                values[str(k), f"{ratio}, {name}"] = _mean(sessions(setting, name, k), measure)
        speedups = [float(values[str(k), f"{SPEEDUP}, {name}"]) for name in names]
        values[str(k), f"{SPEEDUP}, highest"] = max(speedups)
    for name in names:
        instance = GRAPHS[name].find(setting)
        values["graph", f"{SPEEDUP}, {name}"] = described(setting, instance)
    return values


@experiment("igkway.fig8", NEEDS, 5)
def fig8(setting: Setting) -> Values:
    """Return speedup and cut improvement over the number of modifiers, for usb (Figure 8)."""
    values: dict[Cell, float | str] = {}
    for modifiers in (50, 100, 200, 500, 1000, 2000, 5000):
        found = sessions(setting, "usb", 2, modifiers)
        for name, measure in RATIOS.items():
            values[str(modifiers), name] = _mean(found, measure)
    values["graph", SPEEDUP] = described(setting, GRAPHS["usb"].find(setting))
    return values


EXPERIMENTS = [table1, fig6, fig7, fig8]
