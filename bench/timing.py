"""Times of jetpy and pymetis by turns in one process, and times of jetpy's stages.

pymetis runs twice: with jetpy's 32-bit arrays, which it converts to METIS's 64-bit integers, and
with arrays that are converted before the clock starts.

The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pymetis

import jetpy
from bench.harness import SEEDS, Experiment, Option
from bench.instances import KS, Instance
from bench.records import Record
from bench.tables import mean_text, ratio_text, show
from jetpy.multilevel.execution import STAGES
from jetpy.study.arrays import load_arrays

NARROW, WIDE = "pymetis", "pymetis 64-bit"
FIELDS = ("preset", "threads", "backend", "seeds")


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each number of parts."""
    for k in options.ks or [k for k in KS[instance.kind] if k != 256]:
        yield {"k": k, **{name: getattr(options, name) for name in FIELDS}}


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Run jetpy once to warm up, then all in turn with each seed, and yield the seconds."""
    graph = load_arrays(Path(folder))
    wide = (array.astype(np.int64) for array in (graph.indptr, graph.indices))
    arrays = {
        NARROW: pymetis.CSRAdjacency(graph.indptr, graph.indices),
        WIDE: pymetis.CSRAdjacency(*wide),
    }
    for case in cases:
        how: dict[str, Any] = {name: case[name] for name in ("preset", "threads", "backend")}
        jetpy.partition(graph, case["k"], **how)
        seconds: dict[str, list[float]] = {}
        for seed in case["seeds"]:
            result = jetpy.partition(graph, case["k"], seed=seed, **how)
            for name in ("total", *STAGES):
                seconds.setdefault(name, []).append(round(result.seconds[name], 6))
            for name, adjacency in arrays.items():
                spent = round(metis_seconds(adjacency, case["k"], seed), 6)
                seconds.setdefault(name, []).append(spent)
        yield {"seconds": seconds}


def metis_seconds(adjacency: pymetis.CSRAdjacency, k: int, seed: int) -> float:
    """Return the seconds of METIS, k-way."""
    settings = pymetis.Options(ufactor=30, seed=seed)
    begin = perf_counter()
    pymetis.part_graph(k, adjacency, options=settings, recursive=False)
    return perf_counter() - begin


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the medians of the records with the preset, threads and back end of the options."""
    setting = {name: getattr(options, name) for name in FIELDS[:3]}
    rows, stages, ratios = [], [], []
    for record in records:
        if setting.items() <= record.items():
            medians = {name: median(own) for name, own in record["seconds"].items()}
            case = [record["graph"], str(record["k"])]
            ratios.append([medians["total"] / medians[name] for name in (NARROW, WIDE)])
            seconds = (medians[name] for name in ("total", NARROW, WIDE))
            rows.append([*case, *map(ratio_text, seconds), *map(ratio_text, ratios[-1])])
            stages.append([*case, *(f"{1000 * medians[name]:.2f}" for name in ("total", *STAGES))])
    means = map(mean_text, zip(*ratios, strict=True))
    rows.append(["geometric mean", "", "", "", "", *means])
    about = f"preset {options.preset}, {options.threads} threads"
    headers = ["graph", "k", "jetpy", NARROW, WIDE, "ratio", "ratio 64-bit"]
    show(f"seconds, {about}; METIS k-way, 1 thread", headers, rows, markdown=options.markdown)
    headers = ["graph", "k", "total", *STAGES]
    show(f"milliseconds of stages, {about}", headers, stages, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="timing",
    doc=__doc__,
    options={
        "ks": Option((), f"by default {KS}, without 256", type=int),
        "seeds": SEEDS,
        "preset": "default",
        "threads": 2,
        "backend": "auto",
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "k", *FIELDS),
    together=["k"],
    min_n=250_000,
)

if __name__ == "__main__":
    EXPERIMENT.main()
