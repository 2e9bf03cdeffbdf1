"""Adaptive repartitioning of a mesh on several processes: jetpy and ParMETIS's AdaptiveRepart.

Vertices in a ball are heavier. The ball crosses a cube in some steps. In each, a tool repartitions
from its own parts of the step before; all start with the same parts of the cube without weights.
The cost of a step is the cut plus the vertex weight that moves, divided by `--ratio`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_float, c_int
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy.distributed
from bench.distributed import block_of
from bench.distributed_tools import Job
from bench.harness import LIBRARIES, Experiment, Option, among, no_graphs
from bench.libraries import pointer
from bench.records import Record, by_tool, is_jetpy
from bench.tables import ratio_text, show
from jetpy import parmetis
from jetpy.distributed.api import communicator
from jetpy.distributed.communicator import starts_of
from jetpy.study.tools import IMBALANCE

Parts = npt.NDArray[Any]
Repartition = Callable[[Job, Parts, int, int], Parts]
"""Called with the job, the previous parts, k and the ratio; returns new parts. Collective."""
HEAVY, RADIUS = 5, 0.25
"""Weight of vertices in the ball, and its radius as a share of the side of the cube."""
PARMETIS = "parmetis"
HEADERS = ["side", "k", "ratio", "processes", "tool", "cut", "moved", "imbalance", "s"]


def _jetpy(preset: Any, job: Job, parts: Parts, k: int, ratio: int) -> Parts:
    block, starts = job.block, starts_of(communicator(job.comm).allgather_objects(job.block.n))
    return parmetis.adaptive_repart(
        *(job.comm, starts, block.indptr, block.indices, k, parts),
        vwgt=block.vertex_weights,
        ubvec=1 + IMBALANCE,
        ipc2redist=ratio,
        preset=preset,
        backend="cpu",
        threads=1,
    ).part


def _parmetis(job: Job, parts: Parts, k: int, ratio: int) -> Parts:
    library = job.load("libmetis.so.5", "libparmetis.so.4.0")
    weights = pointer(job.block.vertex_weights.astype(np.int32))
    found, cut, zero, one = parts.astype(np.int32), c_int(), byref(c_int(0)), byref(c_int(1))
    tpwgts, ubvec = np.full(k, 1 / k, np.float32), np.array([1 + IMBALANCE], np.float32)
    uncoupled = np.array([1, 0, 0, 2], np.int32)
    status = library.ParMETIS_V3_AdaptiveRepart(
        *job.csr_pointers(np.int32),
        *(weights, weights, None, byref(c_int(2)), zero, one, byref(c_int(k))),
        *(pointer(tpwgts), pointer(ubvec), byref(c_float(ratio)), pointer(uncoupled)),
        *(byref(cut), pointer(found), job.comm_address),
    )
    assert status == 1
    return found


TOOLS: dict[str, Repartition] = {
    "jetpy/default": partial(_jetpy, "default"),
    "jetpy/fast": partial(_jetpy, "fast"),
    PARMETIS: _parmetis,
}


def loads(side: int, first: int, end: int, place: float) -> npt.NDArray[np.int32]:
    """Return the weights of vertices `first` to ``end - 1`` of a cube, with the ball at a place.

    The place is from 0 to 1 along a diagonal of the cube.
    """
    ids = np.arange(first, end)
    away = [(x - place * side) ** 2 for x in (ids // side**2, ids // side % side, ids % side)]
    return np.where(sum(away) < (RADIUS * side) ** 2, HEAVY, 1).astype(np.int32)


def steps_of(
    job: Job, side: int, repartition: Repartition, k: int, ratio: int, steps: int
) -> Iterator[tuple[int, int, float, float]]:
    """Yield cut, moved weight, imbalance and seconds of each step. Collective."""
    group = communicator(job.comm)
    engine: dict[str, Any] = {"backend": "cpu", "threads": 1}
    found = jetpy.distributed.partition(job.comm, job.block, k, preset="fast", **engine)
    parts, first, end = found.parts, found.first, found.first + job.block.n
    for step in range(steps):
        weights = loads(side, first, end, (step + 0.5) / steps)
        own = replace(job, block=replace(job.block, vertex_weights=weights))
        group.allgather_objects(None)  # start all processes at the same time
        start = perf_counter()
        new = repartition(own, parts, k, ratio)
        seconds = max(group.allgather_objects(perf_counter() - start))
        [moved] = group.totals(int(weights[new != parts].sum()))
        metrics = jetpy.distributed.evaluate(job.comm, own.block, new, k)
        parts = new
        yield metrics.cut, moved, round(metrics.imbalance, 5), round(seconds, 4)


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Measure a tool on a graph together with the other processes. Rank 0 yields the records."""
    from mpi4py import MPI

    comm, libraries = MPI.COMM_WORLD, tuple(map(Path, settings["libraries"]))
    for side, warming in ((16, True), (cases[0]["side"], False)):
        block = block_of(comm, f"cube:{side}", weights=False)
        job = Job(comm, block, libraries, is_social=False)
        for case in cases[:1] if warming else cases:
            goal = TOOLS[case["tool"]], case["k"], case["ratio"]
            rows = list(steps_of(job, side, *goal, 1 if warming else case["steps"]))
            if comm.rank == 0 and not warming:
                cuts, moved, imbalances, seconds = zip(*rows, strict=True)
                numbers = {"imbalances": imbalances, "seconds": seconds}
                yield {**case, "cuts": cuts, "moved": moved, **numbers}


