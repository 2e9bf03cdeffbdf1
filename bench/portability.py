"""jetpy's back ends and other partitioners on the same graphs: CSV, performance profiles, means.

Goes on where it stopped. Without --graphs and --generated it only summarises what it has.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from subprocess import CalledProcessError
from typing import Any

from bench.arrays import save_arrays
from bench.child import Absent, answers
from bench.instances import KS, Instance, add_options, chosen
from bench.profiles import Panel, draw
from bench.quality import RESULTS
from bench.tables import note, show
from bench.tools import TOOLS
from jetpy import Graph

COLUMNS = (
    "graph",
    "class",
    "n",
    "m",
    "k",
    "tool",
    "backend",
    "threads",
    "preset",
    "seeds",
    "median_cut",
    "max_imbalance",
    "feasible",
    "median_seconds",
)

Row = dict[str, str]
Case = tuple[str, str]
"""Graph and number of parts."""


@dataclass(frozen=True)
class Competitor:
    """A tool with a preset and a number of threads."""

    tool: str
    preset: str
    threads: int

    @property
    def label(self) -> str:
        """Name in tables and figures, such as jetpy/numba/default/2."""
        return f"{self.tool}/{self.preset}/{self.threads}"


def label_of(row: Row) -> str:
    """Label of the competitor that a row is about."""
    return "/".join(filter(None, (row["tool"], row["backend"], row["preset"], row["threads"])))


def competitors(options: argparse.Namespace) -> Iterator[Competitor]:
    """Tools with all presets and numbers of threads that are asked for and that they have."""
    for name in options.tools:
        tool = TOOLS[name]
        for preset in [tool.preset] if tool.preset else options.presets:
            for threads in options.threads if tool.threaded else [1]:
                yield Competitor(name, preset, threads)


def read_rows(path: Path) -> list[Row]:
    """Rows of the CSV file; none if there is no such file."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def measure(
    instance: Instance, todo: Mapping[Competitor, list[int]], seeds: list[int], absent: set[str]
) -> Iterator[Row]:
    """Run each competitor, in a process of its own, on one graph; tools found absent are added."""
    with tempfile.TemporaryDirectory() as folder:
        graph = instance.load()
        save_arrays(Path(folder), graph)
        for competitor, ks in todo.items():
            if competitor.tool in absent:
                continue
            note(f"{instance.name} {competitor.label}")
            fixed = _about(instance, graph, competitor, seeds)
            for answer in answers_of(competitor, folder, ks, seeds, absent):
                row = {**fixed, **answer}
                yield {column: str(row[column]) for column in COLUMNS}


def answers_of(
    competitor: Competitor,
    folder: str,
    ks: Sequence[int],
    seeds: Sequence[int],
    absent: set[str],
    *more: object,
) -> Iterator[Any]:
    """Run a competitor in a process of its own, on the graph in a folder, and yield its answers.

    `more` are further arguments of `bench.tools`. If the tool is found absent it is added; that,
    and failures, are told and end the answers.
    """
    try:
        yield from answers(
            "bench.tools",
            *(competitor.tool, folder, competitor.preset, competitor.threads),
            *("--ks", *ks, "--seeds", *seeds, *more),
            threads=competitor.threads,
        )
    except Absent as reason:
        note(f"  left out: {reason}")
        absent.add(competitor.tool)
    except CalledProcessError as error:
        note(f"  failed, status {error.returncode}")


def _about(instance: Instance, graph: Graph, competitor: Competitor, seeds: list[int]) -> Row:
    tool, _, backend = competitor.tool.partition("/")
    return {
        "graph": instance.name,
        "class": instance.cls,
        "n": str(graph.n),
        "m": str(graph.m),
        "tool": tool,
        "backend": backend,
        "threads": str(competitor.threads),
        "preset": competitor.preset,
        "seeds": _text(seeds),
    }


