"""Alternating runs of jetpy and the executable of the C++ Jet on one machine.

The executable reads a METIS file and a file of settings. It writes two files: the parts of its best
run, and a JSON list with the cut and the seconds of each run.
"""

from __future__ import annotations

import csv
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import NamedTuple

import jetpy
from bench.gpu_cases import HALVES, Case
from bench.instances import Instance
from bench.provenance import note_measurement
from bench.tables import mean_text, note, ratio_text, show
from jetpy.study.programs import run_jet

IMBALANCE = 0.03
TIMEOUT = 300
"""Maximum seconds of one process of the executable."""
RATIOS = {"t": "time", "d": "time without upload", "c": "cut"}


class Run(NamedTuple):
    """The seconds of a run, the seconds of the upload that they include, and the cut.

    The C++ Jet's seconds do not include the upload, so its `upload` is 0.
    """

    seconds: float
    upload: float
    cut: int


class Tool(NamedTuple):
    """A back end and a preset of jetpy, or the executable, which has no preset."""

    name: str
    preset: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.preset}".strip()


PEER = Tool("peer")


class Measured(NamedTuple):
    """A run with all that describes it; the columns of the result file.

    `started` is the time at which the benchmark started, the same for all its runs. The seed of
    the executable is -1, because it takes none.
    """

    started: str
    device: str
    group: str
    half: str
    graph: str
    k: int
    tool: str
    preset: str
    seed: int
    round: int
    seconds: float
    upload: float
    cut: int

    @property
    def case(self) -> Case:
        """The case of this run."""
        return Case(self.group, self.half, self.graph, self.k)

    @property
    def tool_and_preset(self) -> Tool:
        """The tool of this run."""
        return Tool(self.tool, self.preset)


@dataclass(frozen=True)
class Plan:
    """What to run in turn.

    Attributes
    ----------
    program : Path
        The executable.
    folder : Path
        Folder of the METIS files.
    tools : sequence of Tool
        Back ends and presets of jetpy.
    seeds : sequence of int
    repeat : int
        Runs with each seed in a round.
    rounds : int
    device : str
        Description of the device.
    """

    program: Path
    folder: Path
    tools: Sequence[Tool]
    seeds: Sequence[int]
    repeat: int
    rounds: int
    device: str


Partition = Callable[[jetpy.Graph, int, Tool, int], Run]
"""Makes one run of jetpy, given a graph, k, a tool and a seed."""


def metis_file(instance: Instance, folder: Path) -> Path:
    """Return the METIS file of a graph; write it if it does not exist."""
    file = folder / f"{instance.name}.graph"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        jetpy.write_graph(file, instance.load())
    return file


