"""jetpy's back ends and another program, by turns on one machine.

The program is the C++ Jet: it takes a METIS file, a file of settings, and the names of two files
that it writes, the best of its partitions and, as JSON, what each of its runs took.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import NamedTuple

import jetpy
from bench.instances import Instance
from bench.tables import note, show

CASES = {
    "cube200": (32, 256),
    "rgg22": (32, 256),
    "road22": (32, 256),
    "grid2000x4000": (256,),
    "rmat20": (32, 256),
    "del20": (32,),
}
"""Graphs, and numbers of parts."""
IMBALANCE = 0.03
TWO_HOP = 0
"""The program's number of its default coarsening."""
PEER = "peer"


class Run(NamedTuple):
    """Seconds of a partitioning, those of the graph's way to the GPU among them, and its cut.

    For the program that way is not within the seconds, so it is 0.
    """

    seconds: float
    upload: float
    cut: int


Runs = dict[str, list[Run]]
"""Runs of one case by the name of a back end, or `PEER`."""


def run_peer(program: Path, graph: jetpy.Graph, file: Path, k: int, times: int) -> list[Run]:
    """Have the program partition a graph, which lies in a METIS file, several times.

    Raises
    ------
    subprocess.CalledProcessError
        If it fails.
    ValueError
        If its best partition is not what it says, or not balanced.
    """
    with tempfile.TemporaryDirectory() as name:
        settings, parts, told = (Path(name, part) for part in ("settings", "parts", "told.json"))
        lines = (TWO_HOP, k, times, 1 + IMBALANCE)
        settings.write_text("".join(f"{line}\n" for line in lines))
        command = [program, file, settings, parts, told]
        subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, check=True)
        runs = [
            Run(run["total-duration-seconds"], 0.0, round(run["edge-cut"]))
            for run in json.loads(told.read_text())
        ]
        found = jetpy.evaluate(graph, jetpy.read_parts(parts), k)
    least = min(run.cut for run in runs)
    if found.cut != least:
        raise ValueError(f"{program}: the cut is {found.cut:,}, not {least:,} as it says")
    if found.imbalance > IMBALANCE + 1e-3:
        raise ValueError(f"{program}: the imbalance is {found.imbalance:.4f}")
    return runs


def compare(
    instances: Sequence[Instance],
    backends: Sequence[str],
    partition: Callable[[jetpy.Graph, int, str], Run],
    options: argparse.Namespace,
) -> int:
    """Run back ends and the program by turns, print the table, return how many cases failed.

    `partition` makes one run, given a graph, k and a back end.
    """
    found: dict[tuple[str, int], Runs] = {}
    failed = 0
    for instance in instances:
        graph = instance.load()
        file = options.generated / f"{instance.name}.graph"
        if not file.exists():
            note(f"{file} is written")
            jetpy.write_graph(file, graph)
        for k in CASES[instance.name]:

            def peer(graph: jetpy.Graph = graph, file: Path = file, k: int = k) -> list[Run]:
                # the first run of a process is its warm-up
                return run_peer(options.peer, graph, file, k, options.repeat + 1)[1:]

            def ours(backend: str, graph: jetpy.Graph = graph, k: int = k) -> list[Run]:
                return [partition(graph, k, backend) for _ in range(options.repeat)]

            try:
                for backend in backends:
                    partition(graph, k, backend)  # warm-up
                runs: Runs = {name: [] for name in (*backends, PEER)}
                for _ in range(options.rounds):
                    for name, own in runs.items():
                        own += peer() if name == PEER else ours(name)
            except Exception as error:  # must not cost the time on the device for the others
                failed += 1
                note(f"{instance.name} k={k} failed: {error!r}")
                continue
            found[instance.name, k] = runs
            for name, own in runs.items():
                note(f"{instance.name} k={k} {name}: {_summary(own)}")
    if found:
        print_table(found, backends, markdown=options.markdown)
    return failed


def _summary(runs: Sequence[Run]) -> str:
    seconds = [run.seconds for run in runs]
    span = f"{min(seconds):.4f} to {max(seconds):.4f}"
    return f"{median(seconds):.4f} s ({span}), cut {median(run.cut for run in runs):,.0f}"


def print_table(
    found: Mapping[tuple[str, int], Runs], backends: Sequence[str], *, markdown: bool
) -> None:
    """Print the medians of each case, and those of each back end over the program's."""
    headers = ["graph", "k", *(f"{name} s" for name in (*backends, PEER))]
    headers += [f"{letter}/{name}" for name in backends for letter in "tdc"]
    rows, columns = [], []
    for (graph, k), runs in found.items():
        columns.append([ratio for name in backends for ratio in _ratios(runs[name], runs[PEER])])
        seconds = [f"{median(run.seconds for run in own):.4f}" for own in runs.values()]
        rows.append([graph, str(k), *seconds, *(f"{ratio:.3f}" for ratio in columns[-1])])
    means = [f"{geometric_mean(column):.3f}" for column in zip(*columns, strict=True)]
    rows.append(["geometric mean", *[""] * (len(headers) - 1 - len(means)), *means])
    title = "by turns: seconds; over the peer: time (t), time without upload (d), cut (c)"
    show(title, headers, rows, markdown=markdown)


def _ratios(own: Sequence[Run], peer: Sequence[Run]) -> tuple[float, float, float]:
    """Return time, time without the upload, and cut of runs over those of the program's."""
    theirs = median(run.seconds for run in peer)
    return (
        median(run.seconds for run in own) / theirs,
        median(run.seconds - run.upload for run in own) / theirs,
        median(run.cut for run in own) / median(run.cut for run in peer),
    )
