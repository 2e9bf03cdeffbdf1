"""Experiments of GPU-HeiPa (Samoldekin, Schulz and Woydt, 2025): process mapping on GPUs.

Graphs are mapped onto the machines 4:8:1 to 4:8:6 with the distances 1:10:100. Costs J(C, D, Π),
cuts and seconds of a case, a graph and a machine, are means over the seeds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

import jetpy
from bench.child import Unavailable
from bench.instances import Instance
from bench.papers.experiment import NO_GRAPH, PEER_MISSING, Cell, Values, experiment
from bench.papers.mappers import AS_PUBLISHED, GPU_IM_OPTIONS, PEERS, Prepare, by_partition
from bench.papers.setting import Setting
from bench.papers.stand_ins import FEM, ROAD, PaperGraph, described
from jetpy import BackendError
from jetpy.choices import Preset
from jetpy.problem.machine import machine
from jetpy.profiling.profile import Event, Kind, Profile
from jetpy.study.mappers import MapOnto, judge_mapping, run_mapping
from jetpy.study.tools import IMBALANCE, Job

HIERARCHIES = [f"4:8:{nodes}" for nodes in range(1, 7)]
DISTANCE = "1:10:100"
ULTRA, HM, IM, JET, JET_ULTRA = "GPU-HM-ULTRA", "GPU-HM", "GPU-IM", "Jet", "Jet-ULTRA"
MAPPERS: dict[str, tuple[Prepare, Preset]] = {
    **{name: (prepare, "default") for name, prepare in {**AS_PUBLISHED, **PEERS}.items()},
    JET: (by_partition, "jet"),
    JET_ULTRA: (by_partition, "jet-ultra"),
}
"""Mapping methods, and the preset of those that partition only."""
LARGE_N = 1_000_000
"""Graphs with at least this number of vertices are large."""
FACTORS = (1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0)
"""Factors of a performance profile."""
QUICK_GRAPHS = ("grid60", "road4k")
CASES = "cases"


NEEDS = "large graphs (--min-n); a GPU with --backend"


class Case(NamedTuple):
    """A graph and the hierarchy of a machine."""

    instance: Instance
    hierarchy: str


class Mapped(NamedTuple):
    """Mean cost, cut and seconds of the runs of a case, and the share of balanced ones."""

    cost: float
    cut: float
    seconds: float
    balanced: float


Found = Mapping[Case, Mapped]


def cases(setting: Setting, hierarchies: Sequence[str] = HIERARCHIES) -> list[Case]:
    """Return all cases; quick runs have few graphs."""
    instances = [
        instance
        for instance in setting.instances
        if not setting.quick or instance.name in QUICK_GRAPHS
    ]
    return [Case(*pair) for pair in product(instances, hierarchies)]


def mapped(setting: Setting, name: str, case: Case) -> Mapped:
    """Map a graph onto a machine; experiments share the result.

    Raises
    ------
    Unavailable
        If the method is not installed.
    """

    def measure() -> Mapped:
        with tempfile.TemporaryDirectory() as folder:
            prepare, preset = MAPPERS[name]
            job = Job(
                setting.graph(case.instance), Path(folder), preset, setting.threads, IMBALANCE
            )
            try:
                solve = prepare(job, setting.backend)
            except (ImportError, BackendError) as error:
                raise Unavailable(str(error)) from error
            return mean_of_runs(job, solve, case.hierarchy, setting.seeds)

    return setting.keep((name, case.instance.name, case.hierarchy), measure)


def mean_of_runs(job: Job, map_onto: MapOnto, hierarchy: str, seeds: int) -> Mapped:
    """Map onto a machine with each seed, and return the means of the runs.

    Raises
    ------
    RuntimeError
        If the method reports another cost than the cost of its mapping.
    """
    target, found = machine(hierarchy, DISTANCE), []
    for seed in range(seeds):
        run = map_onto(target, seed)
        verdict = judge_mapping(job, run.pe, target)
        if run.cost not in (None, verdict.cost):
            raise RuntimeError(
                f"the method reports cost {run.cost}, but the cost is {verdict.cost}"
            )
        found.append((verdict.cost, verdict.cut, run.seconds, verdict.feasible))
    return Mapped(*map(fmean, zip(*found, strict=True)))


def all_mapped(setting: Setting, names: Iterable[str], chosen: Sequence[Case]) -> dict[str, Found]:
    """Return the results of each method that is installed, in cases where no cost is 0."""
    found = {}
    for name in names:
        try:
            found[name] = {case: mapped(setting, name, case) for case in chosen}
        except Unavailable:
            continue
    nonzero = [case for case in chosen if all(own[case].cost for own in found.values())]
    return {name: {case: own[case] for case in nonzero} for name, own in found.items()}


def quality_rows(found: Mapping[str, Found]) -> Values:
    """Return the performance profile of costs, and mean costs above the best, in percent."""
    every = list(next(iter(found.values())))
    best = {case: min(own[case].cost for own in found.values()) for case in every}
    ratios = {
        name: {case: own[case].cost / best[case] for case in every} for name, own in found.items()
    }
    values: dict[Cell, float | str] = {}
    for factor, name in product(FACTORS, found):
        within = sum(ratio <= factor for ratio in ratios[name].values())
        values[f"{factor:.2f}", name] = 100 * within / len(every)
    for hierarchy in ("", *dict.fromkeys(case.hierarchy for case in every)):
        row = "cost above the best, mean %" + (hierarchy and f", {hierarchy}")
        for name in found:
            chosen = [ratios[name][case] for case in every if hierarchy in ("", case.hierarchy)]
            values[row, name] = 100 * (fmean(chosen) - 1)
    for name, own in found.items():
        values["highest cost / best", name] = max(ratios[name].values())
        values["balanced, %", name] = 100 * fmean(each.balanced for each in own.values())
        values[CASES, name] = len(every)
    return values


def speedups(found: Mapping[str, Found], name: str, over: str) -> list[float]:
    """Return the seconds of the method `over` divided by those of another, for each case."""
    return [slow.seconds / found[name][case].seconds for case, slow in found[over].items()]


def speedup_rows(found: Mapping[str, Found], over: str) -> Values:
    """Return the mean and highest speedup of each other method over one."""
    values: dict[Cell, float | str] = {}
    for name in found:
        if name != over:
            ratios = speedups(found, name, over)
            values[f"speedup over {over}, geometric mean", name] = geometric_mean(ratios)
            values[f"speedup over {over}, highest", name] = max(ratios)
    return values


@experiment("mapping.fig1", NEEDS, 60)
def fig1(setting: Setting) -> Values:
    """Return the profile of costs and the speedups of the paper's methods (Figure 1)."""
    found = all_mapped(setting, (ULTRA, HM, IM), cases(setting))
    return {**quality_rows(found), **speedup_rows(found, ULTRA)}


