"""Cuts and times of jetpy on several processes, beside other distributed partitioners.

Each tool has processes of its own for each graph and number of processes, which partition a small
cube to warm up, and then into all numbers of parts with all seeds. Without graphs it only prints
the tables of what it has.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from subprocess import CalledProcessError
from time import perf_counter
from typing import Any

import jetpy.distributed
from bench.child import Absent, answers
from bench.distributed import block_of
from bench.distributed_tools import TOOLS, Job
from bench.quality import RESULTS, read_records
from bench.tables import note, show
from bench.tools import IMBALANCE
from jetpy.device.backends import get_backend
from jetpy.distributed.api import communicator
from jetpy.study.answers import answering
from jetpy.study.arrays import checksum_of_parts

FILE = "distributed_peers.jsonl"
OWN = "jetpy/default", "jetpy/fast"
OVER = ["c default", "t default", "c fast", "t fast"]
"""Cut and time of jetpy's presets over those of a tool."""
HEADERS = ["graph", "k", "processes", "cut", "imbalance", "s", "parts", *OVER]
MEAN_HEADERS = ["tool", "processes", "cases", "balanced", "equal parts", *OVER]
SLACK = 1e-3
"""What the limit may be exceeded by, as others round it up."""

Record = dict[str, Any]
Case = tuple[str, int, int]
"""Graph, numbers of parts and of processes."""
Results = dict[str, dict[Case, Record]]
"""Records of each tool by case."""


def job_of(comm: Any, spec: str, libraries: Sequence[Path]) -> Job:
    """Return this process's share of a graph."""
    block = block_of(comm, spec, weights=False)
    return Job(comm, block, tuple(libraries), hubs=spec.startswith("rmat"))


def records_of(job: Job, tool: str, ks: Sequence[int], seeds: Sequence[int]) -> Iterator[Record]:
    """Partition with each seed, and check the parts here."""
    group, host = communicator(job.comm), get_backend("cpu", 1)
    solve = TOOLS[tool](job)
    for k in ks:
        runs = []
        for seed in seeds:
            group.allgather_objects(None)  # all begin at once
            start = perf_counter()
            parts = solve(k, seed)
            seconds = max(group.allgather_objects(perf_counter() - start))
            told = jetpy.distributed.evaluate(job.comm, job.block, parts, k)
            whole = checksum_of_parts(group.gather(host, parts))
            runs.append((told.cut, round(told.imbalance, 5), round(seconds, 4), whole))
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


def answer_records(options: argparse.Namespace) -> None:
    """Answer, as one of several processes, with the records of a tool and a graph."""
    from mpi4py import MPI

    answer, comm = answering(), MPI.COMM_WORLD
    [spec], [tool] = options.graph, options.tools
    try:
        list(records_of(job_of(comm, "cube:30", options.libraries), tool, [2], [0]))  # warm-up
    except Absent as reason:
        if comm.rank == 0:
            answer({"absent": str(reason)})
        return
    job = job_of(comm, spec, options.libraries)
    for record in records_of(job, tool, options.ks, options.seeds):
        if comm.rank == 0:
            answer({"graph": spec, **record})


def measure(options: argparse.Namespace, found: Results) -> Iterator[Record]:
    """Run what is missing; tell what is absent or fails."""
    tools = list(options.tools)
    for spec in options.graph:
        for size in options.processes:
            for tool in tuple(tools):
                done = found.get(tool, {})
                ks = [
                    k
                    for k in options.ks
                    if done.get((spec, k, size), {}).get("seeds") != options.seeds
                ]
                if not ks:
                    continue
                arguments = [spec, "--child", "--tools", tool, "--seeds", *options.seeds]
                arguments += ["--ks", *ks, "--libraries", *options.libraries]
                try:
                    yield from answers("bench.distributed_peers", *arguments, processes=size)
                except Absent as reason:
                    note(f"{tool} is left out: {reason}")
                    tools.remove(tool)
                except CalledProcessError as error:
                    note(f"{spec} on {size}: {tool} failed: {error}")


