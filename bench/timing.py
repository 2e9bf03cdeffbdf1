"""Times compared with pymetis, times of stages, peak memory, and times of processes."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from types import MappingProxyType

import numpy as np
import pymetis

import jetpy
from bench import start
from bench.child import run_module
from bench.instances import KS, Instance, add_options, selected
from bench.tables import add_markdown_option, note, show
from jetpy.multilevel.outcome import STAGES
from jetpy.study.arrays import save_arrays

WHAT = ("speed", "stages", "memory", "start")
COLUMNS = ("total", *STAGES)
TINY = "import jetpy; jetpy.partition(jetpy.generators.grid(64, 64), 2, threads={}, backend={!r})"


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
                run = run_module(
                    "bench.peak", folder, k, options.preset, options.threads, options.backend
                )
                used = 1024 * (run["peak"] - run["before"])
                ratios.append(used / csr)
                rows.append(
                    [instance.name, str(k)]
                    + [f"{size / 1e6:.1f}" for size in (csr, 1024 * run["before"], used)]
                    + [f"{used / csr:.2f}"]
                )
                note(f"memory {' '.join(rows[-1])}")
    return [*rows, ["largest", "", "", "", "", f"{max(ratios):.2f}"]]


def start_rows(options: argparse.Namespace) -> list[list[str]]:
    """Return rows with the wall seconds of processes that partition a tiny graph."""
    code = TINY.format(options.threads, options.backend)
    rows = []
    if options.cold:
        with tempfile.TemporaryDirectory() as cache:
            first, second = (_process_seconds(code, {"JETPY_CACHE_DIR": cache}) for _ in range(2))
        rows += [["first, empty cache", f"{first:.2f}"], ["second, same cache", f"{second:.2f}"]]
    _process_seconds(code)
    warm = median(_process_seconds(code) for _ in range(3))
    rows.append(["kernels cached, median of 3", f"{warm:.2f}"])
    base = median(_process_seconds(start.BASE) for _ in range(3))
    return [*rows, [f"only {start.BASE}, median of 3", f"{base:.2f}"]]


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


def _process_seconds(code: str, environment: Mapping[str, str] = MappingProxyType({})) -> float:
    return start.measure(["-c", code], environment).wall


def main() -> None:
    """Print the tables that the options select."""
    parser = argparse.ArgumentParser(prog="python -m bench.timing", description=__doc__)
    add_options(parser, min_n=250_000)
    parser.add_argument("--what", nargs="+", choices=WHAT, default=["speed", "memory"])
    parser.add_argument("--ks", nargs="+", type=int, help=f"by default {KS}, without 256")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--preset", default="default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--backend", default="auto")
    parser.add_argument(
        "--cold", action="store_true", help="with --what start, also use an empty cache of kernels"
    )
    add_markdown_option(parser)
    options = parser.parse_args()
    if "start" in options.what:
        show(
            "process that partitions a tiny graph",
            ["process", "wall s"],
            start_rows(options),
            markdown=options.markdown,
        )
    if options.what == ["start"]:
        return
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
