"""Times and cuts of jetpy and other tools on small graphs, by turns with METIS on one thread."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, geometric_mean, median
from typing import Any

import numpy as np
import numpy.typing as npt
import pymetis

import jetpy
from bench.figures import Point, draw_points
from bench.harness import Experiment, Option, among
from bench.instances import Instance, present
from bench.records import Record, by_tool, is_jetpy
from bench.small_cases import CLASSES, GENERATED, HALVES, KS, classes_of
from bench.tables import mean_text, note, ratio_text, show
from bench.tools import TOOLS
from jetpy.device.backends import BACKENDS, check_backend
from jetpy.study.arrays import load_arrays
from jetpy.study.tools import IMBALANCE, Job
from jetpy.study.verdict import judge

METIS = "metis"
ALSO = ("kaminpar", "mtkahypar")

Answer = tuple[npt.ArrayLike, int | None]
"""The part of each vertex, and the cut if the tool returns it."""
Solve = Callable[[int, int], Answer]
"""Called as `solve(k, seed)`."""
Case = tuple[str, int]
"""Graph and number of parts."""
Results = Mapping[str, Mapping[Case, Record]]
"""The last record of each tool by case."""


def chosen(options: argparse.Namespace) -> list[Instance]:
    """Return the graphs of the chosen halves, and name those that the folders lack."""
    names = [name for half in options.halves for name in classes_of(half)]
    return present(options, names, GENERATED)


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each tool and number of parts."""
    half = next(half for half in HALVES if instance.name in classes_of(half))
    about = {"half": half, "class": classes_of(half)[instance.name], "seeds": options.seeds}
    for tool in (*(f"jetpy/{options.backend}/{p}" for p in options.presets), *options.also):
        for k in options.ks:
            yield {**about, "k": k, "tool": tool}


def prepare_metis(job: Job) -> Solve:
    """Prepare METIS. It gets 64-bit arrays, and the same imbalance and seeds as jetpy."""
    adjacency = pymetis.CSRAdjacency(*arrays_of(job))

    def solve(k: int, seed: int) -> Answer:
        options = pymetis.Options(ufactor=round(1000 * job.imbalance), seed=seed)
        found = pymetis.part_graph(k, adjacency, options=options)
        return found.vertex_part, found.edge_cuts

    return solve


def prepare(tool: str, job: Job) -> Solve:
    """Prepare a back end and preset of jetpy, which gets the arrays of METIS, or another tool."""
    if not is_jetpy(tool):
        run = TOOLS[tool].prepare(job)
        return lambda k, seed: (run(k, seed)[0], None)
    _, backend, preset = tool.split("/")
    check_backend(backend, 1)
    arrays = arrays_of(job)
    how: dict[str, Any] = {"imbalance": job.imbalance, "preset": preset, "backend": backend}

    def solve(k: int, seed: int) -> Answer:
        found = jetpy.partition(arrays, k, seed=seed, threads=1, **how)
        return found.parts, found.cut

    return solve


def arrays_of(job: Job) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return indptr and indices with 64 bits."""
    return job.graph.indptr.astype(np.int64), job.graph.indices.astype(np.int64)


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Yield the results of a tool, and those of METIS by turns with it, for each number of parts.

    All weights are 1.
    """
    loaded = load_arrays(Path(folder))
    graph = jetpy.as_graph((loaded.indptr, loaded.indices))
    job, tool = Job(graph, Path(folder), "default", 1, IMBALANCE), cases[0]["tool"]
    tools = {METIS: prepare_metis(job), tool: prepare(tool, job)}
    for case in cases:
        found = by_turns(job, tools, case["k"], case["seeds"])
        yield {**found[tool], METIS: found[METIS]}


def by_turns(job: Job, tools: Mapping[str, Solve], k: int, seeds: int) -> dict[str, Record]:
    """Run all tools once to warm up, then by turns with each seed.

    Returns
    -------
    dict
        For each tool the median processor and wall seconds, the mean cut, and the number of results
        above the limit.

    Raises
    ------
    SystemExit
        If a tool returns another cut than that of its parts.
    """
    for solve in tools.values():
        solve(k, seeds)
    runs: dict[str, list[tuple[float, float, int, bool]]] = {tool: [] for tool in tools}
    for seed in range(seeds):
        for tool, solve in tools.items():
            wall, cpu = time.perf_counter(), time.thread_time()
            parts, reported = solve(k, seed)
            cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
            verdict = judge(job, parts, k)
            if reported not in (None, verdict.cut):
                raise SystemExit(
                    f"{tool} returns a cut of {reported}, but its parts cut {verdict.cut}"
                )
            runs[tool].append((cpu, wall, verdict.cut, not verdict.feasible))
    found = {}
    for tool, own in runs.items():
        cpus, walls, cuts, above = zip(*own, strict=True)
        found[tool] = {
            "cpu_seconds": round(median(cpus), 7),
            "seconds": round(median(walls), 7),
            "cut": round(fmean(cuts), 4),
            "above_limit": sum(above),
        }
    return found


