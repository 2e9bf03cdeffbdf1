"""Cuts of jetpy and other partitioners under many conditions; goes on where it stopped.

Without --graphs and --generated it only prints the tables of what it has.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from bench import comparisons
from bench.alterations import CONDITIONS
from bench.comparisons import Record
from bench.competitors import Competitor, answers_of, competitors
from bench.instances import Instance, add_options, chosen
from bench.quality import RESULTS, read_records
from bench.tables import note, show
from bench.tools import TOOLS
from jetpy import Graph
from jetpy.study.arrays import save_arrays

DEFAULT_TOOLS = ("jetpy/cpu", "pymetis", "kaminpar", "mtkahypar", "mtkahypar-quality")
KS = (2, 16, 64)
PEERS_FILE = "conditions.jsonl"
JETPY_FILE = "conditions-jetpy.jsonl"

Key = tuple[str, str, int, str, tuple[int, ...]]
"""Graph, condition, number of parts, competitor and seeds."""


def results_path(folder: Path, tool: str) -> Path:
    """File of the results of a tool: jetpy's are apart, as they age with the program."""
    return folder / (JETPY_FILE if _is_jetpy(tool) else PEERS_FILE)


def _is_jetpy(tool: str) -> bool:
    return tool.startswith("jetpy/")


def all_records(folder: Path) -> list[Record]:
    """Records of both files, jetpy's first."""
    return [record for name in (JETPY_FILE, PEERS_FILE) for record in read_records(folder / name)]


def key_of(record: Record) -> Key:
    """Tell what a record is about."""
    names = ("graph", "condition", "k", "tool")
    graph, condition, k, tool = (record[name] for name in names)
    return graph, condition, k, tool, tuple(record["seeds"])


def missing(
    graph: str,
    condition: str,
    ks: Sequence[int],
    options: argparse.Namespace,
    done: Collection[Key],
) -> dict[Competitor, list[int]]:
    """Numbers of parts for which competitors lack a record about a graph under a condition."""
    seeds = tuple(options.seeds)
    todo = {
        rival: [k for k in ks if (graph, condition, k, rival.label, seeds) not in done]
        for rival in competitors(options)
    }
    return {rival: wanted for rival, wanted in todo.items() if wanted}


def measure(
    instance: Instance, options: argparse.Namespace, done: Collection[Key], absent: set[str]
) -> Iterator[tuple[Competitor, Record]]:
    """Run what is missing of a graph; tools that are found absent are added."""
    graph: Graph | None = None
    for name in options.conditions:
        condition = CONDITIONS[name]
        wanted = options.ks if condition.k is None else [condition.k]
        todo = missing(instance.name, name, wanted, options, done)
        todo = {rival: ks for rival, ks in todo.items() if rival.tool not in absent}
        if not todo:
            continue
        if graph is None:
            graph = instance.load()
        altered = condition.apply(graph, instance.name)
        about = {"graph": instance.name, "class": instance.cls, "n": altered.n, "m": altered.m}
        about |= {"condition": name, "imbalance": condition.imbalance, "seeds": options.seeds}
        with tempfile.TemporaryDirectory() as folder:
            save_arrays(Path(folder), altered)
            for competitor, ks in todo.items():
                note(f"{instance.name} {name} {competitor.label}")
                limit = ("--imbalance", condition.imbalance)
                for answer in answers_of(competitor, folder, ks, options.seeds, absent, *limit):
                    yield competitor, {**about, "tool": competitor.label, **answer}


def run(options: argparse.Namespace) -> None:
    """Measure what the files lack, and add it at once."""
    options.results.mkdir(parents=True, exist_ok=True)
    done = {key_of(record) for record in all_records(options.results)}
    absent: set[str] = set()
    for instance in chosen(options):
        if options.max_n and instance.n > options.max_n:
            continue
        for competitor, record in measure(instance, options, done, absent):
            with open(results_path(options.results, competitor.tool), "a") as stream:
                stream.write(json.dumps(record) + "\n")


def summarise(records: list[Record], markdown: bool) -> None:
    """Print the tables: those of each of jetpy's competitors, then those of all."""
    found = comparisons.results(records)
    peers = [label for label in found if not _is_jetpy(label)]
    for own in (label for label in found if _is_jetpy(label)):
        show(
            f"{own}: cut over that of …, geometric means",
            ["condition", "cases", *peers, "best", "worst case"],
            comparisons.cut_rows(own, peers, found),
            markdown=markdown,
        )
        show(
            comparisons.above_title(own, peers, found),
            ["graph", "condition", "k", "best tool", "ratio"],
            comparisons.above_rows(own, peers, found),
            left=2,
            markdown=markdown,
        )
        show(
            f"{own}: time over that of …, geometric means",
            ["condition", *peers],
            comparisons.time_rows(own, peers, found),
            markdown=markdown,
        )
        skipped = comparisons.without_ratio(own, peers, found)
        print(f"\nCases without a ratio: {len(skipped)}", *skipped, sep="\n  ")
    show(
        "largest over smallest cut of the seeds, geometric means",
        ["class", *found],
        comparisons.spread_rows(found),
        markdown=markdown,
    )
    show(
        "feasible runs",
        ["condition", *found],
        comparisons.feasible_rows(found),
        markdown=markdown,
    )


def main() -> None:
    """Measure what is missing, then print the tables of all there is."""
    parser = argparse.ArgumentParser(prog="python -m bench.conditions", description=__doc__)
    add_options(parser)
    parser.add_argument("--max-n", type=int, metavar="N", help="no graphs with more vertices")
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=DEFAULT_TOOLS)
    parser.add_argument("--presets", nargs="+", default=["default"], help="of jetpy")
    parser.add_argument("--ks", nargs="+", type=int, default=KS, help="of the condition plain")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", nargs="+", type=int, default=[2], help="of tools with several")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args()
    if options.graphs or options.generated:
        run(options)
    records = all_records(options.results)
    if not records:
        raise SystemExit(f"no results in {options.results}")
    summarise(records, options.markdown)


if __name__ == "__main__":
    main()
