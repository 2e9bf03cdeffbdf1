"""Cuts of jetpy, and with --reference their ratios to those of other partitioners.

The program appends one JSON line per graph and k to the result file of the preset. It skips cases
that the file already contains.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import jetpy
from bench import analyse
from bench.harness import SEEDS, Experiment, Option
from bench.instances import KS, Instance
from bench.records import Record
from jetpy.study.arrays import load_arrays


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each preset and number of parts."""
    for preset in options.presets:
        for k in options.ks or KS[instance.kind]:
            fixed = {"threads": options.threads, "seeds": options.seeds}
            yield {"preset": preset, "k": k, **fixed}


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Partition a graph with each seed and yield a summary of the runs."""
    graph = load_arrays(Path(folder))
    for case in cases:
        how: dict[str, Any] = {name: case[name] for name in ("preset", "threads")}
        how["backend"] = settings["backend"]
        runs = [jetpy.partition(graph, case["k"], seed=seed, **how) for seed in case["seeds"]]
        yield {
            "backend": runs[0].backend,
            "cuts": [run.cut for run in runs],
            "median_cut": median(run.cut for run in runs),
            "max_imbalance": round(max(run.imbalance for run in runs), 5),
            "feasible": sum(run.feasible for run in runs),
            "median_seconds": round(median(run.seconds["total"] for run in runs), 4),
        }


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the tables of each preset; of several records of a case, the last one counts."""
    if options.reference is None:
        return
    cuts = analyse.read_reference(options.reference)
    for preset in options.presets:
        own = [record for record in records if record["preset"] == preset]
        latest = {(record["graph"], record["k"]): record for record in own}
        analyse.print_tables(list(latest.values()), cuts, preset, options.markdown)


EXPERIMENT = Experiment(
    name="quality",
    doc=__doc__,
    options={
        "presets": ("default",),
        "ks": Option(None, f"by default {KS}", type=int, is_several=True),
        "seeds": SEEDS,
        "threads": 2,
        "backend": "auto",
        "reference": Option(
            None,
            f"folder of the other partitioners' results: {' and '.join(analyse.FILES)}",
            type=Path,
            metavar="DIR",
        ),
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("preset", "graph", "k", "seeds"),
    together=["k"],
    file_of=lambda record: str(record["preset"]),
)

if __name__ == "__main__":
    EXPERIMENT.main()
