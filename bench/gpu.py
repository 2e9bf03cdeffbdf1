"""Alternating runs of jetpy and the executable of the C++ Jet on large graphs.

The executable reads a METIS file and a file of settings. It writes two files: the parts of its best
run, and a JSON list with the cut and the seconds of each run.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import jetpy
from bench.gpu_cases import HALVES, REAL, SETS, Case, select_cases
from bench.harness import Experiment, Option, among
from bench.instances import Instance, present
from bench.records import Record
from bench.tables import extreme_text, mean_text, note, ratio_text, show
from jetpy.device.backends import BACKENDS, lease
from jetpy.device.device_graph import upload
from jetpy.study.arrays import load_arrays
from jetpy.study.programs import run_jet

IMBALANCE = 0.03
TIMEOUT = 300
"""Maximum seconds of one process of the executable."""
RATIOS = {"t": "time", "d": "time without upload", "c": "cut"}
PEER = "peer"
"""Name of the executable among the tools; jetpy's are a back end and a preset."""
METIS_FILE = "graph.graph"
FIELDS = ("backend", "presets", "seeds", "repeat", "rounds")


def chosen(options: argparse.Namespace) -> list[Case]:
    """Return the cases that the options select; without `--graphs`, no real graphs."""
    found = select_cases(options.set, options.half)
    return found if options.graphs else [case for case in found if case.group != REAL]


def graphs(options: argparse.Namespace) -> list[Instance]:
    """Return the graphs of the cases.

    Raises
    ------
    SystemExit
        If the executable is missing.
    """
    if options.peer is None or not os.access(options.peer, os.X_OK):
        raise SystemExit(f"{options.peer} is not an executable file (--peer)")
    if not options.graphs and REAL in {case.group for case in select_cases(options.set)}:
        note("the real graphs are left out: give --graphs DIR")
    names = list(dict.fromkeys(case.graph for case in chosen(options)))
    return sorted(present(options, names), key=lambda instance: names.index(instance.name))


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each case of a graph."""
    fixed = {name: getattr(options, name) for name in FIELDS}
    for case in chosen(options):
        if case.graph == instance.name:
            yield {"group": case.group, "half": case.half, "k": case.k, **fixed}


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Run jetpy and the executable in turn, and yield all runs of each case by tool.

    Each preset has a run to warm up, and so has each process of the executable.
    """
    graph, file, threads = load_arrays(Path(folder)), Path(folder, METIS_FILE), settings["threads"]
    if not file.exists():
        jetpy.write_graph(file, graph)
    for case in cases:
        tools = {f"{case['backend']} {p}": (case["backend"], p) for p in case["presets"]}
        for how in tools.values():
            run_jetpy(graph, case["k"], case["seeds"][0], *how, threads)
        runs: dict[str, list[Record]] = {tool: [] for tool in (*tools, PEER)}
        seeds = [seed for seed in case["seeds"] for _ in range(case["repeat"])]
        for number in range(case["rounds"]):
            for tool, how in tools.items():
                for seed in seeds:
                    run = run_jetpy(graph, case["k"], seed, *how, threads)
                    runs[tool].append({"seed": seed, "round": number, **run})
            program = Path(settings["peer"]).resolve()
            for run in run_peer(program, graph, file, case["k"], len(seeds) + 1)[1:]:
                runs[PEER].append({"seed": -1, "round": number, **run})
        yield {"runs": runs}


def run_jetpy(
    graph: jetpy.Graph, k: int, seed: int, backend: Any, preset: Any, threads: int | None
) -> Record:
    """Partition a graph once; return the seconds, those of the upload that they include, and cut.

    Raises
    ------
    ValueError
        If the parts are not feasible.
    """
    run = jetpy.partition(graph, k, seed=seed, preset=preset, backend=backend, threads=threads)
    if not run.feasible:
        raise ValueError(f"the parts of {backend} {preset} with seed {seed} are not feasible")
    with lease(backend, threads) as engine:  # the engine of the run: another one slows the next run
        start = perf_counter()
        upload(engine, graph)
        engine.synchronize()
        spent = perf_counter() - start
    seconds = {"seconds": round(run.seconds["total"], 6), "upload": round(spent, 6)}
    return {**seconds, "cut": run.cut}


def run_peer(program: Path, graph: jetpy.Graph, file: Path, k: int, times: int) -> list[Record]:
    """Run the executable once. It partitions the graph in the METIS file `times` times.

    Its seconds do not include the upload.

    Raises
    ------
    ProgramError
        If the executable fails, runs for more than `TIMEOUT` seconds, reports another number of
        runs, or another cut than that of its best partition.
    ValueError
        If this partition is not balanced.
    """
    runs, parts = run_jet(program, graph, file, k, IMBALANCE, times, TIMEOUT)
    found = jetpy.evaluate(graph, parts, k)
    if found.imbalance > IMBALANCE + 1e-3:
        raise ValueError(
            f"{program} exceeds imbalance {IMBALANCE}: the imbalance is {found.imbalance:.4f}"
        )
    return [{"seconds": run.seconds, "upload": 0.0, "cut": run.cut} for run in runs]


