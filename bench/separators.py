"""Weights and times of vertex separators: jetpy and METIS_ComputeVertexSeparator.

METIS is the library libmetis.so.5, called through ctypes. It runs on one thread. Vertices weigh 1.
The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_int32
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

import jetpy
from bench.child import Unavailable
from bench.instances import add_options, selected
from bench.libraries import load_libraries, pointer
from bench.records import Record, add_results_option, append_record, by_tool, read_records
from bench.tables import add_markdown_option, mean_text, note, show
from jetpy.choices import OrderingPreset

FILE = "separators.jsonl"
BASELINE = "metis"
OPTIONS, SEED, UFACTOR = 40, 8, 16
"""Number of METIS's options, and the indices of two of them."""
HEADERS = ("tool", "graphs", "weight", "worst weight", "over the limit", "time")
Labels = npt.NDArray[Any]
Separate = Callable[[int], tuple[Labels, float]]
"""Called as `separate(seed)`; returns the labels and the seconds."""


def jetpy_separator(graph: jetpy.Graph, options: argparse.Namespace, preset: Any) -> Separate:
    """Return the function that separates a graph by jetpy."""

    def separate(seed: int) -> tuple[Labels, float]:
        found = jetpy.vertex_separator(
            graph, preset=preset, imbalance=options.imbalance, seed=seed, threads=options.threads
        )
        return found.labels, found.seconds

    return separate


def metis_separator(graph: jetpy.Graph, options: argparse.Namespace) -> Separate:
    """Return the function that separates a graph by METIS, whose seeds 0 and 1 are the same."""
    library = load_libraries(options.libraries, "libmetis.so.5")
    rows, indices = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)

    def separate(seed: int) -> tuple[Labels, float]:
        settings, labels = np.empty(OPTIONS, np.int32), np.empty(graph.n, np.int32)
        library.METIS_SetDefaultOptions(pointer(settings))
        settings[SEED], settings[UFACTOR] = seed + 1, round(1000 * options.imbalance)
        weight, n = c_int32(), c_int32(graph.n)
        arrays = pointer(rows), pointer(indices), None, pointer(settings)
        start = perf_counter()
        status = library.METIS_ComputeVertexSeparator(
            byref(n), *arrays, byref(weight), pointer(labels)
        )
        seconds = perf_counter() - start
        assert status == 1
        return labels, seconds

    return separate


TOOLS: Mapping[str, Callable[[jetpy.Graph, argparse.Namespace], Separate]] = {
    BASELINE: metis_separator,
    **{
        f"jetpy/{preset}": partial(jetpy_separator, preset=preset)
        for preset in get_args(OrderingPreset)
    },
}


def measured(graph: jetpy.Graph, tool: str, options: argparse.Namespace) -> Record:
    """Separate a graph with each seed; return the weights of the separators and the seconds."""
    separate = TOOLS[tool](graph, options)
    runs = [separate(seed) for seed in range(options.seeds)]
    sizes = [np.bincount(labels, minlength=3).tolist() for labels, _ in runs]
    return {
        "weights": [size[2] for size in sizes],
        "heavier": [max(size[:2]) for size in sizes],
        "seconds": [round(seconds, 6) for _, seconds in runs],
    }


def run(options: argparse.Namespace) -> None:
    """Measure the missing cases and append each record to the file at once."""
    try:
        for tool in TOOLS:
            TOOLS[tool](jetpy.generators.grid(40, 40), options)(0)  # warm-up
    except Unavailable as reason:
        raise SystemExit(str(reason)) from reason
    for instance in selected(options):
        case = {"graph": instance.name, "imbalance": options.imbalance, "seeds": options.seeds}
        found = by_tool(read_records(options.results / FILE), *case, "threads")
        graph = None
        for tool in TOOLS:
            threads = 1 if tool == BASELINE else options.threads
            if (*case.values(), threads) in found.get(tool, {}):
                continue
            note(f"{instance.name} {tool}")
            graph = instance.load() if graph is None else graph
            about = {"class": instance.cls, "n": graph.n, "m": graph.m, "tool": tool}
            result = measured(graph, tool, options)
            record = {**case, **about, "threads": threads, **result}
            append_record(options.results / FILE, record)


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
        worst = max(weights, key=weights.__getitem__, default=None)
        text = "-" if worst is None else f"{weights[worst]:.3f} {worst[0]}"
        rows.append(
            [tool, f"{len(names)}", mean_text(weights.values()), text, f"{over}", mean_text(times)]
        )
    return rows


def _mean(record: Record, measure: str, more: int = 0) -> float:
    """Return the geometric mean of a measure, plus `more`, over the seeds."""
    return geometric_mean(value + more for value in record[measure])


def main() -> None:
    """Measure the missing cases, then print the table of all results."""
    parser = argparse.ArgumentParser(prog="python -m bench.separators", description=__doc__)
    add_options(parser)
    parser.add_argument("--imbalance", type=float, default=0.2, help="as for vertex_separator")
    parser.add_argument("--seeds", type=int, default=3, help="number of runs with other seeds")
    parser.add_argument("--threads", type=int, default=1, help="threads of jetpy")
    parser.add_argument(
        "--libraries", type=Path, nargs="+", default=[], metavar="DIR", help="folders of libraries"
    )
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    if options.graphs or options.generated:
        run(options)
    records = read_records(options.results / FILE)
    if not records:
        raise SystemExit(f"no results in {options.results}")
    rows = mean_rows(records, options.imbalance, options.threads)
    title = f"imbalance {options.imbalance:g}, threads = {options.threads}: means over METIS"
    show(title, HEADERS, rows, markdown=options.markdown)


if __name__ == "__main__":
    main()
