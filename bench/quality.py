"""Cuts of jetpy.

The program appends one JSON line per graph and k to the result file of the preset. It skips cases
that the file already contains.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import jetpy
from bench.instances import KS, Instance, add_options, selected
from bench.records import Record, add_results_option, append_record, read_records
from bench.tables import note


def results_path(folder: Path, preset: str) -> Path:
    """Return the result file of a preset."""
    return folder / f"quality-{preset}.jsonl"


def measure(
    instance: Instance,
    graph: jetpy.Graph,
    k: int,
    seeds: Sequence[int],
    preset: str,
    threads: int,
    backend: str,
) -> Record:
    """Partition a graph with each seed and return a summary of the runs."""
    runs = [
        jetpy.partition(graph, k, seed=seed, preset=preset, threads=threads, backend=backend)
        for seed in seeds
    ]
    return {
        "graph": instance.name,
        "class": instance.cls,
        "kind": instance.kind,
        "n": graph.n,
        "m": graph.m,
        "k": k,
        "preset": preset,
        "backend": runs[0].backend,
        "threads": threads,
        "seeds": list(seeds),
        "cuts": [run.cut for run in runs],
        "median_cut": median(run.cut for run in runs),
        "max_imbalance": round(max(run.imbalance for run in runs), 5),
        "feasible": sum(run.feasible for run in runs),
        "median_seconds": round(median(run.seconds["total"] for run in runs), 4),
    }


def main() -> None:
    """Measure the cases that the result files do not contain."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    add_options(parser)
    parser.add_argument("--presets", nargs="+", default=["default"])
    parser.add_argument("--ks", nargs="+", type=int, help=f"by default {KS}")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--backend", default="auto")
    add_results_option(parser)
    options = parser.parse_args()
    for preset in options.presets:
        path = results_path(options.results, preset)
        done = {(r["graph"], r["k"], tuple(r["seeds"])) for r in read_records(path)}
        for instance in selected(options):
            ks = options.ks or KS[instance.kind]
            missing = [k for k in ks if (instance.name, k, tuple(options.seeds)) not in done]
            if not missing:
                continue
            graph = instance.load()
            for k in missing:
                record = measure(
                    instance, graph, k, options.seeds, preset, options.threads, options.backend
                )
                append_record(path, record)
                note(
                    f"{preset} {instance.name} k={k}: cut {record['median_cut']:,}, feasible "
                    f"{record['feasible']}/{len(options.seeds)}, {record['median_seconds']:.2f} s"
                )


if __name__ == "__main__":
    main()
