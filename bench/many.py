"""Times of `jetpy.partition_many`, and of loops of `jetpy.partition` and METIS, on small graphs.

Each round measures every variant in turn. The shortest wall and processor time of all rounds count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import sub
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
import pymetis

import jetpy
from bench.harness import Experiment, Option, no_graphs
from bench.instances import Instance
from bench.records import Record
from bench.tables import show
from jetpy.device.backends import BACKENDS, check_backend
from jetpy.engines.threads import available_threads

Arrays = tuple[Any, Any]
"""indptr and indices, int64."""
Variant = Callable[[], list[int]]
"""Partitions all graphs and returns their cuts."""
METIS, LOOP = "loop of pymetis.part_graph", "loop of partition"
MANY = "partition_many, threads="
WIDE = ", 64-bit arrays"
FIELDS = ("graphs", "vertices", "k", "backend", "rounds")


class Time(NamedTuple):
    """Wall and processor seconds."""

    wall: float
    processor: float


def now() -> Time:
    """Return the current values of the clocks."""
    return Time(time.perf_counter(), time.process_time())


def metis(graphs: Sequence[pymetis.CSRAdjacency], k: int) -> list[int]:
    """Partition the graphs with METIS, with jetpy's imbalance, and return the cuts."""
    options = pymetis.Options(ufactor=30)
    return [pymetis.part_graph(k, adjacency=graph, options=options).edge_cuts for graph in graphs]


def loop(graphs: Sequence[Any], k: int, preset: str) -> list[int]:
    """Partition one graph after the other on one thread and return the cuts."""
    how: dict[str, Any] = {"preset": preset, "backend": "cpu", "threads": 1}
    return [jetpy.partition(graph, k, **how).cut for graph in graphs]


def many(
    graphs: Sequence[Any], k: int, preset: Any, threads: int | None, backend: Any
) -> list[int]:
    """Partition the graphs with `jetpy.partition_many` and return the cuts."""
    results = jetpy.partition_many(graphs, k, preset=preset, backend=backend, threads=threads)
    return [result.cut for result in results]


def variants(arrays: Sequence[Arrays], case: Record) -> dict[str, Variant]:
    """Return the variants that run in this process, by name."""
    k, preset, backend = case["k"], case["preset"], case["backend"]
    graphs = [jetpy.as_graph(rows) for rows in arrays]
    adjacency = [pymetis.CSRAdjacency(*rows) for rows in arrays]
    found: dict[str, Variant] = {
        METIS: partial(metis, adjacency, k),
        LOOP: partial(loop, graphs, k, preset),
        f"{LOOP}{WIDE}": partial(loop, arrays, k, preset),
    }
    calls = {f"{MANY}{threads}": (threads, "cpu") for threads in case["callers"]}
    if backend:
        calls[f"partition_many, backend={backend}"] = (None, backend)
    for name, call in calls.items():
        found[name] = partial(many, graphs, k, preset, *call)
        found[f"{name}{WIDE}"] = partial(many, arrays, k, preset, *call)
    return found


def measured(variants: Mapping[str, Variant], rounds: int) -> Record:
    """Return the seconds of each variant, and the mean of jetpy's cuts divided by METIS's.

    Raises
    ------
    SystemExit
        If two variants of jetpy find different cuts.
    """
    elapsed: dict[str, list[Time]] = {name: [] for name in variants}
    cuts: dict[str, list[int]] = {}
    for _ in range(rounds):
        for name, variant in variants.items():
            before = now()
            cuts[name] = variant()
            elapsed[name].append(Time(*map(sub, now(), before)))
            if name != METIS and cuts[name] != cuts[LOOP]:
                raise SystemExit(f"{name} finds other cuts than {LOOP}")
    pairs = zip(cuts[LOOP], cuts[METIS], strict=True)
    quality = geometric_mean((ours + 1) / (theirs + 1) for ours, theirs in pairs)
    shortest = {name: Time(*map(min, zip(*own, strict=True))) for name, own in elapsed.items()}
    return {
        "seconds": {name: round(own.wall, 6) for name, own in shortest.items()},
        "cpu_seconds": {name: round(own.processor, 6) for name, own in shortest.items()},
        "cut_ratio": round(quality, 6),
    }


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Measure all variants with a preset."""
    for case in cases:
        k, preset = case["k"], case["preset"]
        generated = (
            jetpy.generators.delaunay(case["vertices"], seed=i) for i in range(case["graphs"])
        )
        arrays = [(g.indptr.astype(np.int64), g.indices.astype(np.int64)) for g in generated]
        loop(arrays[:2], k, preset)  # loads or compiles the kernels
        if case["backend"]:
            many(arrays[:2], k, preset, None, case["backend"])
        yield measured(variants(arrays, case), case["rounds"])


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each preset. With a back end, all threads of the host are measured as well."""
    fixed = {name: getattr(options, name) for name in FIELDS}
    threads = set(options.threads)
    if options.backend:
        check_backend(options.backend)
        threads.add(available_threads())
    for preset in options.presets:
        yield {"preset": preset, "callers": sorted(threads), **fixed}


def rows_of(record: Record) -> list[list[str]]:
    """Return a table row for each variant of a record."""
    seconds, cpu = record["seconds"], record["cpu_seconds"]
    return [
        [
            record["preset"],
            name,
            f"{1000 * own / record['graphs']:.2f}",
            f"{1000 * cpu[name] / record['graphs']:.2f}",
            f"{own / seconds[METIS]:.2f}",
            f"{cpu[name] / cpu[METIS]:.2f}",
            f"{seconds[LOOP] / own:.2f}",
            "1" if name == METIS else f"{record['cut_ratio']:.3f}",
        ]
        for name, own in seconds.items()
    ]


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print a table for each record with the sizes of the options."""
    sizes = {name: getattr(options, name) for name in ("graphs", "vertices", "k")}
    headers = ["preset", "variant", "ms", "CPU ms", "/ METIS", "CPU / METIS", "speedup", "cut"]
    for record in records:
        if not sizes.items() <= record.items():
            continue
        title = (
            f"{record['graphs']:,} Delaunay graphs of {record['vertices']:,} vertices, "
            f"k = {record['k']}: wall and processor milliseconds per graph, both divided by "
            "METIS's, speedup over the loop, cut divided by METIS's"
        )
        show(title, headers, rows_of(record), left=2, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="many",
    doc=__doc__,
    options={
        "graphs": Option(1000, "number of Delaunay graphs"),
        "vertices": Option(1000, "number of vertices per graph"),
        "k": 8,
        "presets": ("default", "fast"),
        "threads": (1, 2),
        "backend": Option(None, "also run partition_many on this back end", BACKENDS),
        "rounds": 3,
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("preset", "callers", *FIELDS),
    tool="preset",
    select=no_graphs,
    has_graphs=False,
    needs_arrays=False,
)

if __name__ == "__main__":
    EXPERIMENT.main()
