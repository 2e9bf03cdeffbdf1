"""Alternating runs of jetpy's process mapping and the program GPU-HeiProMap of GPU-HeiPa.

GPU-HeiProMap reads a METIS file, prints the milliseconds of the solution, and writes the PE of each
task.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import jetpy
from bench.harness import Experiment, Option
from bench.records import Record
from bench.tables import show
from jetpy.study.arrays import load_arrays
from jetpy.study.programs import run_heipa

IMBALANCE = 0.03
NAMES = {"im": "IM", "hm": "HM", "hm-ultra": "HM-ultra"}
"""Names of the methods in GPU-HeiProMap."""
OWN, PEER = "jetpy", "GPU-HeiProMap"
TIMEOUT = 300
"""Maximum seconds of the program."""


class Run(NamedTuple):
    """The seconds of a run and the cost of its mapping."""

    seconds: float
    cost: int


def run_peer(
    program: Path, file: Path, graph: jetpy.Graph, method: str, machine: tuple[str, str]
) -> Run:
    """Run the program once; recompute the cost from its mapping.

    Raises
    ------
    ProgramError
        If the program fails, takes more than `TIMEOUT` seconds, or does not print its time.
    ValueError
        If its mapping is not balanced.
    """
    hierarchy, distance = machine
    words = (
        *("--graph", file, "--hierarchy", hierarchy, "--distance", distance),
        *("--imbalance", IMBALANCE, "--config", NAMES[method]),
    )
    k = prod(map(int, hierarchy.split(":")))
    seconds, pes = run_heipa(program, graph, k, words, TIMEOUT)
    found = jetpy.evaluate(graph, pes, hierarchy=hierarchy, distances=distance)
    if found.imbalance > IMBALANCE + 1e-3:
        raise ValueError(f"the mapping of {program} has the imbalance {found.imbalance:.4f}")
    return Run(seconds, int(found.cost))


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Run both in turn on a graph; yield medians of seconds and mean costs by hierarchy.

    jetpy's seconds include the upload.

    Raises
    ------
    SystemExit
        If the graph has weights, or the program is not given.
    """
    if settings["program"] is None:
        raise SystemExit("--program is needed")
    graph, file = load_arrays(Path(folder)), Path(folder, "graph.graph")
    if (graph.edge_weights > 1).any() or (graph.vertex_weights > 1).any():
        raise SystemExit("the graph has weights")
    jetpy.write_graph(file, graph)
    for case in cases:
        method, machine = case["method"], (case["hierarchy"], case["distance"])
        how: dict[str, Any] = {"method": method, "backend": case["backend"]}
        runs: dict[str, list[Run]] = {OWN: [], PEER: []}
        for turn in range(settings["repeat"] + 1):
            own = jetpy.map_processes(graph, *machine, imbalance=IMBALANCE, seed=turn, **how)
            runs[OWN].append(Run(own.partition.seconds["total"], own.cost))
            runs[PEER].append(run_peer(Path(settings["program"]), file, graph, method, machine))
        warm = {name: found[1:] for name, found in runs.items()}
        yield {
            "seconds": {name: median(run.seconds for run in found) for name, found in warm.items()},
            "costs": {
                name: geometric_mean(run.cost for run in found) for name, found in warm.items()
            },
        }


def means(records: Iterable[Record]) -> tuple[float, float]:
    """Return geometric means of cost and time over those of the program."""
    found = list(records)
    cost, seconds = (
        geometric_mean(record[quantity][OWN] / record[quantity][PEER] for record in found)
        for quantity in ("costs", "seconds")
    )
    return cost, seconds


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print a row for each case of the method, and geometric means."""
    found = [record for record in records if record["method"] == options.method]
    rows = [
        [
            *(record["graph"], record["hierarchy"]),
            *(f"{record['seconds'][PEER]:.4f}", f"{record['costs'][PEER]:.0f}"),
            *(f"{ratio:.3f}" for ratio in means([record])),
        ]
        for record in found
    ]
    if rows:
        rows.append(["geometric mean", "", "", "", *(f"{mean:.3f}" for mean in means(found))])
    headers = ["graph", "hierarchy", "peer's s", "peer's cost", "cost", "time"]
    show("jetpy / GPU-HeiProMap", headers, rows, left=2, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="mapping_peer",
    doc=__doc__,
    options={
        "program": Option(None, "executable GPU-HeiProMap", type=Path),
        "method": Option("im", "method of both", choices=NAMES),
        "hierarchies": ("4:8:4",),
        "distance": "1:10:100",
        "backend": "cuda",
        "repeat": Option(5, "runs after a first one to warm up"),
    },
    measure=measure,
    show=summarise,
    vary={"hierarchy": "hierarchies"},
    same=["distance", "method", "backend"],
    together=["hierarchy"],
)

if __name__ == "__main__":
    EXPERIMENT.main()
