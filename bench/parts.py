"""Time and peak memory for 2 parts up to half as many parts as vertices, also of large graphs.

Each case has a process of its own. It partitions a tiny graph, so that all kernels are loaded, then
the graph `--repeat` times. All runs must have the same parts, and the process computes cut and part
weights again. Peak memory is that of the first run and of loading the graph.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

import jetpy
from bench.harness import Experiment, Option
from bench.instances import Instance, selected
from bench.memory import gpu_pool_bytes, process_bytes, reset_peak
from bench.records import Record
from bench.tables import note, show
from jetpy.device.backends import ON_GPU, lease
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.problem.metrics import edge_cut
from jetpy.study.arrays import load_arrays

FIELDS = ("preset", "threads", "backend")
HEADERS = [
    *("graph", "k", "seconds", "MiB", "MiB / CSR", "GPU, MiB", "cut", "feasible", "empty parts"),
]


def star(n: int) -> Graph:
    """Return a star: one vertex that is adjacent to the n - 1 others."""
    entries = np.ones(n - 1, np.int32), (np.zeros(n - 1, np.int32), np.arange(1, n))
    half = sp.coo_array(entries, shape=(n, n))
    return jetpy.as_graph((half + half.T).tocsr(), name=f"star-{n}")


def ring(n: int, reach: int) -> Graph:
    """Return a ring of n vertices, each adjacent to the `reach` nearest vertices on each side."""
    offsets = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)]).astype(np.int32)
    neighbours = np.arange(n, dtype=np.int32)[:, None] + offsets
    neighbours[:reach] %= n
    neighbours[n - reach :] %= n
    indptr = np.arange(n + 1, dtype=np.int64) * (2 * reach)
    indices = neighbours.ravel()
    if len(indices) <= INT32_MAX:
        indptr = indptr.astype(np.int32)
    ones = np.ones(len(indices), np.int32)
    return Graph(indptr, indices, ones, np.ones(n, np.int32), f"ring-{n}-{reach}")


KINDS: Mapping[str, tuple[int, Callable[..., Graph]]] = {
    "grid": (2, lambda side: jetpy.generators.grid(side, side)),
    "cube": (3, lambda side: jetpy.generators.cube(side, side, side)),
    "star": (1, star),
    "ring": (1, ring),
}
"""Dimension and generator of each kind of graph."""


def generated(text: str) -> Instance:
    """Return the graph that a text such as cube:100 or ring:1000:3 describes.

    Raises
    ------
    argparse.ArgumentTypeError
        If there is no such kind.
    """
    kind, *sizes = text.split(":")
    if kind not in KINDS:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(KINDS)}")
    dimension, make = KINDS[kind]
    numbers = list(map(int, sizes))
    return Instance(text, kind, "generated", numbers[0] ** dimension, partial(make, *numbers))


def chosen(options: argparse.Namespace) -> list[Instance]:
    """Return the graphs of `--graphs` and `--generated`; without both, those of the arguments."""
    if options.graphs or options.generated:
        return selected(options)
    return [generated(text) for text in options.graph]


def parts_of(n: int) -> list[int]:
    """Return 2, 16, the powers of ten from 100 to n / 10, n / 10 and n / 2."""
    powers = [10**i for i in range(2, 9) if 10**i < n // 10]
    return sorted({2, 16, *powers, n // 10, n // 2})


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each number of parts."""
    for k in options.ks or parts_of(instance.n):
        yield {"k": k, **{name: getattr(options, name) for name in FIELDS}}


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Yield the peak memory, the seconds and the result of each case."""
    for case in cases:
        how: dict[str, Any] = {name: case[name] for name in FIELDS}
        jetpy.partition(jetpy.generators.grid(64, 64), 2, **how)

        def first(k: int = case["k"], how: dict[str, Any] = how) -> tuple[Graph, jetpy.Partition]:
            graph = load_arrays(Path(folder))
            return graph, jetpy.partition(graph, k, **how)

        with lease(case["backend"], case["threads"]) as engine:
            on_gpu = engine.name in ON_GPU
        (graph, result), peaks = with_peaks(first, on_gpu=on_gpu)
        runs = [jetpy.partition(graph, case["k"], **how) for _ in range(settings["repeat"])]
        assert all(np.array_equal(run.parts, result.parts) for run in runs)
        weights = np.bincount(result.parts, graph.vertex_weights, case["k"]).astype(np.int64)
        assert result.cut == edge_cut(graph, result.parts)
        assert (result.part_weights == weights).all()
        yield {
            **peaks,
            "seconds": [round(run.seconds["total"], 6) for run in runs or [result]],
            "cut": result.cut,
            "feasible": result.feasible,
            "empty": result.empty_parts,
        }


def with_peaks(run: Callable[[], Any], *, on_gpu: bool) -> tuple[Any, Record]:
    """Return the result of a call, and the memory that it adds, in bytes.

    That is the peak of this process, and the growth of the memory pool of the GPU. What cannot be
    measured is None, with the reason on standard error.
    """
    used: int | None = None
    pool = gpu_pool_bytes() if on_gpu else 0
    try:
        used = process_bytes("VmRSS")
        reset_peak()
    except OSError as error:
        note(f"the memory of the process is not measured: {error}")
        used = None
    result = run()
    peak = None if used is None else process_bytes("VmHWM") - used
    return result, {"peak": peak, "gpu_peak": gpu_pool_bytes() - pool if on_gpu else None}


def row_of(record: Record) -> list[str]:
    """Return the cells of `HEADERS` of a record."""
    peak, gpu = record["peak"], record["gpu_peak"]
    csr = 4 * (record["n"] + 1) + 8 * 2 * record["m"]
    return [
        *(record["graph"], f"{record['k']:,}", f"{median(record['seconds']):.2f}"),
        *(_text(peak, 2**20, ",.0f"), _text(peak, csr, ".2f"), _text(gpu, 2**20, ",.0f")),
        *(f"{record['cut']:,}", "yes" if record["feasible"] else "NO", str(record["empty"])),
    ]


def _text(size: int | None, unit: int, form: str) -> str:
    return "-" if size is None else format(size / unit, form)


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the table of the records with the preset, threads and back end of the options."""
    setting = {name: getattr(options, name) for name in FIELDS}
    rows = [row_of(record) for record in records if setting.items() <= record.items()]
    show("Time and memory by the number of parts", HEADERS, rows, markdown=options.markdown)


EXPERIMENT = Experiment(
    name="parts",
    doc=__doc__,
    options={
        "graph": Option(
            ("grid:400", "grid:1000", "star:80000", "star:1000000"),
            "grid:SIDE, cube:SIDE, star:N or ring:N:NEIGHBOURS, unless folders give the graphs",
            is_positional=True,
            may_be_empty=True,
        ),
        "ks": Option((), "numbers of parts; by default from 2 to n / 2", type=int),
        "preset": "default",
        "threads": 1,
        "backend": "cpu",
        "repeat": Option(0, "runs after the first, which also loads the graph"),
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("graph", "k", *FIELDS),
    select=chosen,
)

if __name__ == "__main__":
    EXPERIMENT.main()