def run_peer(program: Path, graph: jetpy.Graph, file: Path, k: int, times: int) -> list[Run]:
    """Run the executable once. It partitions the graph in the METIS file `times` times.

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
    return [Run(run.seconds, 0.0, run.cut) for run in runs]


def compare(
    cases: Iterable[Case],
    instances: Mapping[str, Instance],
    partition: Partition,
    plan: Plan,
    results: Path,
) -> tuple[list[Measured], int]:
    """Run jetpy and the executable in turn; append the runs of each case to a CSV file.

    Return all runs and the number of failed cases, which have no runs.
    """
    found: list[Measured] = []
    failed = 0
    started = datetime.now(UTC).isoformat(timespec="seconds")
    for name, of_graph in groupby(cases, lambda case: case.graph):
        graph: jetpy.Graph | None = None
        for case in of_graph:
            try:
                if name not in instances:
                    raise ValueError(f"no graph is called {name}")
                if graph is None:
                    graph = instances[name].load()
                file = metis_file(instances[name], plan.folder)
                rows = list(_measured(case, graph, file, partition, plan, started))
                append_runs(results, rows)
            except Exception:  # one failure must not waste the other cases' device time
                failed += 1
                note(f"{case} failed: {traceback.format_exc()}")
                continue
            found += rows
            for tool in (*plan.tools, PEER):
                note(f"{case} {tool}: {_summary([r for r in rows if r.tool_and_preset == tool])}")
    return found, failed


def _measured(
    case: Case, graph: jetpy.Graph, file: Path, partition: Partition, plan: Plan, started: str
) -> Iterator[Measured]:
    for tool in plan.tools:
        partition(graph, case.k, tool, plan.seeds[0])  # warm-up
    count = plan.repeat * len(plan.seeds)
    for number in range(plan.rounds):
        for tool in (*plan.tools, PEER):
            seeds = [seed for seed in plan.seeds for _ in range(plan.repeat)]
            if tool == PEER:
                # the first run of each process is a warm-up
                runs = run_peer(plan.program, graph, file, case.k, count + 1)[1:]
                seeds = [-1] * count
            else:
                runs = [partition(graph, case.k, tool, seed) for seed in seeds]
            for seed, run in zip(seeds, runs, strict=True):
                yield Measured(started, plan.device, *case, *tool, seed, number, *run)


def append_runs(path: Path, rows: Iterable[Measured]) -> None:
    """Append runs to a CSV file, and the commit, machine, date and command to `provenance.json`.

    Create the files and their folder if they do not exist.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    note_measurement(path)
    with open(path, "a", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        if stream.tell() == 0:
            writer.writerow(Measured._fields)
        writer.writerows(rows)


def read_runs(path: Path) -> list[Measured]:
    """Return the runs in a CSV file."""
    kinds = {"k": int, "seed": int, "round": int, "seconds": float, "upload": float, "cut": int}
    with open(path, newline="", encoding="utf-8") as stream:
        return [
            Measured(**{name: kinds.get(name, str)(text) for name, text in row.items()})
            for row in csv.DictReader(stream)
        ]


def _summary(runs: Sequence[Measured]) -> str:
    seconds = [run.seconds for run in runs]
    span = f"{min(seconds):.4f} to {max(seconds):.4f}"
    return f"{median(seconds):.4f} s ({span}), cut {median(run.cut for run in runs):,.0f}"


@dataclass(frozen=True)
class Result:
    """The runs of a tool in a case, and those of the executable in turn with them."""

    case: Case
    tool: Tool
    runs: Sequence[Measured]
    peer: Sequence[Measured]

    @property
    def seconds(self) -> tuple[float, float]:
        """Median seconds of the tool and of the executable."""
        ours, peer = (median(run.seconds for run in runs) for runs in (self.runs, self.peer))
        return ours, peer

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """The `RATIOS` of the medians; None where one of the two numbers is not positive."""
        ours, peer = self.seconds
        without_upload = median(run.seconds - run.upload for run in self.runs)
        cuts = (median(run.cut for run in runs) for runs in (self.runs, self.peer))
        pairs = ((ours, peer), (without_upload, peer), tuple(cuts))
        return tuple(a / b if a > 0 and b > 0 else None for a, b in pairs)


def results_of(rows: Iterable[Measured]) -> list[Result]:
    """Return a result for each tool and case. If it was measured several times, the last counts."""
    runs: dict[tuple[Case, Tool], dict[str, list[Measured]]] = {}
    for row in rows:
        calls = runs.setdefault((row.case, row.tool_and_preset), {})
        calls.setdefault(row.started, []).append(row)
    return [
        Result(case, tool, calls[max(calls)], runs[case, PEER][max(calls)])
        for (case, tool), calls in runs.items()
        if tool != PEER
    ]


def case_rows(results: Iterable[Result]) -> list[list[str]]:
    """Return a row per result: the case, medians of the seconds, and the ratios."""
    return [
        [result.case.group, result.case.graph, str(result.case.k), result.case.half]
        + [f"{seconds:.4f}" for seconds in result.seconds]
        + [ratio_text(ratio) for ratio in result.ratios]
        for result in results
    ]


def mean_rows(results: Sequence[Result]) -> list[list[str]]:
    """Return a row per tool, group and half: geometric means, then the worst ratios and cases.

    There are also rows for all groups and for both halves, where there are several.
    """
    rows = []
    for tool in dict.fromkeys(result.tool for result in results):
        own = [result for result in results if result.tool == tool]
        groups = {
            name: [result for result in own if result.case.group == name]
            for name in dict.fromkeys(result.case.group for result in own)
        }
        if len(groups) > 1:
            groups["all"] = own
        for group, members in groups.items():
            halves = {
                half: [result for result in members if result.case.half == half] for half in HALVES
            }
            present = {half: some for half, some in halves.items() if some}
            if len(present) > 1:
                present["both"] = members
            for half, some in present.items():
                columns = list(zip(*(result.ratios for result in some), strict=True))
                rows.append(
                    [str(tool), group, half, str(len(some)), *map(mean_text, columns)]
                    + [_worst(some, number) for number in range(len(columns))]
                )
    return rows


def _worst(results: Iterable[Result], number: int) -> str:
    """Return the largest of one kind of ratio and its case."""
    known = [
        (ratio, str(result.case))
        for result in results
        if (ratio := result.ratios[number]) is not None
    ]
    return "{:.3f} {}".format(*max(known)) if known else ratio_text(None)


def print_tables(rows: Sequence[Measured], *, markdown: bool) -> None:
    """Print a table of the cases per tool, the table of means, and seeds with several cuts."""
    results = results_of(rows)
    explained = ", ".join(f"{name} ({letter})" for letter, name in RATIOS.items())
    for tool in dict.fromkeys(result.tool for result in results):
        own = [result for result in results if result.tool == tool]
        devices = ", ".join(dict.fromkeys(run.device for result in own for run in result.runs))
        show(
            f"{tool} on {devices}: median seconds; {explained} divided by the peer's",
            ["group", "graph", "k", "half", "seconds", "peer s", *RATIOS],
            case_rows(own),
            left=2,
            markdown=markdown,
        )
    show(
        f"Geometric means of {explained} divided by the peer's, and the worst cases",
        ["tool", "group", "half", "cases", *RATIOS, *(f"worst {letter}" for letter in RATIOS)],
        mean_rows(results),
        left=3,
        markdown=markdown,
    )
    for result in results:
        for seed in dict.fromkeys(run.seed for run in result.runs):
            cuts = {run.cut for run in result.runs if run.seed == seed}
            if len(cuts) > 1:
                found = ", ".join(f"{cut:,}" for cut in sorted(cuts))
                print(f"{result.case} {result.tool}: seed {seed} has several cuts: {found}")