def cost_of(record: Record) -> float:
    """Return the cut plus the migration cost of all steps."""
    return float(sum(record["cuts"]) + sum(record["moved"]) / record["ratio"])


def mean_rows(records: Sequence[Record]) -> list[list[str]]:
    """Return a row per preset of jetpy: means of cost and time divided by ParMETIS's."""
    found = by_tool(records, "side", "k", "ratio", "processes", "steps")
    theirs, rows = found.get(PARMETIS, {}), []
    for tool, own in found.items():
        common = [case for case in own if case in theirs]
        if is_jetpy(tool) and common:
            costs = geometric_mean([cost_of(own[case]) / cost_of(theirs[case]) for case in common])
            times = geometric_mean(
                [sum(own[case]["seconds"]) / sum(theirs[case]["seconds"]) for case in common]
            )
            rows.append([tool, str(len(common)), ratio_text(costs), ratio_text(times)])
    return rows


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the sums of all steps of each case, and the means."""
    rows = [
        [
            *(str(record[name]) for name in ("side", "k", "ratio")),
            *(str(record["processes"]), record["tool"]),
            *(f"{sum(record[name]):,}" for name in ("cuts", "moved")),
            f"{max(record['imbalances']):.4f}",
            f"{sum(record['seconds']):.2f}",
        ]
        for record in records
    ]
    show("Sums of all steps", HEADERS, rows, markdown=options.markdown)
    headers = ["tool", "cases", "cost / ParMETIS", "time / ParMETIS"]
    show("Means", headers, mean_rows(records), markdown=options.markdown)


EXPERIMENT = Experiment(
    name="repartition",
    doc=__doc__,
    options={
        "sides": Option((), "sides of cubes", type=int, is_positional=True),
        "libraries": LIBRARIES,
        "tools": among(TOOLS),
        "processes": Option((2,), "numbers of processes"),
        "ks": (8, 64),
        "ratios": Option((10, 1000), "ratios of communication to moving, ParMETIS's itr"),
        "steps": 10,
    },
    measure=measure,
    show=summarise,
    vary={
        "side": "sides",
        "processes": "processes",
        "tool": "tools",
        "k": "ks",
        "ratio": "ratios",
    },
    same=["steps"],
    together=["k", "ratio"],
    select=no_graphs,
    has_graphs=False,
    needs_arrays=False,
)

if __name__ == "__main__":
    EXPERIMENT.main()
