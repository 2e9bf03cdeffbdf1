"""Times and cuts of partitioners on several numbers of CPU threads.

The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the tables.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.competitors import add_competitor_options
from bench.conditions import key_of, measure
from bench.instances import Instance, add_options, present
from bench.records import add_results_option, append_record, read_records
from bench.speedups import (
    GROUPS,
    METIS,
    Runs,
    by_threads,
    draw,
    infeasible,
    is_jetpy,
    ratio_rows,
    speedup_rows,
)
from bench.tables import add_markdown_option, note, show
from jetpy.engines.threads import available_threads

DEFAULT_TOOLS = ("pymetis", "jetpy/cpu", "kaminpar", "mtkahypar")
KS = (8, 64)
THREADS = (1, 2, 4, 8, 16)
FILE = "cores.jsonl"


def chosen(options: argparse.Namespace) -> list[Instance]:
    """Return the graphs of `--groups` and `--only`, and name those that the folders lack.

    Raises
    ------
    SystemExit
        If the groups do not contain a graph of `--only`.
    """
    names = [graph for group in options.groups for graph in GROUPS[group]]
    if unknown := set(options.only or ()) - set(names):
        raise SystemExit(f"--groups {' '.join(options.groups)} lacks {', '.join(sorted(unknown))}")
    names = [name for name in names if not options.only or name in options.only]
    return present(options, names)


def run(options: argparse.Namespace) -> None:
    """Measure the missing cases and append each record to the result file at once."""
    path = options.results / FILE
    done = {key_of(record) for record in read_records(path)}
    unavailable: set[str] = set()
    for instance in chosen(options):
        for _, record in measure(instance, options, done, unavailable):
            append_record(path, record)


def summarise(found: Runs, markdown: bool) -> None:
    """Print the ratios to METIS and to the other tools, the speedups and the infeasible cases."""
    peers = [name for name in found if not is_jetpy(name)]
    for peer in peers:
        on_one = peer == METIS
        names = [name for name in found if is_jetpy(name) or (on_one and name != peer)]
        number = "one thread" if on_one else "the same number of threads"
        show(
            f"time and cut divided by those of {peer} on {number}, geometric means",
            ["tool", "threads", "graphs", "cases", "time", "worst time", "cut", "worst cut"],
            ratio_rows(names, peer, found),
            markdown=markdown,
        )
    show(
        "speedup from one to the most threads, geometric means",
        ["tool", "stage", "graphs", "threads", "cases", "mean", "least"],
        speedup_rows(found),
        left=3,
        markdown=markdown,
    )
    lines = infeasible(found)
    print(f"\nCases with infeasible runs: {len(lines)}", *lines, sep="\n  ")


def main() -> None:
    """Measure the missing cases, then print the tables of all results and draw the figure."""
    parser = argparse.ArgumentParser(prog="python -m bench.cores", description=__doc__)
    add_options(parser)
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    usable = [threads for threads in THREADS if threads <= available_threads()]
    add_competitor_options(parser, DEFAULT_TOOLS, presets=["fast", "default"], threads=usable)
    parser.add_argument("--ks", nargs="+", type=int, default=KS, help="numbers of parts")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="figure of times by threads")
    parser.set_defaults(conditions=["plain"])
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    if options.graphs or options.generated:
        run(options)
    records = read_records(options.results / FILE)
    if not records:
        raise SystemExit(f"no results in {options.results}")
    found = by_threads(records)
    summarise(found, options.markdown)
    if options.figure and not draw(found, options.figure):
        note("no figure: no case was solved by all tools with all numbers of threads")


if __name__ == "__main__":
    main()