@experiment(
    "mapping.fig2", "KaHIP, Mt-KaHyPar, Scotch (pyscotch); SharedMap and IntMap cannot be had", 600
)
def fig2(setting: Setting) -> Values:
    """Return the profile of costs and speedups, compared with solvers on CPUs (Figure 2).

    The paper's solvers have no package. KaHIP's multisection has the partitioner of SharedMap, but
    a fixed imbalance. The best cost is that of the tools that were measured.
    """
    strong = "KaHIP multisection, strong"
    names = (ULTRA, IM, strong, "KaHIP multisection, fast", "Mt-KaHyPar", "Scotch")
    chosen = cases(setting, HIERARCHIES[:2] if setting.quick else HIERARCHIES)
    found = all_mapped(setting, names, chosen)
    values: dict[Cell, float | str] = {**quality_rows(found)}
    if strong in found:
        values |= speedup_rows(found, strong)
    for row in dict.fromkeys(row for row, _ in values):
        values |= {(row, name): PEER_MISSING for name in names if name not in found}
    return values


@experiment("mapping.jet", NEEDS, 60)
def jet(setting: Setting) -> Values:
    """Return costs, cuts and times of GPU-IM and of Jet, whose part p is on PE p (section 5.4)."""
    found = all_mapped(setting, (IM, JET, JET_ULTRA), cases(setting))
    values: dict[Cell, float | str] = {}
    for column, own in by_size(found[IM]).items():
        above = partial(excess, found, own)
        rows = {
            f"{JET}'s cost above {IM}'s, mean %": above("cost", JET, IM),
            f"{JET_ULTRA}'s cost above {IM}'s, mean %": above("cost", JET_ULTRA, IM),
            f"{IM}'s cut above {JET}'s, mean %": above("cut", IM, JET),
        }
        ratios = [found[JET][case].seconds / found[IM][case].seconds for case in own]
        speedup = f"{IM}'s speedup over {JET}"
        values |= {
            **{(row, column): value for row, value in rows.items()},
            (f"{speedup}, geometric mean", column): geometric_mean(ratios) if own else NO_GRAPH,
            (f"{speedup}, lowest", column): min(ratios, default=NO_GRAPH),
            (f"{speedup}, highest", column): max(ratios, default=NO_GRAPH),
            (CASES, column): len(own),
        }
    return values


