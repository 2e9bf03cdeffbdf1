"""Cuts of jetpy and other partitioners under many conditions."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import comparisons
from bench.alterations import CONDITIONS
from bench.harness import SEEDS, Experiment, Option, among, by_jetpy
from bench.instances import Instance
from bench.records import Record, is_jetpy
from bench.tables import show
from bench.tools import TOOLS, summary
from jetpy.study.arrays import load_arrays
from jetpy.study.tools import Job

DEFAULT_TOOLS = ("jetpy/cpu", "pymetis", "kaminpar", "mtkahypar", "mtkahypar-quality")
KEY = ("graph", "condition", "k", "tool", "seeds")
"""Fields that identify a case."""


def competitors(options: argparse.Namespace) -> Iterator[Record]:
    """Yield each tool with every preset and number of threads that it supports.

    A label, such as jetpy/cpu/default/2, contains all three.
    """
    for name in options.tools:
        tool = TOOLS[name]
        for preset in [tool.preset] if tool.preset else options.presets:
            for threads in options.threads if tool.threaded else [1]:
                yield {"tool": f"{name}/{preset}/{threads}", "threads": threads}


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each condition, competitor and number of parts."""
    for name in options.conditions:
        condition = CONDITIONS[name]
        for competitor in competitors(options):
            for k in options.ks if condition.k is None else [condition.k]:
                fixed = {"condition": name, "imbalance": condition.imbalance}
                yield {**fixed, **competitor, "k": k, "seeds": options.seeds}


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Run a tool once to warm up, then with each seed, and yield a summary for each case.

    The cases differ only in the number of parts.
    """
    first = cases[0]
    tool, preset, threads = first["tool"].rsplit("/", 2)
    graph = CONDITIONS[first["condition"]].apply(load_arrays(Path(folder)), first["graph"])
    with TemporaryDirectory() as own:  # the folder's files are of the unchanged graph
        job = Job(graph, Path(own), preset, int(threads), first["imbalance"])
        solve = TOOLS[tool].prepare(job)
        solve(first["k"], first["seeds"][0])
        for case in cases:
            yield {"n": graph.n, "m": graph.m, **summary(job, solve, case["k"], case["seeds"])}


def summarise(records: list[Record], options: argparse.Namespace) -> None:
    """Print the tables of each preset of jetpy, then the tables of all tools."""
    found = comparisons.results(records)
    peers = [label for label in found if not is_jetpy(label)]
    for label in filter(is_jetpy, found):
        show_cuts(label, label, peers, found, options.markdown)
        show(
            f"{label}: time divided by the time of …, geometric means",
            ["condition", *peers],
            comparisons.time_rows(label, peers, found),
            markdown=options.markdown,
        )
    show(
        "feasible runs",
        ["condition", *found],
        comparisons.feasible_rows(found),
        markdown=options.markdown,
    )


def show_cuts(
    title: str, tool: str, peers: Sequence[str], found: comparisons.Results, markdown: bool
) -> None:
    """Print the cuts of a tool divided by those of others: means, and the worst case."""
    show(
        f"{title}: cut divided by the cut of …, geometric means",
        ["condition", "cases", *peers, "best", "worst case"],
        comparisons.cut_rows(tool, peers, found),
        markdown=markdown,
    )


EXPERIMENT = Experiment(
    name="conditions",
    doc=__doc__,
    options={
        "tools": among(TOOLS, DEFAULT_TOOLS),
        "presets": ("default",),
        "seeds": SEEDS,
        "threads": (2,),
        "conditions": among(CONDITIONS),
        "ks": Option((2, 16, 64), "numbers of parts of the condition plain"),
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=KEY,
    together=["k"],
    file_of=by_jetpy,
)

if __name__ == "__main__":
    EXPERIMENT.main()