@dataclass(frozen=True)
class Result:
    """The runs of a tool in a case, and those of the executable in turn with them."""

    case: Case
    tool: str
    runs: Sequence[Record]
    peer: Sequence[Record]

    @property
    def seconds(self) -> tuple[float, float]:
        """Median seconds of the tool and of the executable."""
        ours, peer = (median(run["seconds"] for run in runs) for runs in (self.runs, self.peer))
        return ours, peer

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """The `RATIOS` of the medians; None where one of the two numbers is not positive."""
        ours, peer = self.seconds
        without_upload = median(run["seconds"] - run["upload"] for run in self.runs)
        cuts = (median(run["cut"] for run in runs) for runs in (self.runs, self.peer))
        pairs = ((ours, peer), (without_upload, peer), tuple(cuts))
        return tuple(a / b if a > 0 and b > 0 else None for a, b in pairs)


def results_of(records: Iterable[Record]) -> list[Result]:
    """Return a result for each tool and case. If it was measured several times, the last counts."""
    found = {}
    for record in records:
        case = Case(record["group"], record["half"], record["graph"], record["k"])
        runs = record["runs"]
        for tool in runs:
            if tool != PEER:
                found[case, tool] = Result(case, tool, runs[tool], runs[PEER])
    return list(found.values())


def case_rows(results: Iterable[Result]) -> list[list[str]]:
    """Return a row per result: the case, medians of the seconds, and the ratios."""
    return [
        [result.case.group, result.case.graph, str(result.case.k), result.case.half]
        + [f"{seconds:.4f}" for seconds in result.seconds]
        + [ratio_text(ratio) for ratio in result.ratios]
        for result in results
    ]


def groups_of(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the results of each group, all results, and those of each half."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.case.group, []).append(result)
    found["all"] = list(results)
    for half in HALVES:
        found[f"half {half}"] = [result for result in results if result.case.half == half]
    return found


def mean_rows(results: Sequence[Result]) -> list[list[str]]:
    """Return a row per tool and group: geometric means, then the worst ratios and cases."""
    rows = []
    for tool in dict.fromkeys(result.tool for result in results):
        own = [result for result in results if result.tool == tool]
        for group, members in groups_of(own).items():
            by_case = {str(result.case): result.ratios for result in members}
            columns = [
                {case: ratios[number] for case, ratios in by_case.items()}
                for number in range(len(RATIOS))
            ]
            known = [{c: ratio for c, ratio in own.items() if ratio} for own in columns]
            means = [mean_text(own.values()) for own in columns]
            rows.append([tool, group, str(len(members)), *means, *map(extreme_text, known)])
    return rows


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print a table of the cases per tool, the table of means, and seeds with several cuts."""
    results = results_of(records)
    explained = ", ".join(f"{name} ({letter})" for letter, name in RATIOS.items())
    for tool in dict.fromkeys(result.tool for result in results):
        own = [result for result in results if result.tool == tool]
        show(
            f"{tool}: median seconds; {explained} divided by the peer's",
            ["group", "graph", "k", "half", "seconds", "peer s", *RATIOS],
            case_rows(own),
            left=2,
            markdown=options.markdown,
        )
    show(
        f"Geometric means of {explained} divided by the peer's, and the worst cases",
        ["tool", "group", "cases", *RATIOS, *(f"worst {letter}" for letter in RATIOS)],
        mean_rows(results),
        left=2,
        markdown=options.markdown,
    )
    for result in results:
        for seed in dict.fromkeys(run["seed"] for run in result.runs):
            cuts = {run["cut"] for run in result.runs if run["seed"] == seed}
            if len(cuts) > 1:
                found = ", ".join(f"{cut:,}" for cut in sorted(cuts))
                print(f"{result.case} {result.tool}: seed {seed} has several cuts: {found}")


EXPERIMENT = Experiment(
    name="gpu",
    doc=__doc__,
    options={
        "peer": Option(None, "executable of the C++ Jet", type=Path, metavar="PROGRAM"),
        "set": among(SETS, ["ten"], "sets of cases"),
        "half": Option(None, "only this half of the cases", choices=HALVES),
        "backend": Option("cuda", choices=BACKENDS),
        "presets": ("default",),
        "seeds": (0,),
        "repeat": Option(5, "runs with each seed in a round"),
        "rounds": 4,
        "threads": Option(None, "CPU threads; all by default", type=int),
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "k", *FIELDS),
    select=graphs,
)

if __name__ == "__main__":
    EXPERIMENT.main()