def results(records: Sequence[Record]) -> Results:
    """Sort records by tool and case; of several about a case the last counts."""
    found: Results = {}
    for record in records:
        case = record["graph"], record["k"], record["processes"]
        found.setdefault(record["tool"], {})[case] = record
    return found


def ratios(tool: str, found: Results) -> dict[Case, list[float]]:
    """Return median cuts and times of jetpy's presets over those of a tool, where all have them."""
    return {
        case: [
            median(found[own][case][what]) / median(theirs[what])
            for own in OWN
            for what in ("cuts", "seconds")
        ]
        for case, theirs in found[tool].items()
        if all(case in found.get(own, {}) for own in OWN)
    }


def is_balanced(record: Record) -> bool:
    """Say whether all runs are."""
    return max(record["imbalances"]) <= IMBALANCE + SLACK


def agreement(case: Case, records: Mapping[Case, Record]) -> str:
    """Say whether the parts are those of all other numbers of processes, if there are any."""
    graph, k, _ = case
    alike = [record["parts"] for other, record in records.items() if other[:2] == (graph, k)]
    if len(alike) == 1:
        return "-"
    return "equal" if all(parts == alike[0] for parts in alike) else "differ"


def case_rows(tool: str, found: Results) -> list[list[str]]:
    """Return what a tool found of each case, and how jetpy compares."""
    over = ratios(tool, found)
    return [
        [
            graph,
            str(k),
            str(size),
            f"{median(record['cuts']):,.0f}",
            f"{max(record['imbalances']):.4f}",
            f"{median(record['seconds']):.2f}",
            agreement((graph, k, size), found[tool]),
            *_texts(over.get((graph, k, size))),
        ]
        for (graph, k, size), record in sorted(found[tool].items())
    ]


def mean_rows(found: Results) -> list[list[str]]:
    """Return geometric means of jetpy's ratios to each tool, by number of processes."""
    rows = []
    for tool, records in found.items():
        over = ratios(tool, found)
        for size in sorted({size for _, _, size in records}):
            own = {case: record for case, record in records.items() if case[2] == size}
            columns = zip(*(over[case] for case in own if case in over), strict=True)
            rows.append(
                [
                    tool,
                    str(size),
                    str(len(own)),
                    str(sum(map(is_balanced, own.values()))),
                    str(sum(agreement(case, records) == "equal" for case in own)),
                    *_texts([geometric_mean(column) for column in columns]),
                ]
            )
    return rows


def _texts(values: Sequence[float] | None) -> list[str]:
    return [f"{value:.3f}" for value in values] if values else ["-"] * len(OVER)


def generated(text: str) -> str:
    """Return the name of a graph that processes make their blocks of.

    Raises
    ------
    argparse.ArgumentTypeError
    """
    if text.split(":")[0] not in ("cube", "rmat"):
        raise argparse.ArgumentTypeError(f"{text} is neither cube:SIDE nor rmat:SCALE:EDGE_FACTOR")
    return text


def main() -> None:
    """Run what the results file still lacks, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.distributed_peers", description=__doc__)
    parser.add_argument("graph", nargs="*", type=generated, help="cube:SIDE, rmat:SCALE:FACTOR")
    parser.add_argument(
        "--libraries",
        type=Path,
        nargs="*",
        default=[],
        metavar="DIR",
        help="folders of the other tools' libraries, looked through before the system's",
    )
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--ks", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        answer_records(options)
        return
    options.results.mkdir(parents=True, exist_ok=True)
    file = options.results / FILE
    for record in measure(options, results(read_records(file))):
        with open(file, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")
        note(
            f"{record['graph']} k={record['k']} on {record['processes']}: {record['tool']}: "
            f"cut {median(record['cuts']):,.0f}, {median(record['seconds']):.2f} s"
        )
    found = results(read_records(file))
    for tool in found:
        show(tool, HEADERS, case_rows(tool, found), markdown=options.markdown)
    title = "Cut and time of jetpy over those of others"
    show(title, MEAN_HEADERS, mean_rows(found), markdown=options.markdown)


if __name__ == "__main__":
    main()
