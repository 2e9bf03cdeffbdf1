"""Cuts of jetpy and other partitioners under many conditions.

The program skips cases that the result files already contain. Without --graphs and --generated, it
only prints the tables.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from bench import comparisons
from bench.alterations import CONDITIONS
from bench.competitors import Competitor, add_competitor_options, answers_of, competitors
from bench.instances import Instance, add_options, selected
from bench.records import Record, add_results_option, append_record, read_records
from bench.tables import add_markdown_option, note, show
from jetpy import Graph
from jetpy.study.arrays import save_arrays

DEFAULT_TOOLS = ("jetpy/cpu", "pymetis", "kaminpar", "mtkahypar", "mtkahypar-quality")
KS = (2, 16, 64)
PEERS_FILE = "conditions.jsonl"
JETPY_FILE = "conditions-jetpy.jsonl"

Key = tuple[str, str, int, str, tuple[int, ...]]
"""Graph, condition, number of parts, tool (with preset and threads) and seeds."""


def results_path(folder: Path, tool: str) -> Path:
    """Return the result file of a tool. jetpy has its own, which is outdated when jetpy changes."""
    return folder / (JETPY_FILE if _is_jetpy(tool) else PEERS_FILE)


def _is_jetpy(tool: str) -> bool:
    return tool.startswith("jetpy/")


def all_records(folder: Path) -> list[Record]:
    """Return the records of both files, jetpy's first."""
    return [record for name in (JETPY_FILE, PEERS_FILE) for record in read_records(folder / name)]


def key_of(record: Record) -> Key:
    """Return the case that a record belongs to."""
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
    """Return the numbers of parts for which each competitor has no record under a condition."""
    seeds = tuple(options.seeds)
    todo = {
        competitor: [k for k in ks if (graph, condition, k, competitor.label, seeds) not in done]
        for competitor in competitors(options)
    }
    return {competitor: missing_ks for competitor, missing_ks in todo.items() if missing_ks}


def measure(
    instance: Instance, options: argparse.Namespace, done: Collection[Key], unavailable: set[str]
) -> Iterator[tuple[Competitor, Record]]:
    """Measure the missing cases of a graph. Tools that are unavailable are added to the set."""
    graph: Graph | None = None
    for name in options.conditions:
        condition = CONDITIONS[name]
        ks = options.ks if condition.k is None else [condition.k]
        todo = missing(instance.name, name, ks, options, done)
        todo = {
            competitor: missing_ks
            for competitor, missing_ks in todo.items()
            if competitor.tool not in unavailable
        }
        if not todo:
            continue
        if graph is None:
            graph = instance.load()
        altered = condition.apply(graph, instance.name)
        fixed = {"graph": instance.name, "class": instance.cls, "n": altered.n, "m": altered.m}
        fixed |= {"condition": name, "imbalance": condition.imbalance, "seeds": options.seeds}
        with tempfile.TemporaryDirectory() as folder:
            save_arrays(Path(folder), altered)
            for competitor, missing_ks in todo.items():
                case = f"{instance.name} {name}"
                note(f"{case} {competitor.label}")
                for answer in answers_of(
                    competitor,
                    case,
                    folder,
                    missing_ks,
                    options.seeds,
                    unavailable,
                    *("--imbalance", condition.imbalance),
                ):
                    yield competitor, {**fixed, "tool": competitor.label, **answer}


def run(options: argparse.Namespace) -> None:
    """Measure the missing cases and append each record to its file at once."""
    done = {key_of(record) for record in all_records(options.results)}
    unavailable: set[str] = set()
    for instance in selected(options):
        for competitor, record in measure(instance, options, done, unavailable):
            append_record(results_path(options.results, competitor.tool), record)


def summarise(records: list[Record], markdown: bool) -> None:
    """Print the tables of each preset of jetpy, then the tables of all tools."""
    found = comparisons.results(records)
    peers = [label for label in found if not _is_jetpy(label)]
    for label in filter(_is_jetpy, found):
        show(
            f"{label}: cut divided by the cut of …, geometric means",
            ["condition", "cases", *peers, "best", "worst case"],
            comparisons.cut_rows(label, peers, found),
            markdown=markdown,
        )
        show(
            comparisons.above_title(label, peers, found),
            ["graph", "condition", "k", "best tool", "ratio"],
            comparisons.above_rows(label, peers, found),
            left=2,
            markdown=markdown,
        )
        show(
            f"{label}: time divided by the time of …, geometric means",
            ["condition", *peers],
            comparisons.time_rows(label, peers, found),
            markdown=markdown,
        )
        skipped = comparisons.without_ratio(label, peers, found)
        print(f"\nCases without a ratio: {len(skipped)}", *skipped, sep="\n  ")
    show(
        "largest cut of the seeds divided by the smallest, geometric means",
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
    """Measure the missing cases, then print the tables of all results."""
    parser = argparse.ArgumentParser(prog="python -m bench.conditions", description=__doc__)
    add_options(parser)
    add_competitor_options(parser, DEFAULT_TOOLS, presets=["default"], threads=[2])
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    parser.add_argument(
        "--ks", nargs="+", type=int, default=KS, help="numbers of parts of the condition plain"
    )
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    if options.graphs or options.generated:
        run(options)
    records = all_records(options.results)
    if not records:
        raise SystemExit(f"no results in {options.results}")
    summarise(records, options.markdown)


if __name__ == "__main__":
    main()
