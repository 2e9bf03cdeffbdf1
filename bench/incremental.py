"""Incremental partitions of a changing graph, compared with partitioning it from scratch.

The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from pathlib import Path

import numpy as np

import jetpy
from bench.harness import Experiment, Option, among
from bench.instances import Instance
from bench.records import Record
from bench.tables import mean_text, ratio_text, show
from jetpy.study.arrays import load_arrays
from jetpy.study.modifiers import random_batch

MEAN_HEADERS = ["modifiers", "ends", "cases", "speedup", "with > 500,000 vertices", "cut / full"]


def run(graph: jetpy.Graph, case: Record, batches: int, every: int) -> Record:
    """Apply batches. After each `every`-th batch, also partition the graph from scratch."""
    rng = np.random.default_rng(case["modifiers"])
    settings = {name: case[name] for name in ("preset", "backend", "threads")}
    live = jetpy.IncrementalPartitioner(graph, case["k"], **settings)
    seconds, cuts, full_seconds, full_cuts, reasons = [], [], [], [], []
    feasible = 0
    for number in range(1, batches + 1):
        ids, first_new = live.vertices, len(live.partition)
        batch = random_batch(rng, live.graph, ids, first_new, case["modifiers"], case["near"])
        started = time.perf_counter()
        update = live.update(batch)
        seconds.append(time.perf_counter() - started)
        feasible += live.feasible
        reasons.append(f"{update.action}: {update.reason}" if update.reason else "")
        if number % every == 0:
            current = live.graph
            started = time.perf_counter()
            full = jetpy.partition(current, case["k"], **settings)
            full_seconds.append(time.perf_counter() - started)
            cuts.append(update.cut)
            full_cuts.append(full.cut)
    return {
        "batches": batches,
        "seconds": round(sum(seconds) / batches, 6),
        "median_seconds": round(float(np.median(seconds)), 6),
        "full_seconds": round(sum(full_seconds) / len(full_seconds), 6),
        "cuts": cuts,
        "full_cuts": full_cuts,
        "feasible": feasible,
        "renewed": {name: reasons.count(name) for name in set(reasons) if name},
    }


def summarise(records: list[Record], options: argparse.Namespace) -> None:
    """Print a table of all cases and one of geometric means."""
    headers = [
        "graph",
        "k",
        "modifiers",
        "ends",
        "ms",
        "full, ms",
        "speedup",
        "cut / full",
        "worst",
    ]
    rows = []
    for r in records:
        ratios = [a / b for a, b in zip(r["cuts"], r["full_cuts"], strict=True) if b]
        renewed = ", ".join(f"{count} {reason}" for reason, count in sorted(r["renewed"].items()))
        rows.append(
            [
                r["graph"],
                str(r["k"]),
                str(r["modifiers"]),
                "near" if r["near"] else "anywhere",
                f"{1000 * r['seconds']:.2f}",
                f"{1000 * r['full_seconds']:.1f}",
                f"{r['full_seconds'] / r['seconds']:.1f}",
                mean_text(ratios),
                ratio_text(max(ratios, default=None)),
                f"{r['feasible']} / {r['batches']}",
                renewed,
            ]
        )
    show("cases", [*headers, "balanced", "renewed"], rows, left=1, markdown=options.markdown)
    means = [[*group, *numbers] for group, numbers in means_by_batch(records)]
    show("geometric means", MEAN_HEADERS, means, left=0, markdown=options.markdown)


def means_by_batch(records: Sequence[Record]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the cells of `MEAN_HEADERS`: those that identify a kind of batch, and its means."""

    def key(r: Record) -> tuple[int, bool]:
        return r["modifiers"], r["near"]

    for (modifiers, near), group in groupby(sorted(records, key=key), key):
        cases = list(group)
        speedups = [r["full_seconds"] / r["seconds"] for r in cases]
        large = [s for s, r in zip(speedups, cases, strict=True) if r["n"] > 500_000]
        cuts = [a / b for r in cases for a, b in zip(r["cuts"], r["full_cuts"], strict=True) if b]
        numbers = [
            str(len(cases)),
            mean_text(speedups, 1),
            mean_text(large, 1),
            mean_text(cuts),
        ]
        yield [str(modifiers), "near" if near else "anywhere"], numbers


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each number of parts, size of a batch and kind of ends."""
    settings = {name: getattr(options, name) for name in ("preset", "backend", "threads")}
    for k, modifiers, ends in product(options.ks, options.modifiers, options.ends):
        yield {"k": k, "modifiers": modifiers, "near": ends == "near", **settings}


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Apply the batches of each case to a graph."""
    graph = load_arrays(Path(folder))
    for case in cases:
        yield run(graph, case, settings["batches"], settings["every"])


EXPERIMENT = Experiment(
    name="incremental",
    doc=__doc__,
    options={
        "ks": (2, 32),
        "modifiers": Option((50, 500, 5000), "sizes of batches"),
        "ends": among(
            ("anywhere", "near"),
            ["anywhere"],
            "edges of a new vertex: to two random vertices, or to a vertex and its neighbour",
        ),
        "batches": Option(100, "number of batches"),
        "every": Option(1, "partition after each N-th batch", metavar="N"),
        "preset": "default",
        "backend": "auto",
        "threads": 1,
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "k", "modifiers", "near", "preset", "backend", "threads"),
    together=["k", "modifiers", "near"],
)

if __name__ == "__main__":
    EXPERIMENT.main()
