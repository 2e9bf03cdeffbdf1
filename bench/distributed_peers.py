"""Cuts and times of jetpy and other distributed partitioners on several processes.

The program starts new processes for each tool, graph and number of processes. They partition a
small cube to warm up, then the graph into each number of parts with each seed. The vertices of
cube:64*2 have two weights, as in Karypis, Kumar, "Multilevel algorithms for multi-constraint graph
partitioning", SC 1998: 16 ranges of vertices each have random weights from 0 to 19.

The program skips cases that the result file already contains. Without graphs, it only prints the
tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy.distributed
from bench.distributed import block_of, instances
from bench.distributed_tools import ONE_WEIGHT, TOOLS, Job
from bench.harness import LIBRARIES, Experiment, Option, among
from bench.instances import Instance
from bench.records import Record, by_tool
from bench.tables import ratio_text, show
from jetpy.device.backends import get_backend
from jetpy.distributed.api import communicator
from jetpy.distributed.piece import Blocks
from jetpy.study.arrays import checksum_of_parts
from jetpy.study.tools import IMBALANCE

JETPY = "jetpy/default", "jetpy/fast"
RATIO_HEADERS = ["c default", "t default", "c fast", "t fast"]
"""Cuts and times of jetpy's presets divided by a tool's."""
HEADERS = ["graph", "k", "processes", "cut", "imbalance", "s", "parts", *RATIO_HEADERS]
MEAN_HEADERS = ["tool", "processes", "cases", "balanced", "equal parts", *RATIO_HEADERS]
TIMES = "*"
"""Separates the number of weights from the name of a graph."""
RANGES, MAX_WEIGHT = 16, 19
"""Number of ranges of vertices with equal weights, and the largest of several weights."""
SLACK = 1e-3
"""Accepted excess over the imbalance, because other partitioners round the limit up."""

Case = tuple[str, int, int]
"""Graph, number of parts and number of processes."""
Results = dict[str, dict[Case, Record]]
"""Records of each tool by case."""


def job_of(comm: Any, spec: str, libraries: Sequence[str]) -> Job:
    """Return the job with this process's block of a graph. Collective."""
    name, _, kinds = spec.partition(TIMES)
    block = block_of(comm, name, weights=False)
    if kinds:
        block = replace(block, vertex_weights=weights_of(comm, block.n, int(kinds)))
    return Job(comm, block, tuple(map(Path, libraries)), is_social=spec.startswith("rmat"))


def weights_of(comm: Any, n_owned: int, kinds: int) -> npt.NDArray[np.int32]:
    """Return weights of the owned vertices, shape (n_owned, kinds), the same in each range.

    Collective.
    """
    blocks = Blocks.of(communicator(comm), n_owned)
    of_ranges = np.random.default_rng(1).integers(0, MAX_WEIGHT + 1, (RANGES, kinds), np.int32)
    ranges = np.arange(blocks.first, blocks.end) * RANGES // max(blocks.n, 1)
    return of_ranges[ranges]


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield all combinations, without tools that do not balance the weights of the graph."""
    for case in EXPERIMENT.combinations(options, instance):
        if TIMES not in instance.name or case["tool"] not in ONE_WEIGHT:
            yield case


def records_of(job: Job, tool: str, ks: Sequence[int], seeds: Sequence[int]) -> Iterator[Record]:
    """Partition with each seed, check the parts and yield a record for each k. Collective."""
    group, host = communicator(job.comm), get_backend("cpu", 1)
    solve = TOOLS[tool](job)
    for k in ks:
        runs = []
        for seed in seeds:
            group.allgather_objects(None)  # start all processes at the same time
            start = perf_counter()
            parts = solve(k, seed)
            seconds = max(group.allgather_objects(perf_counter() - start))
            metrics = jetpy.distributed.evaluate(job.comm, job.block, parts, k)
            checksum = checksum_of_parts(group.gather(host, parts))
            runs.append((metrics.cut, round(metrics.imbalance, 5), round(seconds, 4), checksum))
        cuts, imbalances, times, digests = zip(*runs, strict=True)
        yield {
            "k": k,
            "processes": group.size,
            "tool": tool,
            "seeds": list(seeds),
            "cuts": cuts,
            "imbalances": imbalances,
            "seconds": times,
            "parts": digests,
        }


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Measure a tool on a graph together with the other processes. Rank 0 yields the records."""
    from mpi4py import MPI

    comm, first, libraries = MPI.COMM_WORLD, cases[0], settings["libraries"]
    list(records_of(job_of(comm, "cube:30", libraries), first["tool"], [2], [0]))  # warm-up
    job = job_of(comm, first["graph"], libraries)
    ks = [case["k"] for case in cases]
    for record in records_of(job, first["tool"], ks, first["seeds"]):
        if comm.rank == 0:
            yield record