def results(records: Iterable[Record]) -> Results:
    """Return the last record of each tool and case."""
    return by_tool(records, "graph", "k")


def time_ratio(record: Record) -> float:
    """Return the processor time divided by METIS's."""
    return float(record["cpu_seconds"] / record[METIS]["cpu_seconds"])


def cut_ratio(record: Record) -> float | None:
    """Return the mean cut divided by METIS's; None if one of them is 0."""
    own, metis = record["cut"], record[METIS]["cut"]
    return own / metis if own and metis else None


def means(records: Iterable[Record]) -> list[str]:
    """Return the number of records, and the geometric means of processor time and cut."""
    found = list(records)
    return [str(len(found)), mean_text(map(time_ratio, found)), mean_text(map(cut_ratio, found))]


GROUPS: Mapping[str, Callable[[Record], bool]] = {
    "all": lambda record: True,
    **{f"k = {k}": partial(lambda k, record: record["k"] == k, k) for k in KS},
    **{cls: partial(lambda cls, record: record["class"] == cls, cls) for cls in CLASSES},
}
"""Groups of cases: all, those of each k, and those of each class."""


def mean_rows(records: Iterable[Record], halves: Sequence[str] = HALVES) -> list[list[str]]:
    """Return a row per group: the number of cases and the means of a tool for each half."""
    found = list(records)
    rows = []
    for name, belongs in GROUPS.items():
        own = ([r for r in found if r["half"] == half and belongs(r)] for half in halves)
        rows.append([name, *(cell for half in own for cell in means(half))])
    return rows


def case_rows(found: Results) -> list[list[str]]:
    """Return a row per case: METIS's milliseconds and cut, and the ratios of each tool."""
    names = [name for half in HALVES for name in classes_of(half)]
    rows: dict[Case, list[str]] = {}
    for number, records in enumerate(found.values()):
        for case, record in records.items():
            metis = record[METIS]
            first = [record["half"], record["graph"], record["class"], f"{record['n']:,}"]
            first += [
                str(record["k"]),
                f"{1000 * metis['cpu_seconds']:.2f}",
                f"{metis['cut']:,.1f}",
            ]
            row = rows.setdefault(case, [*first, *["-"] * len(found)])
            cells = f"{time_ratio(record):.3f}; {ratio_text(cut_ratio(record))}"
            row[len(first) + number] = cells
    return [rows[case] for case in sorted(rows, key=lambda case: (names.index(case[0]), case[1]))]


def points(found: Results, half: str) -> tuple[int, list[Point]]:
    """Return the number of cases of a half that all tools solved, and the means of each tool."""
    solved = (
        {case for case, own in records.items() if own["half"] == half and cut_ratio(own)}
        for records in found.values()
    )
    common = set.intersection(*solved)
    if not common:
        return 0, []
    return len(common), [
        Point(METIS, 1, 1),
        *(
            Point(
                tool,
                geometric_mean(time_ratio(records[case]) for case in common),
                geometric_mean(cut_ratio(records[case]) or 1.0 for case in common),
            )
            for tool, records in found.items()
        ),
    ]


def draw(found: Results, file: Path) -> bool:
    """Draw time and cut over METIS's, one panel per half. Without common cases, return False."""
    counted = [(half, *points(found, half)) for half in HALVES]
    panels = [(f"half {half}, {number} cases", own) for half, number, own in counted if own]
    if panels:
        draw_points(panels, METIS, file)
    return bool(panels)


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print all tables, and draw the figure."""
    found = results(records)
    headers = ["half", "graph", "class", "n", "k", "METIS ms", "cut", *found]
    title = "METIS's processor milliseconds and cut; processor time and cut divided by METIS's"
    show(title, headers, case_rows(found), left=3, markdown=options.markdown)
    headers = ["cases", *(f"{h}: {name}" for h in HALVES for name in ("number", "time", "cut"))]
    for tool, own in found.items():
        above = sum(record["above_limit"] for record in own.values())
        runs = sum(record["seeds"] for record in own.values())
        title = f"{tool}: geometric means over METIS; {above} of {runs} results above the limit"
        show(title, headers, mean_rows(own.values()), markdown=options.markdown)
    if options.figure and not draw(found, options.figure):
        note("no figure: no case was solved by all tools")


EXPERIMENT = Experiment(
    name="small",
    doc=__doc__,
    options={
        "halves": among(HALVES, text="A: options may be chosen on these graphs; B: report these"),
        "ks": Option(KS, choices=KS),
        "presets": ("fast", "default"),
        "backend": Option("cpu", choices=BACKENDS),
        "seeds": Option(15, "number of runs with other seeds"),
        "also": among(ALSO, (), "also measure these partitioners"),
        "figure": Option(None, "figure of time and cut", type=Path, metavar="FILE"),
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "k", "seeds", "tool"),
    together=["k"],
    select=chosen,
)

if __name__ == "__main__":
    EXPERIMENT.main()
