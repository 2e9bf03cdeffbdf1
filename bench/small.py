"""Times and cuts of jetpy and METIS on small graphs, by turns in one process on one thread.

The program skips cases that the result file already contains. Without --graphs and --generated, it
only prints the tables.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import numpy.typing as npt
import pymetis

import jetpy
from bench.instances import Instance, add_options, present
from bench.records import add_results_option, append_record, read_records
from bench.small_cases import GENERATED, HALVES, KS, classes_of
from bench.small_tables import METIS, comparisons, draw_front, summarise
from bench.tables import add_markdown_option, note
from bench.tools import TOOLS
from jetpy.device.backends import BACKENDS, check_backend
from jetpy.study.tools import IMBALANCE, PACKAGES, Job

FILE = "small.jsonl"
PERCENT = round(100 * IMBALANCE)
ALSO = ("kaminpar", "mtkahypar")

Arrays = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""indptr and indices."""
Answer = tuple[npt.ArrayLike, int | None]
"""The part of each vertex, and the cut if the tool returns it."""
Solve = Callable[[int, int], Answer]
"""Called as `solve(k, seed)`."""


def prepare_metis(arrays: Arrays) -> Solve:
    """Prepare METIS. It gets the same arrays and seeds as jetpy, and the same imbalance."""
    adjacency = pymetis.CSRAdjacency(*arrays)

    def solve(k: int, seed: int) -> Answer:
        options = pymetis.Options(ufactor=10 * PERCENT, seed=seed)
        found = pymetis.part_graph(k, adjacency, options=options)
        return found.vertex_part, found.edge_cuts

    return solve


def prepare_jetpy(arrays: Arrays, backend: Any, preset: Any) -> Solve:
    """Prepare jetpy with a preset on one thread."""

    def solve(k: int, seed: int) -> Answer:
        found = jetpy.partition(
            arrays, k, imbalance=IMBALANCE, seed=seed, preset=preset, backend=backend, threads=1
        )
        return found.parts, found.cut

    return solve


def prepare_other(graph: jetpy.Graph, folder: Path, tool: str) -> Solve:
    """Prepare another partitioner of `bench.tools` on one thread."""
    run = TOOLS[tool].prepare(Job(graph, folder, "default", threads=1))
    return lambda k, seed: (run(k, seed)[0], None)


def preparations(
    graph: jetpy.Graph, arrays: Arrays, folder: Path, options: argparse.Namespace
) -> dict[str, Callable[[], Solve]]:
    """Return the function that prepares each tool of the options for a graph, METIS first."""
    return {
        METIS: partial(prepare_metis, arrays),
        **{
            f"jetpy/{options.backend}/{preset}": partial(
                prepare_jetpy, arrays, options.backend, preset
            )
            for preset in options.presets
        },
        **{tool: partial(prepare_other, graph, folder, tool) for tool in options.also},
    }


