"""Incremental partitions of a changing graph, compared with partitioning it from scratch.

The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

import jetpy
from bench.instances import add_options, selected
from bench.records import Record, add_results_option, append_record, read_records
from bench.tables import add_markdown_option, mean_text, note, ratio_text, show
from jetpy.study.modifiers import random_batch

KEYS = ("graph", "k", "modifiers", "near", "preset", "backend", "threads")
"""Fields that identify a case."""
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
        **case,
        "n": graph.n,
        "m": graph.m,
        "batches": batches,
        "seconds": round(sum(seconds) / batches, 6),
        "median_seconds": round(float(np.median(seconds)), 6),
        "full_seconds": round(sum(full_seconds) / len(full_seconds), 6),
        "cuts": cuts,
        "full_cuts": full_cuts,
        "feasible": feasible,
        "renewed": {name: reasons.count(name) for name in set(reasons) if name},
    }


def summarise(records: list[Record], markdown: bool) -> None:
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
    show("cases", [*headers, "balanced", "renewed"], rows, left=1, markdown=markdown)
    means = [[*group, *numbers] for group, numbers in means_by_batch(records)]
    show("geometric means", MEAN_HEADERS, means, left=0, markdown=markdown)


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


def main() -> None:
    """Measure the missing cases, then print the tables of all results."""
    parser = argparse.ArgumentParser(prog="python -m bench.incremental", description=__doc__)
    add_options(parser)
    parser.add_argument("--ks", nargs="+", type=int, default=[2, 32])
    parser.add_argument("--modifiers", nargs="+", type=int, default=[50, 500, 5000])
    parser.add_argument(
        "--ends",
        nargs="+",
        choices=["anywhere", "near"],
        default=["anywhere"],
        help="edges of a new vertex: to two random vertices, or to a vertex and its neighbour",
    )
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="partition after each N-th batch"
    )
    parser.add_argument("--preset", default="default")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int, default=1)
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    path = options.results / "incremental.jsonl"
    done = {tuple(r[key] for key in KEYS) for r in read_records(path)}
    for instance in selected(options) if options.graphs or options.generated else ():
        graph = None
        for k in options.ks:
            for modifiers in options.modifiers:
                for ends in options.ends:
                    case = {
                        "graph": instance.name,
                        "k": k,
                        "modifiers": modifiers,
                        "near": ends == "near",
                        "preset": options.preset,
                        "backend": options.backend,
                        "threads": options.threads,
                    }
                    if tuple(case.values()) in done:
                        continue
                    graph = graph or instance.load()
                    record = run(graph, case, options.batches, options.every)
                    append_record(path, record)
                    note(f"{instance.name} k={k} {modifiers} {ends}: {record['seconds']:.4f} s")
    summarise(read_records(path), options.markdown)


if __name__ == "__main__":
    main()