def missing(
    instance: Instance, options: argparse.Namespace, done: Collection[tuple[str, str, str]]
) -> dict[Competitor, list[int]]:
    """Numbers of parts for which a competitor lacks a row about a graph."""
    todo = {}
    for competitor in competitors(options):
        wanted = options.ks or KS[instance.kind]
        ks = [k for k in wanted if (instance.name, str(k), competitor.label) not in done]
        if ks:
            todo[competitor] = ks
    return todo


def run(options: argparse.Namespace, path: Path) -> None:
    """Measure what the CSV file lacks."""
    done = {
        (row["graph"], row["k"], label_of(row))
        for row in read_rows(path)
        if row["seeds"] == _text(options.seeds)
    }
    absent: set[str] = set()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if not stream.tell():
            writer.writeheader()
        for instance in chosen(options):
            todo = missing(instance, options, done)
            for row in measure(instance, todo, options.seeds, absent) if todo else ():
                writer.writerow(row)
                stream.flush()


def _text(seeds: Iterable[int]) -> str:
    return " ".join(map(str, seeds))


def solved(rows: Iterable[Row], column: str) -> dict[str, dict[Case, float]]:
    """A column's numbers by competitor and case, of cases all of whose runs were feasible.

    Of several measurements of a case (other seeds), the latest counts.
    """
    values: dict[str, dict[Case, float]] = {}
    for row in rows:
        own = values.setdefault(label_of(row), {})
        own.pop((row["graph"], row["k"]), None)
        if int(row["feasible"]) == len(row["seeds"].split()):
            own[row["graph"], row["k"]] = float(row[column])
    return values


def mean_rows(
    cuts: Mapping[str, Mapping[Case, float]],
    seconds: Mapping[str, Mapping[Case, float]],
    baseline: str,
) -> list[list[str]]:
    """Geometric means of the ratios to the baseline over the cases that both have solved."""
    rows = []
    for label, own in cuts.items():
        common = own.keys() & cuts[baseline].keys()
        means = [
            _mean(
                values[label][case] / values[baseline][case]
                for case in common
                if values[label][case] and values[baseline][case]
            )
            for values in (cuts, seconds)
        ]
        rows.append([label, str(len(own)), str(len(common)), *means])
    return rows


def _mean(ratios: Iterable[float]) -> str:
    found = list(ratios)
    return f"{geometric_mean(found):.4f}" if found else "-"


def summarise(options: argparse.Namespace, path: Path) -> None:
    """Print the table of means and draw the profiles."""
    rows = read_rows(path)
    cuts, seconds = solved(rows, "median_cut"), solved(rows, "median_seconds")
    baseline = next((label for label in cuts if f"{label}/".startswith(f"{options.baseline}/")), "")
    if not baseline:
        raise SystemExit(f"no rows of {options.baseline}; there are {', '.join(cuts) or 'none'}")
    cases = len({(row["graph"], row["k"]) for row in rows})
    show(
        f"{cases} cases; cut and time over those of {baseline}, geometric means",
        ["tool/preset/threads", "solved", "in common", "cut", "time"],
        mean_rows(cuts, seconds, baseline),
        markdown=options.markdown,
    )
    files = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    try:
        draw([Panel("cut", cuts, 2), Panel("time", seconds, 1000)], files)
    except ImportError as error:
        note(f"no figure: {error}")


def main() -> None:
    """Measure what is missing, then summarise all there is."""
    parser = argparse.ArgumentParser(prog="python -m bench.portability", description=__doc__)
    add_options(parser)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--presets", nargs="+", default=["default"], help="of jetpy")
    parser.add_argument("--ks", nargs="+", type=int, help=f"by default {KS}")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--threads", nargs="+", type=int, default=[2], help="of the tools that use several"
    )
    parser.add_argument(
        "--baseline",
        default="jetpy/numba/default",
        help="TOOL[/PRESET[/THREADS]] that the others are compared with; the first that fits",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args()
    path = options.results / "portability.csv"
    if options.graphs or options.generated:
        run(options, path)
    summarise(options, path)


if __name__ == "__main__":
    main()
