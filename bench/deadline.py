"""The smallest balanced cut by a deadline, beside the strongest peers; goes on where it stopped.

jetpy runs its preset max with a time limit, peers run one seed after the other for as long. Without
--graphs and --generated it only prints the table of what it has.
"""

from __future__ import annotations

import argparse
import csv
import json
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import count
from math import ceil
from pathlib import Path
from statistics import geometric_mean
from subprocess import CalledProcessError
from typing import Any

import jetpy
from bench.child import CHILDREN, Absent, answers, ending_on_signals
from bench.instances import Instance, add_options, chosen
from bench.quality import RESULTS, read_records
from bench.tables import note, show
from bench.tools import IMBALANCE, STRONGEST, Job
from jetpy.study.answers import answering
from jetpy.study.arrays import load_arrays, save_arrays
from jetpy.study.verdict import judge

FILE = "deadline.jsonl"
JETPY = "jetpy/max"
TOOLS = (JETPY, *STRONGEST)

GRACE = 2
"""Seconds after the deadline until a run of a peer, which is too late, is ended."""

Record = dict[str, Any]


def best_of_jetpy(job: Job, k: int, seconds: float) -> Record:
    """Partition with the preset max until the time is up."""
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
    return {"cut": best, "runs": result.generations, "seconds": result.seconds["total"]}


def best_of_seeds(tool: str, job: Job, k: int, seconds: float) -> Iterator[Record]:
    """Partition with seeds 0, 1, 2, ...; yield the best so far after each that is in time."""
    solve = STRONGEST[tool].prepare(job)
    signal.alarm(ceil(seconds) + GRACE)
    best, spent = None, 0.0
    for seed in count():
        parts, took = solve(k, seed)
        spent += took
        if spent > seconds:
            return
        found = judge(job, parts, k)
        if found.feasible and (best is None or found.cut < best):
            best = found.cut
        yield {"cut": best, "runs": seed + 1, "seconds": spent}


def last_answer(*arguments: object, threads: int) -> Record:
    """Run a child until it ends, or is ended by its alarm; return what it said last."""
    last: Record = {"cut": None, "runs": 0, "seconds": None}
    try:
        for answer in answers("bench.deadline", *arguments, threads=threads):
            last = answer
    except CalledProcessError as error:
        if error.returncode != -signal.SIGALRM:
            raise
    return last


def measure(options: argparse.Namespace, done: set[Any]) -> Iterator[Record]:
    """Run what is missing, several processes at once."""
    with (
        ending_on_signals(),
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(options.jobs) as pool,
    ):

        def run(instance: Instance, k: int, tool: str) -> Record | None:
            note(f"{instance.name} {k} {tool}")
            arguments: list[object] = ["--child", tool, Path(folder) / instance.name, k]
            arguments += ["--seconds", options.seconds, "--threads", options.threads]
            arguments += ["--imbalance", options.imbalance]
            try:
                found = last_answer(*arguments, threads=options.threads)
            except Absent as reason:
                note(str(reason))
                return None
            return {"graph": instance.name, "k": k, "tool": tool, **settings_of(options), **found}

        waiting = []
        try:
            for instance in chosen(options):
                if options.max_n and instance.n > options.max_n:
                    continue
                save_arrays(Path(folder) / instance.name, instance.load())
                waiting += [
                    pool.submit(run, instance, k, tool)
                    for k in options.ks
                    for tool in options.tools
                    if (instance.name, k, tool, *settings_of(options).values()) not in done
                ]
            for future in as_completed(waiting):
                record = future.result()
                if record is not None:
                    yield record
        except BaseException:
            CHILDREN.give_up()
            raise


def settings_of(options: argparse.Namespace) -> Record:
    """Return what records are compared under."""
    return {
        "imbalance": options.imbalance,
        "allowed": options.seconds,
        "threads": options.threads,
    }


def best_known(path: Path | None, imbalance: float) -> dict[tuple[str, int], int]:
    """Return the cuts of a CSV file with the columns graph, k, imbalance and best_cut."""
    if path is None:
        return {}
    with open(path, newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if float(row["imbalance"]) == imbalance]
    return {(row["graph"], int(row["k"])): int(row["best_cut"]) for row in rows}


def summarise(records: list[Record], options: argparse.Namespace) -> None:
    """Print the cuts of each case, and what jetpy's is over the best of the others."""
    settings = settings_of(options)
    known = best_known(options.best_known, options.imbalance)
    cuts: dict[tuple[str, int], dict[str, Record]] = {}
    for record in records:
        if settings.items() <= record.items():
            cuts.setdefault((record["graph"], record["k"]), {})[record["tool"]] = record
    ratios, rows = [], []
    for case, found in sorted(cuts.items()):
        own = found.get(JETPY, {}).get("cut")
        others = [found[tool]["cut"] for tool in STRONGEST if tool in found] + [known.get(case)]
        rivals = [cut for cut in others if cut]
        ratio = own / min(rivals) if own and rivals else None
        ratios += [] if ratio is None else [ratio]
        cells = [str(found[tool]["cut"]) if tool in found else "" for tool in TOOLS]
        runs = [str(found[tool]["runs"]) if tool in found else "" for tool in TOOLS]
        rows.append([case[0], str(case[1]), *cells, str(known.get(case, "")), "/".join(runs)])
        rows[-1].append("" if ratio is None else f"{ratio:.3f}")
    if not rows:
        raise SystemExit(f"no results under these settings in {options.results}")
    mean = f"{geometric_mean(ratios):.3f}" if ratios else ""
    rows.append(["geometric mean", *[""] * (len(TOOLS) + 3), mean])
    title = f"smallest balanced cut in {options.seconds:g} s, {options.threads} threads each"
    columns = ["graph", "k", *TOOLS, "best known", "runs", "jetpy/best of others"]
    show(title, columns, rows, markdown=options.markdown)


def main() -> None:
    """Measure what is missing, then print the table of all there is."""
    parser = argparse.ArgumentParser(prog="python -m bench.deadline", description=__doc__)
    add_options(parser)
    parser.add_argument("--max-n", type=int, metavar="N", help="no graphs with more vertices")
    parser.add_argument("--ks", nargs="+", type=int, default=[2, 16, 64])
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--imbalance", type=float, default=IMBALANCE)
    parser.add_argument("--jobs", type=int, default=1, help="how many processes at once")
    parser.add_argument("--best-known", type=Path, metavar="CSV", help="the best cuts known")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--child", nargs=3, metavar=("TOOL", "DIR", "K"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        answer = answering()
        tool, folder, k = options.child
        job = Job(
            load_arrays(Path(folder)), Path(folder), "max", options.threads, options.imbalance
        )
        try:
            if tool == JETPY:
                answer(best_of_jetpy(job, int(k), options.seconds))
            else:
                for best in best_of_seeds(tool, job, int(k), options.seconds):
                    answer(best)
        except ImportError as error:
            answer({"absent": str(error)})
        return
    path = options.results / FILE
    if options.graphs or options.generated:
        options.results.mkdir(parents=True, exist_ok=True)
        keys = ("graph", "k", "tool", *settings_of(options))
        done = {tuple(record[key] for key in keys) for record in read_records(path)}
        for record in measure(options, done):
            with open(path, "a") as stream:
                stream.write(json.dumps(record) + "\n")
    summarise(read_records(path), options)


if __name__ == "__main__":
    main()
