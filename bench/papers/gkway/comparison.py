"""G-kway against other partitioners: Table 3 and Figures 9 to 12."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import truediv

from bench.instances import Instance
from bench.papers.experiment import NOT_MEASURED, PEER_MISSING, Cell, Values, experiment
from bench.papers.gkway.measures import (
    BENCHMARKS,
    PEERS,
    PRESET,
    computed,
    cut,
    mean_of,
    number,
    numbers_only,
    seconds,
)
from bench.papers.setting import Setting
from bench.papers.stand_ins import CIRCUIT, PaperGraph, described

Compare = Callable[[Setting, str, Instance, int], float]
"""Returns a number of a peer over that of G-kway on a graph in k parts."""
OUR, ON_GPU = "G-kway", "jetpy/cuda"
"""G-kway in tables; jetpy's tool on a GPU."""
KS = (2, 4, 8, 16, 32)
SELECTED = ("wb_dma", "tv80", "delaunay", "ldoor")
"""Graphs of Figures 9 and 10."""
SHARES = (6, 10)
"""Speedups that section 5.3 counts."""
ALL_THREADS = (1, 2, 4, 8, 16, 32, 40)
THREADED = ("tv80", "wb_dma", "delaunay")
"""Graphs of Figure 11."""
SCALABLE = "KaMinPar"
"""The peer with threads."""
SIZES = (100_000, 200_000, 400_000, 1_000_000, 2_000_000, 4_000_000, 7_800_000, 15_600_000)
QUICK_SIZES = (5_000, 15_000, 45_000)
"""Numbers of vertices of Figure 12."""
SMALL = 400_000
"""Size below which section 5.5 sees "not much" difference in time."""


NEEDS = "KaMinPar, pymetis; mt-metis and GKSG cannot be had; a GPU (--backend cuda) for its times"


def speedup(setting: Setting, tool: str, instance: Instance, k: int) -> float:
    """Return the seconds of a peer over those of G-kway."""
    ours = seconds(setting, setting.jetpy, instance, k, preset=PRESET)
    return seconds(setting, tool, instance, k) / ours


def improvement(setting: Setting, tool: str, instance: Instance, k: int) -> float:
    """Return the cut of a peer over that of G-kway."""
    return cut(setting, tool, instance, k) / cut(setting, setting.jetpy, instance, k, preset=PRESET)


@experiment("gkway.table3", NEEDS, 10)
def table3(setting: Setting) -> Values:
    """Return seconds, cuts, and their ratios to those of G-kway, for k = 2 (section 5.2)."""
    values: dict[Cell, float | str] = {}
    for row, graph in BENCHMARKS.items():
        instance = graph.find(setting)
        for name, tool, preset in _tools(setting):
            case = setting, tool, instance, 2
            values[row, f"{name}, s"] = number(seconds, *case, preset=preset)
            values[row, f"{name}, cut"] = number(cut, *case, preset=preset)
        values[row, "G-kway on a GPU, s"] = number(
            seconds, setting, ON_GPU, instance, 2, preset=PRESET, missing=NOT_MEASURED
        )
        for name, tool in PEERS.items():
            for what, compare in RATIOS.items():
                values[row, f"{what} over {name}"] = number(compare, setting, tool, instance, 2)
        values[row, "graph"] = described(setting, instance)
    counts: dict[str, int] = {}
    for name in PEERS:
        for what in RATIOS:
            own = [values[row, f"{what} over {name}"] for row in BENCHMARKS]
            values["Average", f"{what} over {name}"] = mean_of(own, PEER_MISSING)
        counts[name] = len(numbers_only(own))
    of_peers = ", ".join(f"{counts[name]} ({name})" for name in PEERS)
    values["Average", "graph"] = f"number of graphs: {of_peers}; {_conditions(setting)}"
    return values


def _tools(setting: Setting) -> Iterable[tuple[str, str, str]]:
    """Return name, tool and preset of G-kway and of each peer."""
    yield OUR, setting.jetpy, PRESET
    for name, tool in PEERS.items():
        yield name, tool, "default"


def _conditions(setting: Setting) -> str:
    return f"{setting.jetpy}, {setting.threads} threads, runs of a case: {setting.seeds}"


