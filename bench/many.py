"""Times of `jetpy.partition_many`, and of loops of `jetpy.partition` and METIS, on small graphs.

Each round measures every variant on each batch of graphs in turn. For each batch, the program takes
the shortest wall and processor time of all rounds. It prints the sums over the batches and appends
one record per preset and variant to the result file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from operator import sub
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
import pymetis

import jetpy
from bench.records import Record, add_results_option, append_record
from bench.tables import add_markdown_option, note, ratio_text, show
from jetpy.device.backends import BACKENDS, check_backend
from jetpy.engines.threads import available_threads

Arrays = tuple[Any, Any]
"""indptr and indices, int64."""
Variant = Callable[[], list[int]]
"""Partitions all graphs and returns their cuts."""
METIS, LOOP = "loop of pymetis.part_graph", "loop of partition"
MANY = "partition_many, threads="
WIDE = ", 64-bit arrays"
CHUNK = 10
"""Number of graphs that a process gets at a time."""
FILE = "many.jsonl"


class Time(NamedTuple):
    """Wall seconds, and processor seconds of this process and its finished child processes."""

    wall: float
    processor: float


def now() -> Time:
    """Return the current values of the clocks."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Time(time.perf_counter(), time.process_time() + children.ru_utime + children.ru_stime)


def metis(graphs: Sequence[pymetis.CSRAdjacency], k: int) -> list[int]:
    """Partition the graphs with METIS, with jetpy's imbalance, and return the cuts."""
    options = pymetis.Options(ufactor=30)
    return [pymetis.part_graph(k, adjacency=graph, options=options).edge_cuts for graph in graphs]


def loop(graphs: Sequence[Any], k: int, preset: Any) -> list[int]:
    """Partition one graph after the other on one thread and return the cuts."""
    return [partition_one(graph, k, preset) for graph in graphs]


def many(
    graphs: Sequence[Any], k: int, preset: Any, threads: int | None, backend: Any = "cpu"
) -> list[int]:
    """Partition the graphs with `jetpy.partition_many` and return the cuts."""
    results = jetpy.partition_many(graphs, k, preset=preset, backend=backend, threads=threads)
    return [result.cut for result in results]


def processes(graphs: Sequence[Arrays], k: int, preset: Any, count: int) -> list[int]:
    """Start `count` processes, partition the graphs in them and return the cuts."""
    context = multiprocessing.get_context("spawn")
    call = partial(partition_one, k=k, preset=preset)
    with ProcessPoolExecutor(count, context) as pool:
        return list(pool.map(call, graphs, chunksize=CHUNK))


def partition_one(graph: Any, k: int, preset: Any) -> int:
    """Partition a graph on one thread and return the cut."""
    return jetpy.partition(graph, k, preset=preset, backend="cpu", threads=1).cut


def variants(arrays: list[Arrays], options: argparse.Namespace, preset: str) -> dict[str, Variant]:
    """Return the variants that run in this process, by name."""
    graphs = [jetpy.as_graph(rows) for rows in arrays]
    adjacency = [pymetis.CSRAdjacency(*rows) for rows in arrays]
    found: dict[str, Variant] = {
        METIS: partial(metis, adjacency, options.k),
        LOOP: partial(loop, graphs, options.k, preset),
        f"{LOOP}{WIDE}": partial(loop, arrays, options.k, preset),
    }
    calls = {f"{MANY}{threads}": (threads, "cpu") for threads in options.threads}
    if options.backend:
        calls[f"partition_many, backend={options.backend}"] = (None, options.backend)
    for name, call in calls.items():
        found[name] = partial(many, graphs, options.k, preset, *call)
        found[f"{name}{WIDE}"] = partial(many, arrays, options.k, preset, *call)
    return found


def process_variants(
    arrays: list[Arrays], options: argparse.Namespace, preset: str
) -> dict[str, Variant]:
    """Return the variants that start processes, by name."""
    return {
        f"{count} new processes{WIDE}": partial(processes, arrays, options.k, preset, count)
        for count in options.processes
    }


def measure(
    todo: dict[str, Variant], rounds: int, times: dict[str, list[Time]], cuts: dict[str, list[int]]
) -> None:
    """Run each variant on a batch. Append its shortest time to `times`, and its cuts to `cuts`.

    Raises
    ------
    SystemExit
        If two variants of jetpy find different cuts.
    """
    elapsed: dict[str, list[Time]] = {name: [] for name in todo}
    found: dict[str, list[int]] = {}
    for _ in range(rounds):
        for name, variant in todo.items():
            before = now()
            found[name] = variant()
            elapsed[name].append(Time(*map(sub, now(), before)))
    for name in todo:
        shortest = Time(*map(min, zip(*elapsed[name], strict=True)))
        times.setdefault(name, []).append(shortest)
        cuts.setdefault(name, []).extend(found[name])
        if name != METIS and cuts[name] != cuts[LOOP]:
            raise SystemExit(f"{name} finds other cuts than {LOOP}")


