"""Cuts of jetpy: one JSON line per graph and k, appended to a file; goes on where it stopped."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import jetpy
from bench.instances import KS, Instance, add_options, chosen
from bench.tables import note

RESULTS = Path(__file__).parent / "results"


def results_path(folder: Path, preset: str) -> Path:
    """File of the results of a preset."""
    return folder / f"quality-{preset}.jsonl"


def read_records(path: Path) -> list[dict[str, Any]]:
    """Records of a results file; none if there is no such file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def measure(
    instance: Instance,
    graph: jetpy.Graph,
    k: int,
    seeds: Sequence[int],
    preset: str,
    threads: int,
    backend: str,
) -> dict[str, Any]:
    """Partition a graph once per seed and summarise the runs."""
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
    """Measure what the results files still lack."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    add_options(parser)
    parser.add_argument("--presets", nargs="+", default=["default"])
    parser.add_argument("--ks", nargs="+", type=int, help=f"by default {KS}")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    for preset in options.presets:
        path = results_path(options.results, preset)
        done = {(r["graph"], r["k"], tuple(r["seeds"])) for r in read_records(path)}
        for instance in chosen(options):
            ks = options.ks or KS[instance.kind]
            missing = [k for k in ks if (instance.name, k, tuple(options.seeds)) not in done]
            if not missing:
                continue
            graph = instance.load()
            for k in missing:
                record = measure(
                    instance, graph, k, options.seeds, preset, options.threads, options.backend
                )
                with open(path, "a", encoding="utf-8") as stream:
                    stream.write(json.dumps(record) + "\n")
                note(
                    f"{preset} {instance.name} k={k}: cut {record['median_cut']:,}, feasible "
                    f"{record['feasible']}/{len(options.seeds)}, {record['median_seconds']:.2f} s"
                )


if __name__ == "__main__":
    main()