def excess(
    found: Mapping[str, Found], cases: Sequence[Case], quantity: str, name: str, over: str
) -> float | str:
    """Return by how many percent a method's quantity exceeds another's, on average."""
    values = ((getattr(found[each][case], quantity) for each in (name, over)) for case in cases)
    ratios = [ours / theirs for ours, theirs in values]
    return 100 * (fmean(ratios) - 1) if ratios else NO_GRAPH


def by_size(found: Iterable[Case]) -> dict[str, list[Case]]:
    """Return the cases with small graphs, with large ones, and all."""
    every = list(found)
    large = [case for case in every if case.instance.n >= LARGE_N]
    return {"small": [c for c in every if c not in large], "large": large, "all": every}


PHASES = ("Coarsening", "Contraction", "Init. Part.", "Uncontr.", "Refine + Reb.", "Misc", "Total")
EXTREMES = {
    "cop20k_A (ms)": PaperGraph("cop20k_A", FEM, 99_843, 1_300_000),
    "europa_osm (ms)": PaperGraph("europa_osm", ROAD, 50_900_000, 54_100_000),
}
"""The paper's smallest and largest graph; it gives numbers of edges, and the larger n, rounded."""


@experiment("mapping.table2", NEEDS, 10)
def table2(setting: Setting) -> Values:
    """Return the time of GPU-IM by phase: shares for small and large graphs, and ms (Table 2).

    The runs are profiled: the host waits for each kernel.
    """
    values: dict[Cell, float | str] = {}
    sizes = by_size(cases(setting))
    for column, own in (("Small (%)", sizes["small"]), ("Large (%)", sizes["large"])):
        shares = [phases(setting, case) for case in own]
        for phase in PHASES:
            mean = (100 * found[phase] / found["Total"] for found in shares)
            values[phase, column] = fmean(mean) if own else NO_GRAPH
        values["graph", column] = f"{len(own)} cases"
    for column, paper_graph in EXTREMES.items():
        instance = paper_graph.find(setting)
        found = phases(setting, Case(instance, HIERARCHIES[-1]))
        values |= {(phase, column): 1000 * seconds for phase, seconds in found.items()}
        values["graph", column] = described(setting, instance)
    return values


def phases(setting: Setting, case: Case) -> dict[str, float]:
    """Return the mean seconds of each phase of GPU-IM over the seeds."""
    job = Job(setting.graph(case.instance), Path(), "default", setting.threads, IMBALANCE)
    options, target = jetpy.preset("jet").changed(GPU_IM_OPTIONS), machine(case.hierarchy, DISTANCE)
    how: Mapping[str, Any] = {"options": options, "profile": True}
    runs = []
    for seed in range(setting.seeds):
        run = run_mapping(setting.backend, "im", job, target, seed, **how).partition
        assert run.profile is not None
        runs.append(split(run.profile, run.seconds["total"]))
    return {phase: fmean(run[phase] for run in runs) for phase in PHASES}


def split(profile: Profile, total: float) -> dict[str, float]:
    """Return the seconds of each of `PHASES` in a run of `total` seconds.

    The coarsening of a level is its matching until the contraction numbers the coarse vertices.
    Projections in the refinement are uncontractions. Transfers, and all else, are miscellaneous.
    """
    stages: dict[str, float] = {}
    for (stage, level), seconds in profile.seconds.items():
        if level is not None:
            stages[stage] = stages.get(stage, 0.0) + seconds
    contraction = sum(_contraction(own) for own in _levels(profile, "coarsen")) / 1e9
    uncontraction = 1e-9 * sum(
        event.duration
        for event in profile.events
        if event.name == "project" and event.owner[0] == "refine"
    )
    found = {
        "Coarsening": stages["coarsen"] - contraction,
        "Contraction": contraction,
        "Init. Part.": stages["initial"],
        "Uncontr.": uncontraction,
        "Refine + Reb.": stages["refine"] - uncontraction,
    }
    return {**found, "Misc": total - sum(found.values()), "Total": total}


def _levels(profile: Profile, stage: str) -> list[list[Event]]:
    """Return the events of a stage, for each level."""
    levels: dict[int, list[Event]] = {}
    for event in profile.events:
        if event.owner[0] == stage and event.owner[1] is not None:
            levels.setdefault(event.owner[1], []).append(event)
    return list(levels.values())


def _contraction(events: Sequence[Event]) -> int:
    """Return the nanoseconds from the first kernel of a contraction to the end of its step."""
    starts = [event.start for event in events if event.name == "number_pairs"]
    ends = [event.start + event.duration for event in events if event.kind is Kind.STEP]
    return max(ends) - min(starts) if starts else 0


EXPERIMENTS = [fig1, table2, fig2, jet]