def recount(arrays: Arrays, parts: npt.ArrayLike, k: int) -> tuple[int, bool]:
    """Return the cut of the k parts, and whether a part has more vertices than the limit.

    Vertices and edges weigh 1. The limit is floor(1.03 ceil(n / k)).
    """
    indptr, indices = arrays
    labels, n = np.asarray(parts), len(indptr) - 1
    sources = np.repeat(np.arange(n), np.diff(indptr))
    sizes = np.bincount(labels, minlength=k)
    if len(labels) != n or len(sizes) != k:
        raise SystemExit(f"{len(labels)} labels from 0 to {len(sizes) - 1} are not {k} parts")
    limit = -(-n // k) * (100 + PERCENT) // 100
    return int(np.count_nonzero(labels[sources] != labels[indices])) // 2, bool(sizes.max() > limit)


def measure(
    arrays: Arrays, tools: Mapping[str, Solve], k: int, seeds: int
) -> dict[str, dict[str, float]]:
    """Run all tools once to warm up, then by turns with each seed.

    Returns
    -------
    dict
        For each tool the median processor and wall seconds, the mean cut, and the number of results
        above the limit.

    Raises
    ------
    SystemExit
        If a tool returns another cut than that of its parts.
    """
    for solve in tools.values():
        solve(k, seeds)
    runs: dict[str, list[tuple[float, float, int, bool]]] = {tool: [] for tool in tools}
    for seed in range(seeds):
        for tool, solve in tools.items():
            wall, cpu = time.perf_counter(), time.thread_time()
            parts, reported = solve(k, seed)
            cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
            cut, is_above = recount(arrays, parts, k)
            if reported not in (None, cut):
                raise SystemExit(f"{tool} returns a cut of {reported}, but its parts cut {cut}")
            runs[tool].append((cpu, wall, cut, is_above))
    found = {}
    for tool, own in runs.items():
        cpus, walls, cuts, above = zip(*own, strict=True)
        found[tool] = {
            "cpu_seconds": round(median(cpus), 7),
            "seconds": round(median(walls), 7),
            "cut": round(fmean(cuts), 4),
            "above_limit": sum(above),
        }
    return found


def importable(tools: Sequence[str]) -> Iterator[str]:
    """Yield the tools that are installed, and name the others."""
    for tool in tools:
        try:
            import_module(PACKAGES[tool])
        except ImportError as error:
            note(f"{tool} is left out: {error}")
        else:
            yield tool


def chosen(options: argparse.Namespace, half: str) -> list[Instance]:
    """Return the graphs of a half that the options select, and name those that are missing."""
    names = [name for name in classes_of(half) if not options.only or name in options.only]
    return present(options, names, {"generated": GENERATED[half]})


def run(options: argparse.Namespace) -> None:
    """Measure the missing tools of each case, and METIS with them; append each record at once."""
    path = options.results / FILE
    done = {
        (record["graph"], record["k"], record["seeds"], tool)
        for record in read_records(path)
        for tool in record["tools"]
    }
    for half in options.halves:
        classes = classes_of(half)
        for instance in chosen(options, half):
            graph = instance.load()
            arrays = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
            about = {"graph": instance.name, "half": half, "class": classes[instance.name]}
            with tempfile.TemporaryDirectory() as folder:
                todo = preparations(graph, arrays, Path(folder), options)
                for k in options.ks:
                    case = instance.name, k, options.seeds
                    names = [tool for tool in todo if (*case, tool) not in done]
                    if not names:
                        continue
                    note(f"{instance.name} k={k} {' '.join(names)}")
                    tools = {tool: todo[tool]() for tool in dict.fromkeys((METIS, *names))}
                    sizes = {"n": graph.n, "m": graph.m, "k": k, "seeds": options.seeds}
                    found = measure(arrays, tools, k, options.seeds)
                    append_record(path, {**about, **sizes, "tools": found})


def main() -> None:
    """Measure the missing cases, then print the tables of all results and draw the figure."""
    parser = argparse.ArgumentParser(prog="python -m bench.small", description=__doc__)
    add_options(parser)
    parser.add_argument(
        "--halves",
        nargs="+",
        choices=HALVES,
        default=list(HALVES),
        help="A: options may be chosen on these graphs; B: report these",
    )
    parser.add_argument("--ks", nargs="+", type=int, choices=KS, default=KS, help="parts")
    parser.add_argument("--presets", nargs="+", default=["fast", "default"], help="jetpy's presets")
    parser.add_argument("--backend", choices=BACKENDS, default="cpu", help="jetpy's back end")
    parser.add_argument("--seeds", type=int, default=15, help="number of runs with other seeds")
    parser.add_argument(
        "--also", nargs="+", choices=ALSO, default=[], help="also measure these partitioners"
    )
    parser.add_argument("--figure", type=Path, metavar="FILE", help="figure of time and cut")
    add_results_option(parser)
    add_markdown_option(parser)
    options = parser.parse_args()
    known = {name for half in options.halves for name in classes_of(half)}
    if unknown := set(options.only or ()) - known:
        parser.error(f"the halves have no graph {', '.join(sorted(unknown))}")
    if options.graphs or options.generated:
        check_backend(options.backend, 1)
        options.also = list(importable(options.also))
        run(options)
    records = read_records(options.results / FILE)
    if not records:
        raise SystemExit(f"no results in {options.results}")
    found = comparisons(records)
    summarise(found, options.markdown)
    if options.figure and not draw_front(found, options.figure):
        note("no figure: no case was solved by all tools")


if __name__ == "__main__":
    main()
