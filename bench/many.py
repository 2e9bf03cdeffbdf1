"""Time `jetpy.partition_many` on many small graphs, and loops of `jetpy.partition` and METIS.

Each round measures every way on each batch of the graphs, by turns. Prints sums over the batches of
the least wall and processor times of the rounds.
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
from bench.tables import note, show

Arrays = tuple[Any, Any]
"""Offsets and neighbours, int64."""
Way = Callable[[], list[int]]
"""Partitions all graphs and returns their cuts."""
METIS, LOOP = "loop of pymetis.part_graph", "loop of partition"
CHUNK = 10
"""Graphs that a process gets at a time."""


class Time(NamedTuple):
    """Seconds, and processor seconds of this process and of those that it has started."""

    wall: float
    processor: float


def now() -> Time:
    """Return what clocks show."""
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Time(time.perf_counter(), time.process_time() + others.ru_utime + others.ru_stime)


def metis(graphs: Sequence[pymetis.CSRAdjacency], k: int) -> list[int]:
    """Partition by METIS."""
    return [pymetis.part_graph(k, adjacency=graph).edge_cuts for graph in graphs]


def loop(graphs: Sequence[Any], k: int, preset: Any) -> list[int]:
    """Partition one graph after the other on one thread."""
    return [cut_alone(graph, k, preset) for graph in graphs]


def many(graphs: Sequence[Any], k: int, preset: Any, threads: int) -> list[int]:
    """Partition side by side on threads."""
    found = jetpy.partition_many(graphs, k, preset=preset, backend="cpu", threads=threads)
    return [result.cut for result in found]


def processes(graphs: Sequence[Arrays], k: int, preset: Any, count: int) -> list[int]:
    """Partition in new processes, whose start is part of it."""
    context = multiprocessing.get_context("spawn")
    call = partial(cut_alone, k=k, preset=preset)
    with ProcessPoolExecutor(count, context) as pool:
        return list(pool.map(call, graphs, chunksize=CHUNK))


def cut_alone(graph: Any, k: int, preset: Any) -> int:
    """Return the cut of a graph that is partitioned on one thread."""
    return jetpy.partition(graph, k, preset=preset, backend="cpu", threads=1).cut


def ways(arrays: list[Arrays], given: argparse.Namespace, preset: str) -> dict[str, Way]:
    """Return the ways by name."""
    graphs = [jetpy.as_graph(rows) for rows in arrays]
    adjacency = [pymetis.CSRAdjacency(*rows) for rows in arrays]
    found: dict[str, Way] = {
        METIS: partial(metis, adjacency, given.k),
        LOOP: partial(loop, graphs, given.k, preset),
        f"{LOOP}, 64-bit arrays": partial(loop, arrays, given.k, preset),
    }
    for threads in given.threads:
        name = f"partition_many, threads={threads}"
        found[name] = partial(many, graphs, given.k, preset, threads)
        found[f"{name}, 64-bit arrays"] = partial(many, arrays, given.k, preset, threads)
    return found


def process_ways(arrays: list[Arrays], given: argparse.Namespace, preset: str) -> dict[str, Way]:
    """Return those that start processes, by name."""
    return {
        f"{count} new processes, 64-bit arrays": partial(processes, arrays, given.k, preset, count)
        for count in given.processes
    }


def measure(
    todo: dict[str, Way], rounds: int, times: dict[str, list[Time]], cuts: dict[str, list[int]]
) -> None:
    """Add the least times of each way, and the cuts that it finds, to those of the batches before.

    Raises
    ------
    SystemExit
        If two ways of jetpy find different cuts.
    """
    taken: dict[str, list[Time]] = {name: [] for name in todo}
    found: dict[str, list[int]] = {}
    for _ in range(rounds):
        for name, way in todo.items():
            before = now()
            found[name] = way()
            taken[name].append(Time(*map(sub, now(), before)))
    for name in todo:
        least = Time(*map(min, zip(*taken[name], strict=True)))
        times.setdefault(name, []).append(least)
        cuts.setdefault(name, []).extend(found[name])
        if name != METIS and cuts[name] != cuts[LOOP]:
            raise SystemExit(f"{name} finds other cuts than {LOOP}")


def rows_of(preset: str, arrays: list[Arrays], given: argparse.Namespace) -> list[list[str]]:
    """Measure all ways with a preset and return a row of the table for each."""
    times: dict[str, list[Time]] = {}
    cuts: dict[str, list[int]] = {}
    for start in range(0, len(arrays), given.batch):
        batch = arrays[start : start + given.batch]
        measure(ways(batch, given, preset), given.rounds, times, cuts)
        note(f"{preset}: {start + len(batch)} graphs")
    measure(process_ways(arrays, given, preset), given.rounds, times, cuts)
    total = {name: Time(*map(sum, zip(*least, strict=True))) for name, least in times.items()}
    pairs = zip(cuts[LOOP], cuts[METIS], strict=True)
    quality = geometric_mean((own + 1) / (other + 1) for own, other in pairs)
    return [
        [
            preset,
            name,
            f"{1000 * taken.wall / len(arrays):.2f}",
            f"{1000 * taken.processor / len(arrays):.2f}",
            f"{taken.wall / total[METIS].wall:.2f}",
            f"{taken.processor / total[METIS].processor:.2f}",
            f"{total[LOOP].wall / taken.wall:.2f}",
            "1" if name == METIS else f"{quality:.3f}",
        ]
        for name, taken in total.items()
    ]


def main() -> None:
    """Make the graphs, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.many", description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000, help="how many Delaunay graphs")
    parser.add_argument("--vertices", type=int, default=1000, help="of each")
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--presets", nargs="+", default=["default", "fast"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--processes", type=int, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=100, help="graphs that are measured at a time")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    graphs = (jetpy.generators.delaunay(given.vertices, seed=i) for i in range(given.graphs))
    arrays = [(g.indptr.astype(np.int64), g.indices.astype(np.int64)) for g in graphs]
    for preset in given.presets:  # kernels are loaded, or compiled
        loop(arrays[:2], given.k, preset)
    rows = [row for preset in given.presets for row in rows_of(preset, arrays, given)]
    headers = ["preset", "way", "ms", "CPU ms", "/ METIS", "CPU / METIS", "speed-up", "cut"]
    title = (
        f"{given.graphs:,} Delaunay graphs of {given.vertices:,} vertices, k = {given.k}: wall and "
        "processor milliseconds per graph, both over those of METIS, speed-up over the loop, cut "
        "over that of METIS"
    )
    show(title, headers, rows, left=2, markdown=given.markdown)


if __name__ == "__main__":
    main()
