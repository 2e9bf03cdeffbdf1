"""Alternating runs of jetpy's back ends and the executable of the C++ Jet on one machine.

The executable reads a METIS file and a file of settings. It writes two files: the parts of its best
run, and a JSON list with the cut and the seconds of each run.
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
"""Numbers of parts of each graph."""
IMBALANCE = 0.03
TWO_HOP = 0
"""The executable's code for its default coarsening."""
PEER = "peer"


class Run(NamedTuple):
    """The seconds of a run, the seconds of the upload that they include, and the cut.

    The C++ Jet's seconds do not include the upload, so its `upload` is 0.
    """

    seconds: float
    upload: float
    cut: int


Runs = dict[str, list[Run]]
"""Runs of one case, by the name of a back end or `PEER`."""


def run_peer(program: Path, graph: jetpy.Graph, file: Path, k: int, times: int) -> list[Run]:
    """Run the executable once. It partitions the graph in the METIS file `times` times.

    Raises
    ------
    subprocess.CalledProcessError
        If the executable fails.
    ValueError
        If the cut of its best partition is not the cut that it reports, or if this partition is
        not balanced.
    """
    with tempfile.TemporaryDirectory() as name:
        settings, parts, metrics = (
            Path(name, file) for file in ("settings", "parts", "metrics.json")
        )
        lines = (TWO_HOP, k, times, 1 + IMBALANCE)
        settings.write_text("".join(f"{line}\n" for line in lines))
        command = [program, file, settings, parts, metrics]
        subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, check=True)
        runs = [
            Run(run["total-duration-seconds"], 0.0, round(run["edge-cut"]))
            for run in json.loads(metrics.read_text())
        ]
        found = jetpy.evaluate(graph, jetpy.read_parts(parts), k)
    reported = min(run.cut for run in runs)
    if found.cut != reported:
        raise ValueError(f"{program} reports cut {reported:,}, but the cut is {found.cut:,}")
    if found.imbalance > IMBALANCE + 1e-3:
        raise ValueError(
            f"{program} exceeds imbalance {IMBALANCE}: the imbalance is {found.imbalance:.4f}"
        )
    return runs


def compare(
    instances: Sequence[Instance],
    backends: Sequence[str],
    partition: Callable[[jetpy.Graph, int, str], Run],
    options: argparse.Namespace,
) -> int:
    """Run the back ends and the executable in turn and print the table.

    `partition(graph, k, backend)` makes one run of jetpy. Return the number of failed cases.
    """
    found: dict[tuple[str, int], Runs] = {}
    failed = 0
    for instance in instances:
        graph = instance.load()
        file = options.generated / f"{instance.name}.graph"
        if not file.exists():
            jetpy.write_graph(file, graph)
            note(f"wrote {file}")
        for k in CASES[instance.name]:

            def peer(graph: jetpy.Graph = graph, file: Path = file, k: int = k) -> list[Run]:
                # the first run of each process is a warm-up
                return run_peer(options.peer, graph, file, k, options.repeat + 1)[1:]

            def ours(backend: str, graph: jetpy.Graph = graph, k: int = k) -> list[Run]:
                return [partition(graph, k, backend) for _ in range(options.repeat)]

            try:
                for backend in backends:
                    partition(graph, k, backend)  # warm-up
                runs: Runs = {name: [] for name in (*backends, PEER)}
                for _ in range(options.rounds):
                    for name, tool_runs in runs.items():
                        tool_runs += peer() if name == PEER else ours(name)
            except Exception as error:  # one failure must not waste the other cases' device time
                failed += 1
                note(f"{instance.name} k={k} failed: {error!r}")
                continue
            found[instance.name, k] = runs
            for name, tool_runs in runs.items():
                note(f"{instance.name} k={k} {name}: {_summary(tool_runs)}")
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
    """Print the medians of each case, and each back end's divided by the executable's."""
    headers = ["graph", "k", *(f"{name} s" for name in (*backends, PEER))]
    headers += [f"{letter}/{name}" for name in backends for letter in "tdc"]
    rows, columns = [], []
    for (graph, k), runs in found.items():
        columns.append([ratio for name in backends for ratio in _ratios(runs[name], runs[PEER])])
        seconds = [f"{median(run.seconds for run in tool_runs):.4f}" for tool_runs in runs.values()]
        rows.append([graph, str(k), *seconds, *(f"{ratio:.3f}" for ratio in columns[-1])])
    means = [f"{geometric_mean(column):.3f}" for column in zip(*columns, strict=True)]
    rows.append(["geometric mean", *[""] * (len(headers) - 1 - len(means)), *means])
    title = "seconds; time (t), time without upload (d) and cut (c) divided by the peer's"
    show(title, headers, rows, markdown=markdown)


def _ratios(ours: Sequence[Run], peer: Sequence[Run]) -> tuple[float, float, float]:
    """Return time, time without the upload, and cut of jetpy's runs divided by the peer's."""
    theirs = median(run.seconds for run in peer)
    return (
        median(run.seconds for run in ours) / theirs,
        median(run.seconds - run.upload for run in ours) / theirs,
        median(run.cut for run in ours) / median(run.cut for run in peer),
    )
