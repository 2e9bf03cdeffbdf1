"""The smallest balanced cut within a time limit, compared with other partitioners and best cuts.

jetpy runs its preset max with the time limit. The other partitioners run one seed after the other
until the limit.
"""

from __future__ import annotations

import argparse
import csv
import signal
from collections.abc import Iterator, Sequence
from itertools import count
from math import ceil
from pathlib import Path
from statistics import geometric_mean
from subprocess import CalledProcessError

import jetpy
from bench.child import apart
from bench.harness import Experiment, Option, among
from bench.records import Record
from bench.tables import show
from bench.tools import STRONGEST
from jetpy.study.arrays import load_arrays
from jetpy.study.tools import IMBALANCE, Job
from jetpy.study.verdict import judge

JETPY = "jetpy/max"
TOOLS = (JETPY, *STRONGEST)

GRACE = 2
"""Seconds after the time limit until the process of another partitioner is killed."""
SETTINGS = ("imbalance", "seconds", "threads")
"""Options that records must share to be compared."""


def best_of_jetpy(job: Job, k: int, seconds: float) -> Record:
    """Partition with the preset max and a time limit."""
    result = jetpy.partition(
        job.graph,
        k,
        imbalance=job.imbalance,
        preset="max",
        generations=10**6,
        time_limit=seconds,
        backend="cpu",
        threads=job.threads,
    )
    best = result.cut if result.feasible else None
    return {"cut": best, "runs": result.generations, "spent": result.seconds["total"]}


def best_of_seeds(tool: str, job: Job, k: int, seconds: float) -> Iterator[Record]:
    """Partition with seeds 0, 1, 2, …; after each, yield the best result until the time limit."""
    solve = STRONGEST[tool].prepare(job)
    signal.alarm(ceil(seconds) + GRACE)
    best, spent = None, 0.0
    for seed in count():
        parts, run = solve(k, seed)
        spent += run["total"]
        if spent > seconds:
            return
        found = judge(job, parts, k)
        if found.feasible and (best is None or found.cut < best):
            best = found.cut
        yield {"cut": best, "runs": seed + 1, "spent": spent}


def solve(folder: str, case: Record) -> Iterator[Record]:
    """Yield the best results of a case so far."""
    job = Job(load_arrays(Path(folder)), Path(folder), "max", case["threads"], case["imbalance"])
    if case["tool"] == JETPY:
        yield best_of_jetpy(job, case["k"], case["seconds"])
    else:
        yield from best_of_seeds(case["tool"], job, case["k"], case["seconds"])


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Solve each case in a process until it ends, or until its alarm kills it."""
    for case in cases:
        last: Record = {"cut": None, "runs": 0, "spent": None}
        try:
            for answer in apart(solve, folder, case, threads=case["threads"]):
                last = answer
        except CalledProcessError as error:
            if error.returncode != -signal.SIGALRM:
                raise
        yield last


def best_known(path: Path | None, imbalance: float) -> dict[tuple[str, int], int]:
    """Read the cuts for an imbalance from a CSV file: columns graph, k, imbalance, best_cut."""
    if path is None:
        return {}
    with open(path, newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if float(row["imbalance"]) == imbalance]
    return {(row["graph"], int(row["k"])): int(row["best_cut"]) for row in rows}


def summarise(records: list[Record], options: argparse.Namespace) -> None:
    """Print the cuts of each case, and jetpy's cut divided by the best of the other cuts."""
    settings = {name: getattr(options, name) for name in SETTINGS}
    known = best_known(options.best_known, options.imbalance)
    cuts: dict[tuple[str, int], dict[str, Record]] = {}
    for record in records:
        if settings.items() <= record.items():
            cuts.setdefault((record["graph"], record["k"]), {})[record["tool"]] = record
    ratios, rows = [], []
    for case, found in sorted(cuts.items()):
        ours = found.get(JETPY, {}).get("cut")
        others = [found[tool]["cut"] for tool in STRONGEST if tool in found] + [known.get(case)]
        theirs = [cut for cut in others if cut]
        ratio = ours / min(theirs) if ours and theirs else None
        ratios += [] if ratio is None else [ratio]
        cells = [str(found[tool]["cut"]) if tool in found else "" for tool in TOOLS]
        runs = [str(found[tool]["runs"]) if tool in found else "" for tool in TOOLS]
        rows.append([case[0], str(case[1]), *cells, str(known.get(case, "")), "/".join(runs)])
        rows[-1].append("" if ratio is None else f"{ratio:.3f}")
    if not rows:
        raise SystemExit(f"no results with these settings in {options.results}")
    mean = f"{geometric_mean(ratios):.3f}" if ratios else ""
    rows.append(["geometric mean", *[""] * (len(TOOLS) + 3), mean])
    title = f"smallest balanced cut in {options.seconds:g} s, {options.threads} threads each"
    columns = ["graph", "k", *TOOLS, "best known", "runs", "jetpy/best of others"]
    show(title, columns, rows, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="deadline",
    doc=__doc__,
    options={
        "ks": (2, 16, 64),
        "tools": among(TOOLS),
        "seconds": Option(60.0, "time limit of each case"),
        "threads": Option(1, "threads of each process"),
        "imbalance": IMBALANCE,
        "jobs": Option(1, "number of processes at once"),
        "best_known": Option(
            None,
            "best known cuts: columns graph, k, imbalance and best_cut",
            type=Path,
            metavar="CSV",
        ),
    },
    measure=measure,
    show=summarise,
    vary={"k": "ks", "tool": "tools"},
    same=SETTINGS,
)

if __name__ == "__main__":
    EXPERIMENT.main()
