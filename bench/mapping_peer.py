"""Alternating runs of jetpy's process mapping and the program GPU-HeiProMap of GPU-HeiPa.

GPU-HeiProMap reads a METIS file, prints the milliseconds of the solution, and writes the PE of each
task. jetpy runs the method, and method im also with rebalancing by cut, as in the paper on GPU-IM.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import jetpy
from bench.instances import Instance, add_options, selected
from bench.records import Record, add_results_option, append_record
from bench.tables import add_markdown_option, note, show
from jetpy.study.programs import ProgramError, run_heipa

IMBALANCE = 0.03
NAMES = {"im": "IM", "hm": "HM", "hm-ultra": "HM-ultra"}
"""Names of the methods in GPU-HeiProMap."""
PEER = "GPU-HeiProMap"
TIMEOUT = 300
"""Maximum seconds of the program."""
BY_CUT: Mapping[str, Any] = {"refine.rebalance_by": "cut"}


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


def run_jetpy(
    graph: jetpy.Graph,
    method: str,
    machine: tuple[str, str],
    backend: str,
    seed: int,
    options: Mapping[str, Any],
) -> Run:
    """Map a graph once; the time includes the upload."""
    found = jetpy.map_processes(
        graph,
        *machine,
        method=method,
        imbalance=IMBALANCE,
        seed=seed,
        backend=backend,
        options=options,
    )
    return Run(found.partition.seconds["total"], found.cost)


def results_path(folder: Path) -> Path:
    """Return the result file."""
    return folder / "mapping_peer.jsonl"


def compare(
    instance: Instance, graph: jetpy.Graph, file: Path, options: argparse.Namespace
) -> Iterator[Record]:
    """Run all tools in turn on a graph; yield medians of seconds and mean costs by hierarchy."""
    variants: dict[str, Mapping[str, Any]] = {"jetpy": {}}
    if options.method == "im":
        variants["jetpy by cut"] = BY_CUT
    for hierarchy in options.hierarchies:
        machine = (hierarchy, options.distance)
        runs: dict[str, list[Run]] = {name: [] for name in (*variants, PEER)}
        for turn in range(options.repeat + 1):
            for name, changes in variants.items():
                run = run_jetpy(graph, options.method, machine, options.backend, turn, changes)
                runs[name].append(run)
            runs[PEER].append(run_peer(options.program, file, graph, options.method, machine))
        warm = {name: found[1:] for name, found in runs.items()}
        yield {
            "graph": instance.name,
            "hierarchy": hierarchy,
            "distance": options.distance,
            "method": options.method,
            "backend": options.backend,
            "seconds": {name: median(run.seconds for run in found) for name, found in warm.items()},
            "costs": {
                name: geometric_mean(run.cost for run in found) for name, found in warm.items()
            },
        }


def means(records: Iterable[Record], name: str = "jetpy") -> tuple[float, float]:
    """Return geometric means of cost and time over those of the program."""
    found = list(records)
    cost, seconds = (
        geometric_mean(record[quantity][name] / record[quantity][PEER] for record in found)
        for quantity in ("costs", "seconds")
    )
    return cost, seconds


def main() -> None:
    """Run all cases and print the table with geometric means."""
    parser = argparse.ArgumentParser(prog="python -m bench.mapping_peer", description=__doc__)
    add_options(parser)
    parser.add_argument("--program", type=Path, required=True, help="executable GPU-HeiProMap")
    parser.add_argument("--method", choices=NAMES, default="im")
    parser.add_argument("--hierarchies", nargs="+", default=["4:8:4"])
    parser.add_argument("--distance", default="1:10:100")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--repeat", type=int, default=5, help="runs after a first one to warm up")
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    found: list[Record] = []
    failed = 0
    for instance in selected(options):
        graph = instance.load()
        if (graph.edge_weights > 1).any() or (graph.vertex_weights > 1).any():
            note(f"{instance.name} is left out: it has weights")
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, f"{instance.name}.graph")
            jetpy.write_graph(file, graph)
            try:
                for record in compare(instance, graph, file, options):
                    append_record(results_path(options.results), record)
                    found.append(record)
                    note(f"{instance.name} {record['hierarchy']}: {record['seconds']}")
            except (ValueError, ProgramError) as error:
                note(f"{instance.name} failed: {error}")
                failed += 1
    kinds = ("jetpy", "jetpy by cut") if options.method == "im" else ("jetpy",)
    rows = [
        [
            *(record["graph"], record["hierarchy"]),
            *(f"{record['seconds'][PEER]:.4f}", f"{record['costs'][PEER]:.0f}"),
            *(f"{ratio:.3f}" for kind in kinds for ratio in means([record], kind)),
        ]
        for record in found
    ]
    if rows:
        last = [f"{mean:.3f}" for kind in kinds for mean in means(found, kind)]
        rows.append(["geometric mean", "", "", "", *last])
    headers = ["graph", "hierarchy", "peer's s", "peer's cost"]
    headers += [f"{kind}: {quantity}" for kind in kinds for quantity in ("cost", "time")]
    title = "jetpy / GPU-HeiProMap"
    show(title, headers, rows, left=2, markdown=options.markdown)
    raise SystemExit(f"{failed} graphs failed" if failed else 0)


if __name__ == "__main__":
    main()
