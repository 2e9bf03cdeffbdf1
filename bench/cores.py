"""Times and cuts of partitioners on several numbers of CPU threads."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from bench import conditions
from bench.harness import SEEDS, Experiment, Option, among
from bench.instances import Instance, present
from bench.records import Record, is_jetpy
from bench.speedups import GROUPS, METIS, by_threads, draw, infeasible, ratio_rows, speedup_rows
from bench.tables import note, show
from bench.tools import TOOLS
from jetpy.engines.threads import available_threads

DEFAULT_TOOLS = ("pymetis", "jetpy/cpu", "kaminpar", "mtkahypar")
THREADS = tuple(threads for threads in (1, 2, 4, 8, 16) if threads <= available_threads())


def chosen(options: argparse.Namespace) -> list[Instance]:
    """Return the graphs of `--groups`, and name those that the folders lack."""
    return present(options, [graph for group in options.groups for graph in GROUPS[group]])


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each competitor and number of parts, for the unchanged graph."""
    plain = argparse.Namespace(**{**vars(options), "conditions": ["plain"]})
    return conditions.cases(plain, instance)


def summarise(records: list[Record], options: argparse.Namespace) -> None:
    """Print ratios to METIS and to the other tools, speedups and infeasible cases."""
    found = by_threads(records)
    peers = [name for name in found if not is_jetpy(name)]
    for peer in peers:
        on_one = peer == METIS
        names = [name for name in found if is_jetpy(name) or (on_one and name != peer)]
        number = "one thread" if on_one else "the same number of threads"
        show(
            f"time and cut divided by those of {peer} on {number}, geometric means",
            ["tool", "threads", "graphs", "cases", "time", "worst time", "cut", "worst cut"],
            ratio_rows(names, peer, found),
            markdown=options.markdown,
        )
    show(
        "speedup from one to the most threads, geometric means",
        ["tool", "stage", "graphs", "threads", "cases", "mean", "least"],
        speedup_rows(found),
        left=3,
        markdown=options.markdown,
    )
    lines = infeasible(found)
    print(f"\nCases with infeasible runs: {len(lines)}", *lines, sep="\n  ")
    if options.figure and not draw(found, options.figure):
        note("no figure: no case was solved by all tools with all numbers of threads")


EXPERIMENT = Experiment(
    name="cores",
    doc=__doc__,
    options={
        "groups": among(GROUPS),
        "tools": among(TOOLS, DEFAULT_TOOLS),
        "presets": ("fast", "default"),
        "seeds": SEEDS,
        "threads": THREADS,
        "ks": (8, 64),
        "figure": Option(None, "figure of times by threads", type=Path, metavar="FILE"),
    },
    cases=cases,
    measure=conditions.measure,
    show=summarise,
    key=conditions.KEY,
    together=["k"],
    select=chosen,
)

if __name__ == "__main__":
    EXPERIMENT.main()