def records_of(preset: str, arrays: list[Arrays], options: argparse.Namespace) -> list[Record]:
    """Measure all variants with a preset and return a record for each."""
    times: dict[str, list[Time]] = {}
    cuts: dict[str, list[int]] = {}
    for start in range(0, len(arrays), options.batch):
        batch = arrays[start : start + options.batch]
        measure(variants(batch, options, preset), options.rounds, times, cuts)
        note(f"{preset}: {start + len(batch)} graphs")
    measure(process_variants(arrays, options, preset), options.rounds, times, cuts)
    total = {name: Time(*map(sum, zip(*shortest, strict=True))) for name, shortest in times.items()}
    pairs = zip(cuts[LOOP], cuts[METIS], strict=True)
    quality = geometric_mean((ours + 1) / (theirs + 1) for ours, theirs in pairs)
    return [
        {
            "graphs": len(arrays),
            "vertices": options.vertices,
            "k": options.k,
            "preset": preset,
            "variant": name,
            "seconds": round(elapsed.wall, 6),
            "cpu_seconds": round(elapsed.processor, 6),
            "cut_ratio": 1.0 if name == METIS else round(quality, 6),
        }
        for name, elapsed in total.items()
    ]


def rows_of(records: Sequence[Record]) -> list[list[str]]:
    """Return a table row for each record of a preset."""
    by_variant = {record["variant"]: record for record in records}
    return [
        [
            record["preset"],
            name,
            f"{1000 * record['seconds'] / record['graphs']:.2f}",
            f"{1000 * record['cpu_seconds'] / record['graphs']:.2f}",
            f"{record['seconds'] / by_variant[METIS]['seconds']:.2f}",
            f"{record['cpu_seconds'] / by_variant[METIS]['cpu_seconds']:.2f}",
            f"{by_variant[LOOP]['seconds'] / record['seconds']:.2f}",
            "1" if name == METIS else f"{record['cut_ratio']:.3f}",
        ]
        for name, record in by_variant.items()
    ]


def thread_rows(records: Sequence[Record], threads: Sequence[int]) -> list[list[str]]:
    """Return a row for each record of a preset that is of `partition_many`.

    It has the time divided by that of METIS's loop, the speedup over one thread if that was
    measured, and the time divided by that of the most threads, with graphs of the same kind.
    """
    seconds = {record["variant"]: record["seconds"] for record in records}
    rows = []
    for record in records:
        name, own = record["variant"], record["seconds"]
        if name.startswith("partition_many"):
            kind = WIDE if name.endswith(WIDE) else ""
            one, most = (seconds.get(f"{MANY}{count}{kind}") for count in (1, max(threads)))
            ratios = [own / seconds[METIS], one and one / own, most and own / most]
            rows.append([record["preset"], name, *(ratio_text(ratio, 2) for ratio in ratios)])
    return rows


def main() -> None:
    """Generate the graphs, measure all variants and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.many", description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000, help="number of Delaunay graphs")
    parser.add_argument("--vertices", type=int, default=1000, help="number of vertices per graph")
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--presets", nargs="+", default=["default", "fast"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--processes",
        type=int,
        nargs="*",
        default=[],
        help="also start these numbers of processes, with one loop each",
    )
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        help="also run partition_many on this back end, and on all threads of the host",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=100, help="number of graphs per batch")
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    if options.backend:
        check_backend(options.backend)
        options.threads = sorted({*options.threads, available_threads()})
    graphs = (jetpy.generators.delaunay(options.vertices, seed=i) for i in range(options.graphs))
    arrays = [(g.indptr.astype(np.int64), g.indices.astype(np.int64)) for g in graphs]
    for preset in options.presets:  # warm-up: loads or compiles the kernels
        loop(arrays[:2], options.k, preset)
        if options.backend:
            many(arrays[:2], options.k, preset, None, options.backend)
    rows, rows_of_threads = [], []
    for preset in options.presets:
        records = records_of(preset, arrays, options)
        rows += rows_of(records)
        rows_of_threads += thread_rows(records, options.threads)
        for record in records:
            append_record(options.results / FILE, record)
    headers = ["preset", "variant", "ms", "CPU ms", "/ METIS", "CPU / METIS", "speedup", "cut"]
    title = (
        f"{options.graphs:,} Delaunay graphs of {options.vertices:,} vertices, k = {options.k}: "
        "wall and processor milliseconds per graph, both divided by METIS's, speedup over the "
        "loop, cut divided by METIS's"
    )
    show(title, headers, rows, left=2, markdown=options.markdown)
    headers = ["preset", "variant", "/ METIS", "speedup", f"/ {max(options.threads)} threads"]
    title = (
        "partition_many: wall time divided by that of METIS's loop, speedup over one thread, and "
        "time divided by that of the most threads"
    )
    show(title, headers, rows_of_threads, left=2, markdown=options.markdown)


if __name__ == "__main__":
    main()
