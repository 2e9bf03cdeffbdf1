"""Times compared with pymetis, times of stages, and peak memory."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter

import numpy as np
import pymetis

import jetpy
from bench.harness import SEEDS, Option, among, parser
from bench.instances import KS, Instance, selected
from bench.peak import peak
from bench.tables import note, show
from jetpy.multilevel.outcome import STAGES
from jetpy.study.arrays import save_arrays

COLUMNS = ("total", *STAGES)
OPTIONS = {
    "what": among(("speed", "stages", "memory"), ["speed", "memory"]),
    "ks": Option((), f"by default {KS}, without 256", type=int),
    "seeds": SEEDS,
    "preset": "default",
    "threads": 2,
    "backend": "auto",
}


def speed_rows(instances: list[Instance], options: argparse.Namespace) -> list[list[str]]:
    """Return a row per case with the seconds of jetpy and pymetis, and a row of mean ratios.

    pymetis runs twice: with jetpy's 32-bit arrays, which it converts to METIS's 64-bit integers,
    and with arrays that are converted before the clock starts.
    """
    rows: list[list[str]] = []
    ratios: list[tuple[float, float]] = []
    for instance in instances:
        graph = instance.load()
        narrow = pymetis.CSRAdjacency(graph.indptr, graph.indices)
        wide = pymetis.CSRAdjacency(graph.indptr.astype(np.int64), graph.indices.astype(np.int64))
        for k in _ks(instance, options):
            _jetpy_seconds(graph, k, 0, options)  # warm-up
            runs = [
                (
                    _jetpy_seconds(graph, k, seed, options)["total"],
                    _metis_seconds(narrow, k, seed),
                    _metis_seconds(wide, k, seed),
                )
                for seed in options.seeds
            ]
            ours, with_32_bit, with_64_bit = (
                median(seconds) for seconds in zip(*runs, strict=True)
            )
            ratios.append((ours / with_32_bit, ours / with_64_bit))
            figures = (ours, with_32_bit, with_64_bit, *ratios[-1])
            rows.append([instance.name, str(k), *(f"{figure:.3f}" for figure in figures)])
            note(f"speed {' '.join(rows[-1])}")
    means = [f"{geometric_mean(column):.3f}" for column in zip(*ratios, strict=True)]
    return [*rows, ["geometric mean", "", "", "", "", *means]]


def stage_rows(instances: list[Instance], options: argparse.Namespace) -> list[list[str]]:
    """Return a row per case with the milliseconds of jetpy's stages, medians over the seeds."""
    rows = []
    for instance in instances:
        graph = instance.load()
        for k in _ks(instance, options):
            _jetpy_seconds(graph, k, 0, options)  # warm-up
            runs = [_jetpy_seconds(graph, k, seed, options) for seed in options.seeds]
            medians = (1000 * median(seconds[stage] for seconds in runs) for stage in COLUMNS)
            rows.append([instance.name, str(k), *(f"{value:.2f}" for value in medians)])
            note(f"stages {' '.join(rows[-1])}")
    return rows


def memory_rows(instances: list[Instance], options: argparse.Namespace) -> list[list[str]]:
    """Return a row per case: peak memory, graph included, and its ratio to the CSR arrays."""
    rows, ratios = [], []
    for instance in instances:
        with tempfile.TemporaryDirectory() as folder:
            graph = instance.load()
            save_arrays(Path(folder), graph)
            csr = 4 * (graph.n + 1) + 8 * 2 * graph.m
            del graph
            for k in _ks(instance, options):
                run = peak(folder, k, options.preset, options.threads, options.backend)
                used = 1024 * (run["peak"] - run["before"])
                ratios.append(used / csr)
                rows.append(
                    [instance.name, str(k)]
                    + [f"{size / 1e6:.1f}" for size in (csr, 1024 * run["before"], used)]
                    + [f"{used / csr:.2f}"]
                )
                note(f"memory {' '.join(rows[-1])}")
    return [*rows, ["largest", "", "", "", "", f"{max(ratios):.2f}"]]


def _ks(instance: Instance, options: argparse.Namespace) -> list[int]:
    return options.ks or [k for k in KS[instance.kind] if k != 256]


def _jetpy_seconds(
    graph: jetpy.Graph, k: int, seed: int, options: argparse.Namespace
) -> Mapping[str, float]:
    result = jetpy.partition(
        graph,
        k,
        seed=seed,
        preset=options.preset,
        threads=options.threads,
        backend=options.backend,
    )
    return result.seconds


def _metis_seconds(adjacency: pymetis.CSRAdjacency, k: int, seed: int) -> float:
    settings = pymetis.Options(ufactor=30, seed=seed)
    begin = perf_counter()
    pymetis.part_graph(k, adjacency, options=settings, recursive=False)
    return perf_counter() - begin


def main() -> None:
    """Print the tables that the options select."""
    options = parser("timing", __doc__, OPTIONS, graphs=True, min_n=250_000).parse_args()
    instances = selected(options)
    if not instances:
        raise SystemExit(f"no graph has at least {options.min_n:,} vertices (--min-n)")
    if "speed" in options.what:
        show(
            f"seconds, preset {options.preset}, {options.threads} threads; METIS k-way, 1 thread",
            ["graph", "k", "jetpy", "pymetis", "pymetis 64-bit", "ratio", "ratio 64-bit"],
            speed_rows(instances, options),
            markdown=options.markdown,
        )
    if "stages" in options.what:
        show(
            f"milliseconds of stages, preset {options.preset}, {options.threads} threads",
            ["graph", "k", *COLUMNS],
            stage_rows(instances, options),
            markdown=options.markdown,
        )
    if "memory" in options.what:
        show(
            f"peak memory above the idle process, graph included, preset {options.preset}",
            ["graph", "k", "CSR MB", "idle MB", "peak MB", "peak / CSR"],
            memory_rows(instances, options),
            markdown=options.markdown,
        )


if __name__ == "__main__":
    main()
