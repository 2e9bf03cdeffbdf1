"""Other partitioners beside jetpy, each run in its own process; writes CSV."""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import jetpy
from bench.child import run_module
from bench.instances import KS, add_options, chosen
from bench.tables import note
from bench.tools import TOOLS

COLUMNS = (
    "graph",
    "n",
    "m",
    "k",
    "tool",
    "threads",
    "runs",
    "median_cut",
    "max_imbalance",
    "median_wall_s",
)


def rows(options: argparse.Namespace) -> Iterator[list[object]]:
    """Summaries of the runs of each tool, in the order of COLUMNS."""
    for instance in chosen(options):
        with tempfile.TemporaryDirectory() as folder:
            graph = instance.load()
            for name in ("graph.npz", "graph.graph"):
                jetpy.write_graph(Path(folder) / name, graph)
            for k in options.ks or KS[instance.kind]:
                for tool in options.tools:
                    threads = 1 if tool in ("pymetis", "kahip") else options.threads
                    note(f"{instance.name} k={k} {tool}")
                    runs = [
                        run_module("bench.tools", tool, folder, k, seed, threads)
                        for seed in options.seeds
                    ]
                    cut, seconds = (median(run[key] for run in runs) for key in ("cut", "seconds"))
                    imbalance = max(run["imbalance"] for run in runs)
                    case = (instance.name, graph.n, graph.m, k, tool, threads, len(runs))
                    yield [*case, cut, round(imbalance, 5), round(seconds, 4)]


def main() -> None:
    """Run every installed tool on every chosen graph."""
    installed = [tool for tool in TOOLS if find_spec(tool)]
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    add_options(parser)
    parser.add_argument("--tools", nargs="+", choices=installed, default=installed)
    parser.add_argument("--ks", nargs="+", type=int, help=f"by default {KS}")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2, help="pymetis and kahip use one")
    parser.add_argument("--output", type=Path, metavar="CSV", help="standard output by default")
    options = parser.parse_args()
    with ExitStack() as stack:
        stream = stack.enter_context(open(options.output, "w")) if options.output else sys.stdout
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows(options):
            writer.writerow(row)
            stream.flush()


if __name__ == "__main__":
    main()