def results(records: Sequence[Record]) -> Results:
    """Return the last record of each tool and case."""
    return by_tool(records, "graph", "k", "processes")


def ratios(tool: str, found: Results) -> dict[Case, list[float]]:
    """Return jetpy's median cuts and times divided by a tool's, for cases that all presets have."""
    return {
        case: [
            median(found[preset][case][field]) / median(theirs[field])
            for preset in JETPY
            for field in ("cuts", "seconds")
        ]
        for case, theirs in found[tool].items()
        if all(case in found.get(preset, {}) for preset in JETPY)
    }


def is_balanced(record: Record) -> bool:
    """Return whether all runs of a record are balanced."""
    return max(record["imbalances"]) <= IMBALANCE + SLACK


def agreement(case: Case, records: Mapping[Case, Record]) -> str:
    """Return "equal" if all numbers of processes give the same parts, else "differ".

    If there is only one number of processes, return "-".
    """
    graph, k, _ = case
    checksums = [record["parts"] for other, record in records.items() if other[:2] == (graph, k)]
    if len(checksums) == 1:
        return "-"
    return "equal" if all(parts == checksums[0] for parts in checksums) else "differ"


def case_rows(tool: str, found: Results) -> list[list[str]]:
    """Return a row per case: a tool's results, and jetpy's ratios to the tool."""
    case_ratios = ratios(tool, found)
    return [
        [
            graph,
            str(k),
            str(size),
            f"{median(record['cuts']):,.0f}",
            f"{max(record['imbalances']):.4f}",
            f"{median(record['seconds']):.2f}",
            agreement((graph, k, size), found[tool]),
            *_texts(case_ratios.get((graph, k, size))),
        ]
        for (graph, k, size), record in sorted(found[tool].items())
    ]


def mean_rows(found: Results) -> list[list[str]]:
    """Return a row per tool and number of processes, with geometric means of jetpy's ratios."""
    rows = []
    for tool, records in found.items():
        case_ratios = ratios(tool, found)
        for size in sorted({size for _, _, size in records}):
            group = {case: record for case, record in records.items() if case[2] == size}
            columns = zip(
                *(case_ratios[case] for case in group if case in case_ratios), strict=True
            )
            rows.append(
                [
                    tool,
                    str(size),
                    str(len(group)),
                    str(sum(map(is_balanced, group.values()))),
                    str(sum(agreement(case, records) == "equal" for case in group)),
                    *_texts([geometric_mean(column) for column in columns]),
                ]
            )
    return rows


def _texts(values: Sequence[float] | None) -> list[str]:
    return [ratio_text(value) for value in values or [None] * len(RATIO_HEADERS)]


def generated(text: str) -> str:
    """Return the text if it names a graph whose blocks the processes can generate.

    It may end with the number of weights of each vertex, as in cube:64*2.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is neither a cube nor an R-MAT graph.
    """
    name, times, kinds = text.partition(TIMES)
    if name.split(":")[0] not in ("cube", "rmat"):
        raise argparse.ArgumentTypeError(f"{text} is neither cube:SIDE nor rmat:SCALE:EDGE_FACTOR")
    if times and not (kinds.isdigit() and int(kinds) > 1):
        raise argparse.ArgumentTypeError(f"{text} must end with a number of weights from 2 on")
    return text


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print a table for each tool, and the means."""
    found = results(records)
    for tool in found:
        show(tool, HEADERS, case_rows(tool, found), markdown=options.markdown)
    title = "Cuts and times of jetpy divided by those of each tool"
    show(title, MEAN_HEADERS, mean_rows(found), markdown=options.markdown)


EXPERIMENT = Experiment(
    name="distributed_peers",
    doc=__doc__,
    options={
        "graph": Option(
            (),
            "cube:SIDE, rmat:SCALE:EDGE_FACTOR, also with *WEIGHTS",
            type=generated,
            is_positional=True,
        ),
        "libraries": LIBRARIES,
        "tools": among(TOOLS),
        "processes": Option((1, 2, 4), "numbers of processes"),
        "ks": (8, 64),
        "seeds": (0,),
    },
    measure=measure,
    show=summarise,
    vary={"processes": "processes", "tool": "tools", "k": "ks"},
    same=["seeds"],
    cases=cases,
    together=["k"],
    select=instances,
    has_graphs=False,
    needs_arrays=False,
)

if __name__ == "__main__":
    EXPERIMENT.main()
