"""Weights and times of vertex separators: jetpy and METIS_ComputeVertexSeparator.

METIS is the library libmetis.so.5, called through ctypes. It runs on one thread. Vertices weigh 1.
The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import byref, c_int32
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

import jetpy
from bench.harness import LIBRARIES, Experiment, Option
from bench.instances import Instance
from bench.libraries import load_libraries, pointer
from bench.records import Record, by_tool
from bench.tables import extreme_text, mean_text, show
from jetpy.choices import OrderingPreset
from jetpy.study.arrays import load_arrays

BASELINE = "metis"
OPTIONS, SEED, UFACTOR = 40, 8, 16
"""Number of METIS's options, and the indices of two of them."""
HEADERS = ("tool", "graphs", "weight", "worst weight", "over the limit", "time")
Labels = npt.NDArray[Any]
Separate = Callable[[int], tuple[Labels, float]]
"""Called as `separate(seed)`; returns the labels and the seconds."""


def jetpy_separator(graph: jetpy.Graph, settings: Record, preset: Any) -> Separate:
    """Return the function that separates a graph by jetpy."""
    imbalance, threads = settings["imbalance"], settings["threads"]

    def separate(seed: int) -> tuple[Labels, float]:
        found = jetpy.vertex_separator(
            graph, preset=preset, imbalance=imbalance, seed=seed, threads=threads
        )
        return found.labels, found.seconds

    return separate


def metis_separator(graph: jetpy.Graph, settings: Record) -> Separate:
    """Return the function that separates a graph by METIS, whose seeds 0 and 1 are the same."""
    library = load_libraries(settings["libraries"], "libmetis.so.5")
    rows, indices = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)

    def separate(seed: int) -> tuple[Labels, float]:
        options, labels = np.empty(OPTIONS, np.int32), np.empty(graph.n, np.int32)
        library.METIS_SetDefaultOptions(pointer(options))
        options[SEED], options[UFACTOR] = seed + 1, round(1000 * settings["imbalance"])
        weight, n = c_int32(), c_int32(graph.n)
        arrays = pointer(rows), pointer(indices), None, pointer(options)
        start = perf_counter()
        status = library.METIS_ComputeVertexSeparator(
            byref(n), *arrays, byref(weight), pointer(labels)
        )
        seconds = perf_counter() - start
        assert status == 1
        return labels, seconds

    return separate


TOOLS: Mapping[str, Callable[[jetpy.Graph, Record], Separate]] = {
    BASELINE: metis_separator,
    **{
        f"jetpy/{preset}": partial(jetpy_separator, preset=preset)
        for preset in get_args(OrderingPreset)
    },
}


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Separate a graph with each tool, which first separates a grid to warm up."""
    for case in cases:
        TOOLS[case["tool"]](jetpy.generators.grid(40, 40), settings)(0)
        yield measured(load_arrays(Path(folder)), case["tool"], settings)


def measured(graph: jetpy.Graph, tool: str, settings: Record) -> Record:
    """Separate a graph with each seed; return the weights of the separators and the seconds."""
    separate = TOOLS[tool](graph, settings)
    runs = [separate(seed) for seed in range(settings["seeds"])]
    sizes = [np.bincount(labels, minlength=3).tolist() for labels, _ in runs]
    return {
        "weights": [size[2] for size in sizes],
        "heavier": [max(size[:2]) for size in sizes],
        "seconds": [round(seconds, 6) for _, seconds in runs],
    }


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield the tools."""
    for tool in TOOLS:
        threads = 1 if tool == BASELINE else options.threads
        fixed = {"imbalance": options.imbalance, "seeds": options.seeds}
        yield {"tool": tool, "threads": threads, **fixed}


def mean_rows(records: Sequence[Record], imbalance: float, threads: int) -> list[list[str]]:
    """Return a row for each tool: geometric means over METIS, and the worst graph.

    The ratios are those of weights plus 1, because a separator may be empty.
    """
    chosen = [
        r
        for r in records
        if r["imbalance"] == imbalance and r["threads"] == (1 if r["tool"] == BASELINE else threads)
    ]
    found = by_tool(chosen, "graph")
    rows = []
    for tool, own in found.items():
        base = found.get(BASELINE, {})
        names = [name for name in own if name in base]
        weights = {
            name: _mean(own[name], "weights", 1) / _mean(base[name], "weights", 1) for name in names
        }
        times = [_mean(own[name], "seconds") / _mean(base[name], "seconds") for name in names]
        limits = {name: (1 + imbalance) * -(-own[name]["n"] // 2) for name in own}
        over = sum(side > limits[name] for name in own for side in own[name]["heavier"])
        text = extreme_text(weights, lambda name: str(name[0]))
        rows.append(
            [tool, f"{len(names)}", mean_text(weights.values()), text, f"{over}", mean_text(times)]
        )
    return rows


def _mean(record: Record, measure: str, more: int = 0) -> float:
    """Return the geometric mean of a measure, plus `more`, over the seeds."""
    return geometric_mean(value + more for value in record[measure])


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the table."""
    rows = mean_rows(records, options.imbalance, options.threads)
    title = f"imbalance {options.imbalance:g}, threads = {options.threads}: means over METIS"
    show(title, HEADERS, rows, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="separators",
    doc=__doc__,
    options={
        "imbalance": Option(0.2, "as for vertex_separator"),
        "seeds": Option(3, "number of runs with other seeds"),
        "threads": Option(1, "threads of jetpy"),
        "libraries": LIBRARIES,
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "imbalance", "seeds", "threads", "tool"),
)

if __name__ == "__main__":
    EXPERIMENT.main()
