"""Fill, operations, critical path and time of jetpy's orderings, METIS, AMD and mt-METIS.

`jetpy.symbolic` computes the fill and the operations of all orders. Each tool and matrix has a new
process, which runs METIS and the tool in turn. The seconds of a run are the shortest of all rounds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean

import jetpy
from bench.harness import LIBRARIES, Experiment, Option, among, by_jetpy
from bench.instances import Instance, selected
from bench.matrices import HALVES, RECIPES, half_of
from bench.ordering_tools import AMD, BASELINE, DEFAULT, MT_METIS, TOOLS, Job
from bench.records import Record, by_tool, is_jetpy
from bench.tables import extreme_text, mean_text, show
from jetpy.study.arrays import load_arrays

MEASURES = ("fill", "operations", "height", "critical_path")
MANY = 100_000
"""Matrices with at least this number of rows have a mean time of their own."""
HEADERS = [
    *("tool", "matrices", "fill", "operations", "worst operations", "height", "critical path"),
    *("worst critical path", "time", f"time, n ≥ {MANY:,}"),
]

Results = dict[str, dict[str, Record]]
"""Records of each tool by matrix."""


def measured(tool: str, job: Job, rounds: int) -> Record:
    """Order with METIS and a tool in turn, and return what the tool's orders cost."""
    names = dict.fromkeys((BASELINE, tool))
    orders = {name: TOOLS[name].prepare(job) for name in names}
    seconds = {name: [float("inf")] * len(TOOLS[name].seeds) for name in names}
    perms = {}
    for _ in range(rounds):
        for name, order in orders.items():
            for i, seed in enumerate(TOOLS[name].seeds):
                perm, elapsed = order(seed)
                seconds[name][i] = min(seconds[name][i], round(elapsed, 6))
                perms[name, seed] = perm.copy()
    found = [jetpy.symbolic(job.graph, perms[tool, seed]) for seed in TOOLS[tool].seeds]
    return {
        "seeds": TOOLS[tool].seeds,
        **{measure: [getattr(factor, measure) for factor in found] for measure in MEASURES},
        "seconds": seconds[tool],
        "metis_seconds": seconds[BASELINE],
    }


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Order a matrix with each tool, and METIS in turn."""
    libraries = tuple(map(Path, settings["libraries"]))
    job = Job(load_arrays(Path(folder)), settings["threads"], settings["backend"], libraries)
    for case in cases:
        yield measured(case["tool"], job, settings["rounds"])


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield the tools."""
    for tool in options.tools:
        engine = engine_of(tool, options.threads, options.backend)
        yield {"tool": tool, "half": half_of(instance.name), **engine}


def chosen(options: argparse.Namespace) -> list[Instance]:
    """Return the matrices of `--half` that the options select."""
    found = selected(options, RECIPES)
    return [each for each in found if options.half in (half_of(each.name), "all")]


def engine_of(tool: str, threads: int, backend: str) -> Record:
    """Return the number of threads of a tool, and its back end, given those of jetpy."""
    if is_jetpy(tool):
        return {"threads": threads, "backend": backend}
    return {"threads": threads if tool == MT_METIS else 1, "backend": "cpu"}


def by_matrix(records: Iterable[Record], threads: int, backend: str = "cpu") -> Results:
    """Return the last record of each tool and matrix, in the order of `TOOLS`.

    `threads` and `backend` are those of jetpy; mt-METIS has the same number, other tools one.
    """
    found = by_tool(
        (r for r in records if engine_of(r["tool"], threads, backend).items() <= r.items()),
        "graph",
    )
    return {
        tool: {name: record for (name,), record in found[tool].items()}
        for tool in TOOLS
        if tool in found
    }


def mean(record: Record, measure: str) -> float:
    """Return the geometric mean of a measure over the seeds."""
    return geometric_mean(record[measure])


def ratios(
    records: Mapping[str, Record], peers: Sequence[Mapping[str, Record]], measure: str
) -> dict[str, float]:
    """Return the ratio to the best peer for each matrix that all of them have ordered."""
    return {
        name: mean(record, measure) / min(mean(peer[name], measure) for peer in peers)
        for name, record in records.items()
        if all(name in peer for peer in peers)
    }


def time_ratios(records: Mapping[str, Record], least: int = 0) -> dict[str, float]:
    """Return the ratio to METIS's time in the same process, for matrices of at least that size."""
    return {
        name: mean(record, "seconds") / mean(record, "metis_seconds")
        for name, record in records.items()
        if record["n"] >= least
    }


def mean_rows(found: Results) -> list[list[str]]:
    """Return a row for each tool: geometric means over METIS, and the worst matrices."""
    rows = []
    for tool, records in found.items():
        own = {measure: ratios(records, [found.get(BASELINE, {})], measure) for measure in MEASURES}
        fill, operations, height, path = (own[measure] for measure in MEASURES)
        rows.append(
            [
                *(tool, str(len(fill)), mean_text(fill.values()), mean_text(operations.values())),
                *(extreme_text(operations), mean_text(height.values()), mean_text(path.values())),
                *(extreme_text(path), mean_text(time_ratios(records).values())),
                mean_text(time_ratios(records, MANY).values()),
            ]
        )
    return rows


def better_rows(found: Results) -> list[list[str]]:
    """Return a row for each tool of jetpy: means over the better of METIS and AMD."""
    peers = [found.get(peer, {}) for peer in (BASELINE, AMD)]
    rows = []
    for tool, records in found.items():
        if is_jetpy(tool):
            fill, operations = (ratios(records, peers, measure) for measure in MEASURES[:2])
            means = mean_text(fill.values()), mean_text(operations.values())
            rows.append([tool, str(len(fill)), *means, extreme_text(operations)])
    return rows


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print tables of means for each half and for all matrices."""
    for half in (*HALVES, "all"):
        chosen = [record for record in records if half in (record["half"], "all")]
        if not chosen or options.half not in (half, "all"):
            continue
        found = by_matrix(chosen, options.threads, options.backend)
        named = "both halves" if half == "all" else f"half {half}"
        engine = f"{options.backend}, threads = {options.threads}"
        title = f"{named}, {engine}: geometric means over METIS"
        show(title, HEADERS, mean_rows(found), markdown=options.markdown)
        title = f"{named}: geometric means over the better of METIS and AMD"
        headers = ["tool", "matrices", "fill", "operations", "worst operations"]
        show(title, headers, better_rows(found), markdown=options.markdown)


EXPERIMENT = Experiment(
    name="orderings",
    doc=__doc__,
    options={
        "half": Option(
            "all",
            "A: options may be chosen on these matrices; B: report these",
            choices=(*HALVES, "all"),
        ),
        "tools": among(TOOLS, DEFAULT),
        "threads": Option(1, "threads of jetpy and mt-METIS"),
        "backend": "cpu",
        "libraries": LIBRARIES,
        "rounds": Option(1, "runs of each order"),
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "tool", "threads", "backend"),
    file_of=by_jetpy,
    select=chosen,
)

if __name__ == "__main__":
    EXPERIMENT.main()
