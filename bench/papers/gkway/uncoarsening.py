"""Uncoarsening of G-kway: Tables 6 and 7, Figures 13 to 15 (sections 5.8 to 5.10)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from statistics import mean

from bench.instances import Instance
from bench.papers.experiment import NOT_MEASURED, Cell, Values, experiment
from bench.papers.gkway.captures import HostCalls, counted, one_by_one, without_loops
from bench.papers.gkway.measures import BENCHMARKS, JOURNAL, mean_of, numbers_only
from bench.papers.setting import Setting
from bench.papers.stand_ins import CIRCUIT, MESH, PaperGraph, by_name, described
from jetpy.device.backends import ON_GPU

KS = (2, 8, 16, 32, 64)
SELECTED = by_name(
    PaperGraph("NLR", MESH, 4_163_763, 12_487_976),
    PaperGraph("AS365", MESH, 3_799_275, 11_368_076),
    PaperGraph("wb_dma", CIRCUIT, 131_240, 275_936),
    PaperGraph("vga_lcd", CIRCUIT, 795_612, 1_302_327),
    PaperGraph("aes_core", CIRCUIT, 200_253, 322_340),
    BENCHMARKS["asia.osm"],
)
"""Table 6 by name. Its circuits are smaller than those of Table 2."""
CIRCUITS = ("vga_lcd", "wb_dma", "aes_core")
"""Graphs of Figure 13."""
STAGES = {"coarsening": "coarsen", "initial partitioning": "initial", "uncoarsening": "refine"}
ROUNDS = 5
"""Runs of each seed in Figure 14; the fastest counts, because other processes disturb the rest."""


NEEDS = "any machine; CUDA graphs need a GPU (--backend cuda)"


@experiment("gkway.table6", "any machine", 5)
def table6(setting: Setting) -> Values:
    """Return the size of each graph, and the most refinement iterations of a run, for any k."""
    values: dict[Cell, float | str] = {}
    for row, graph in SELECTED.items():
        instance = graph.find(setting)
        runs = [run for k in KS for run in setting.runs(setting.jetpy, instance, k, preset=JOURNAL)]
        values[row, "vertices"] = setting.graph(instance).n
        values[row, "edges"] = setting.graph(instance).m
        values[row, "iterations"] = max(
            sum(level.iterations for level in run.levels) for run in runs
        )
        values[row, "graph"] = described(setting, instance)
    return values


@experiment("gkway.fig13", "any machine", 3)
def fig13(setting: Setting) -> Values:
    """Return the share of each stage in the time."""
    values: dict[Cell, float | str] = {}
    for name in CIRCUITS:
        instance = SELECTED[name].find(setting)
        for k in (2, 32):
            runs = setting.runs(setting.jetpy, instance, k, preset=JOURNAL)
            total = sum(run.seconds["total"] for run in runs)
            for column, stage in STAGES.items():
                share = sum(run.seconds[stage] for run in runs) / total
                values[f"{name}, k = {k}", column] = share
            values[f"{name}, k = {k}", "graph"] = described(setting, instance)
    shares = (value for (_, column), value in values.items() if column == "uncoarsening")
    values["largest", "uncoarsening"] = max(numbers_only(shares))
    return values


@experiment("gkway.fig14", NEEDS, 10)
def fig14(setting: Setting) -> Values:
    """Return the seconds of uncoarsening with launches one by one over those with captured ones.

    On one CPU thread, so that the seconds do not contain waiting for other threads.
    """
    values: dict[Cell, float | str] = {}
    for name, graph in SELECTED.items():
        instance = graph.find(setting)
        for k in KS:
            values[str(k), name] = _speedup_by_capture(setting, instance, k)
        values["mean", name] = mean_of(values[str(k), name] for k in KS)
        values["graph", name] = described(setting, instance)
    values["mean", "all"] = mean_of(values["mean", name] for name in SELECTED)
    return values


def _speedup_by_capture(setting: Setting, instance: Instance, k: int) -> float:
    """Return the ratio of the mean seconds of uncoarsening; both kinds of runs take turns."""
    plain, captured = [], []
    for seed in range(setting.seeds):
        times: dict[str, list[float]] = {"plain": [], "captured": []}
        for _ in range(ROUNDS):
            for kind, context in (("captured", nullcontext()), ("plain", one_by_one())):
                with context:
                    found = setting.partition(instance, k, seed, preset=JOURNAL, threads=1)
                    times[kind].append(found.seconds["refine"])
        plain.append(min(times["plain"]))
        captured.append(min(times["captured"]))
    return mean(plain) / mean(captured)


@experiment("gkway.table7", NEEDS, 5)
def table7(setting: Setting) -> Values:
    """Return the most calls of the host in a run, for any k, with and without loops in captures.

    G-kway^g repeats a CUDA graph by a conditional node. jetpy's captured launches repeat themselves
    on CPUs only, where programs take the place of CUDA graphs. There, every iteration with moves
    returns to the host, which sorts them, so that loops save few calls.
    """
    values: dict[Cell, float | str] = {}
    on_gpu = setting.backend in ON_GPU
    for row, graph in SELECTED.items():
        instance = graph.find(setting)
        for variant, loops in (("G-kway^g", True), ("G-kway^{g,-cond}", False)):
            calls = [] if loops and on_gpu else host_calls(setting, instance, KS, loops=loops)
            for column in ("creations", "instantiations", "launches"):
                most = max((getattr(call, column) for call in calls), default=NOT_MEASURED)
                values[row, f"{variant}, {column}"] = most
        values[row, "graph"] = described(setting, instance)
    return values


@experiment("gkway.fig15", NEEDS, 3)
def fig15(setting: Setting) -> Values:
    """Return the shares of the calls of the host in their time, for vga_lcd and all k (5.9).

    On CPUs, the share of launches includes the kernels.
    """
    instance = SELECTED["vga_lcd"].find(setting)
    calls = host_calls(setting, instance, KS, loops=setting.backend not in ON_GPU)
    spent = {
        "creation and update": sum(call.creating for call in calls),
        "instantiation": sum(call.instantiating for call in calls),
        "launch": sum(call.launching for call in calls),
    }
    total = sum(spent.values())
    values: dict[Cell, float | str] = {("vga_lcd", name): s / total for name, s in spent.items()}
    values["vga_lcd", "graph"] = described(setting, instance)
    return values


def host_calls(
    setting: Setting, instance: Instance, ks: Iterable[int], *, loops: bool
) -> list[HostCalls]:
    """Return the calls of the host in each run, for each k and seed.

    A first run loads the kernels, because GPUs capture only loaded kernels.
    """
    found = []
    for k in ks:
        setting.partition(instance, k, 0, preset=JOURNAL)
        for seed in range(setting.seeds):
            with nullcontext() if loops else without_loops(), counted() as calls:
                setting.partition(instance, k, seed, preset=JOURNAL)
            found.append(calls)
    return found


EXPERIMENTS = [table6, fig13, fig14, table7, fig15]