def over_k(setting: Setting, compare: Compare) -> dict[Cell, float | str]:
    """Return a ratio for each number of parts, graph and peer (Figures 9 and 10)."""
    values: dict[Cell, float | str] = {}
    for name in SELECTED:
        instance = BENCHMARKS[name].find(setting)
        for k in KS:
            for peer, tool in PEERS.items():
                ratio = number(compare, setting, tool, instance, k)
                values[str(k), f"{name}, over {peer}"] = ratio
        values["graph", f"{name}, over {next(iter(PEERS))}"] = described(setting, instance)
    return values


@experiment("gkway.fig9", NEEDS, 20)
def fig9(setting: Setting) -> Values:
    """Return speedups over the number of parts, and the share of cases above some (5.3)."""
    values = over_k(setting, speedup)
    for peer in PEERS:
        of_peer = [v for (_, column), v in values.items() if column.endswith(f"over {peer}")]
        known = numbers_only(of_peer)
        for least in SHARES:
            share = sum(value > least for value in known) / len(known) if known else PEER_MISSING
            values[f"share above {least}", f"all, over {peer}"] = share
    return values


@experiment("gkway.fig10", NEEDS, 20)
def fig10(setting: Setting) -> Values:
    """Return cuts of other partitioners over those of G-kway, by number of parts (5.4)."""
    return over_k(setting, improvement)


@experiment("gkway.fig11", f"{NEEDS}; many cores", 10)
def fig11(setting: Setting) -> Values:
    """Return speedups over a peer with 1 to 40 threads, for k = 32 (section 5.5).

    The paper's numbers in the columns "all" are those that the text gives without a graph.
    """
    values: dict[Cell, float | str] = {}
    graphs = {name: BENCHMARKS[name].find(setting) for name in THREADED}
    for threads in ALL_THREADS:
        row = str(threads)
        for name, instance in graphs.items():
            values[row, f"{name}, over {SCALABLE}"] = (
                number(_speedup_over_threads, setting, instance, threads)
                if threads <= setting.threads
                else NOT_MEASURED
            )
        values[row, f"all, over {SCALABLE}"] = mean_of(
            values[row, f"{name}, over {SCALABLE}"] for name in graphs
        )
    column = f"all, over {SCALABLE}"
    quotient = computed(truediv, values["40", column], values["32", column])
    values["seconds with 40 threads over 32", column] = quotient
    for name, instance in graphs.items():
        values["graph", f"{name}, over {SCALABLE}"] = described(setting, instance)
    return values


def _speedup_over_threads(setting: Setting, instance: Instance, threads: int) -> float:
    """Return the speedup over the threaded peer; G-kway always has all threads."""
    ours = seconds(setting, setting.jetpy, instance, 32, preset=PRESET)
    return seconds(setting, PEERS[SCALABLE], instance, 32, threads=threads) / ours


@experiment("gkway.fig12", f"{NEEDS}; 32 GB of memory", 40)
def fig12(setting: Setting) -> Values:
    """Return speedups over the size of a circuit, for k = 2 and 32 (section 5.5).

    The paper adds vertices and edges to `usb` at random. Here, the circuits are generated with the
    average degree of `usb`.
    """
    usb, values = BENCHMARKS["usb"], dict[Cell, float | str]()
    sizes = QUICK_SIZES if setting.quick else SIZES
    for n in sizes:
        circuit = PaperGraph("usb", CIRCUIT, n, n * usb.m // usb.n).generated(n)
        for k in (2, 32):
            ratio = number(speedup, setting, PEERS[SCALABLE], circuit, k)
            values[str(n), f"k = {k}, over {SCALABLE}"] = ratio
        values[str(n), "graph"] = described(setting, circuit)
    for k in (2, 32):
        column = f"k = {k}, over {SCALABLE}"
        small = [values[str(n), column] for n in sizes if n < SMALL]
        values[f"mean below {SMALL}", column] = mean_of(small, NOT_MEASURED)
    return values


RATIOS: dict[str, Compare] = {"speedup": speedup, "cut improvement": improvement}


EXPERIMENTS = [table3, fig9, fig10, fig11, fig12]
