"""Check that results are equal on every back end, with any number of threads, in every process.

The program compares hashes of partitions, of partitions of changing graphs, of mappings, of
orderings and of vertex separators.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np

import jetpy
from bench.alterations import CONDITIONS
from bench.child import apart, failures_noted
from bench.harness import Option, among, parser
from bench.instances import Instance, selected
from bench.tables import note, show
from jetpy.choices import OrderingPreset
from jetpy.device.backends import get_backend
from jetpy.study.arrays import checksum_of_parts, load_arrays, save_arrays
from jetpy.study.modifiers import random_batch

RUNS = (
    "cpu:1",
    "cpu:2",
    "cpu:2",
    "cpu:3",
    "kokkos-serial",
    "kokkos-openmp:1",
    "kokkos-openmp:2",
    "kokkos-cuda",
    "cuda",
)
ON_BACK_END = jetpy.IncrementalOptions(tries=1, on_host=False)
"""Run the kernels of the bucket list on the back end instead of the host."""

Parts = np.ndarray[tuple[int, ...], np.dtype[np.int32]]
Engine = dict[str, Any]
"""Keyword arguments backend, threads and seed."""


def digest(parts: Parts) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of parts, labels or an ordering."""
    return checksum_of_parts(parts)[:12]


WEIGHTS = {"unit": CONDITIONS["plain"], "random": CONDITIONS["both"]}
"""Conditions that assign the weights; unit keeps the weights of the graph."""


def partition(k: int, preset: str, graph: jetpy.Graph, engine: Engine) -> Parts:
    """Return the parts of a graph."""
    return jetpy.partition(graph, k, preset=preset, **engine).parts


def mapping(hierarchy: str, method: str, graph: jetpy.Graph, engine: Engine) -> Parts:
    """Return the PE of each vertex."""
    distances = [10**level for level in range(len(hierarchy.split(":")))]
    return jetpy.map_processes(graph, hierarchy, distances, method=method, **engine).pe


def updates(k: int, modifiers: int, batches: int, graph: jetpy.Graph, engine: Engine) -> Parts:
    """Return the parts and the cut after each batch of modifiers, concatenated."""
    rng, found = np.random.default_rng(0), []
    live = jetpy.IncrementalPartitioner(graph, k, options=ON_BACK_END, **engine)
    for batch in range(batches):
        near, ids = batch % 2 == 1, live.vertices
        live.update(random_batch(rng, live.graph, ids, len(live.partition), modifiers, near))
        found += [live.partition, np.array([live.cut], np.int32)]
    return np.concatenate(found)


def ordering(preset: OrderingPreset, graph: jetpy.Graph, engine: Engine) -> Parts:
    """Return the permutation, and the parents and starts of the separator tree, concatenated."""
    found = jetpy.nested_dissection(graph, preset=preset, **engine)
    assert found.tree is not None
    return np.concatenate([found.perm, found.tree.parents, found.tree.starts])


def separator(preset: OrderingPreset, graph: jetpy.Graph, engine: Engine) -> Parts:
    """Return the labels of the vertices."""
    return jetpy.vertex_separator(graph, preset=preset, **engine).labels


Row = tuple[str, str, str, str]
"""Graph, weights and case."""
Case = tuple[str, str]
"""Number of parts, hierarchy, ``ordering`` or ``separator``; preset, batch size or method."""


def cases(
    options: argparse.Namespace, weights: str
) -> dict[Case, Callable[[jetpy.Graph, Engine], Parts]]:
    """Return the function that solves each case of a graph with these weights.

    Orderings do not depend on weights, so only the first weights have them.
    """
    orderings = options.orderings if weights == options.weights[0] else []
    return {
        **{
            (k, preset): partial(partition, int(k), preset)
            for k, preset in product(options.ks, options.presets)
        },
        **{
            (k, f"{b} modifiers"): partial(updates, int(k), int(b), options.batches)
            for k, b in product(options.ks, options.modifiers)
        },
        **{
            (hierarchy, method): partial(mapping, hierarchy, method)
            for hierarchy, method in product(options.hierarchies, options.methods)
        },
        **{("ordering", preset): partial(ordering, preset) for preset in orderings},
        **{("separator", preset): partial(separator, preset) for preset in options.separators},
    }


def hashes(folder: str, backend: str, threads: int, settings: Engine) -> Iterator[Engine]:
    """Yield one hash for each graph of a folder, weights and case."""
    get_backend(backend, threads)
    options = argparse.Namespace(**settings)
    engine = {"seed": options.seed, "threads": threads, "backend": backend}
    for path in sorted(Path(folder).iterdir()):
        loaded = load_arrays(path)
        for weights in options.weights:
            graph = WEIGHTS[weights].apply(loaded, path.name)
            for case, solve in cases(options, weights).items():
                yield {"case": (path.name, weights, *case), "hash": digest(solve(graph, engine))}


OPTIONS = {
    "ks": Option(("2", "8", "64"), may_be_empty=True),
    "presets": Option(("default",), may_be_empty=True),
    "modifiers": Option((), "sizes of batches of modifiers, for changing graphs", metavar="B"),
    "batches": Option(10, "number of batches of modifiers", metavar="N"),
    "hierarchies": Option((), "machines to map onto, for example 4:8:6"),
    "methods": Option(("im", "hm"), "mapping methods"),
    **{
        f"{name}s": Option((), f"presets of jetpy.{function}", get_args(OrderingPreset))
        for name, function in (("ordering", "nested_dissection"), ("separator", "vertex_separator"))
    },
    "weights": among(WEIGHTS, ["unit"]),
    "seed": 0,
    "runs": Option(
        RUNS,
        "one process each; the same run given twice compares two equal processes",
        metavar="BACKEND[:THREADS]",
    ),
}


def all_hashes(
    instances: Sequence[Instance], options: argparse.Namespace
) -> Iterator[tuple[str, dict[Row, str]]]:
    """Yield each run with its hashes. Each run is a new process.

    If a run fails, yield the hashes that it returned before. Runs on back ends that are not
    available are left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        for instance in instances:
            save_arrays(Path(folder) / instance.name, instance.load())
        for run in options.runs:
            note(run)
            backend, _, threads = run.partition(":")
            found: dict[Row, str] = {}
            with failures_noted(backend, run) as outcome:
                count = int(threads or 1)
                arguments = folder, backend, count, vars(options)
                for answer in apart(hashes, *arguments, threads=count):
                    graph, weights, parameter, setting = answer["case"]
                    found[graph, weights, parameter, setting] = answer["hash"]
            if not outcome.unavailable:
                yield run, found


def main() -> None:
    """Print a table of hashes. Exit with status 1 if hashes differ or are missing."""
    options = parser("determinism", __doc__, OPTIONS, graphs=True).parse_args()
    instances = selected(options)
    runs = list(all_hashes(instances, options))
    if len(runs) < 2:
        raise SystemExit(f"{len(runs)} runs are available; a comparison needs at least two")
    names = [instance.name for instance in instances]
    rows, equal = [], 0
    for case in (
        (graph, weights, *case)
        for graph, weights in product(names, options.weights)
        for case in cases(options, weights)
    ):
        first, *others = (found.get(case, "missing") for _, found in runs)
        differing = [
            run for (run, _), value in zip(runs[1:], others, strict=True) if value != first
        ]
        equal += not differing and first != "missing"
        rows.append([*case, first, ", ".join(differing) or "none"])
    headers = [
        "graph",
        "weights",
        "k, hierarchy or task",
        "preset, batch or method",
        f"hash, {runs[0][0]}",
        "runs that differ",
    ]
    show("SHA-256 of the results", headers, rows, left=len(headers), markdown=options.markdown)
    print(
        f"\n{equal} of {len(rows)} cases equal in {len(runs)} runs: "
        f"{', '.join(run for run, _ in runs)}"
    )
    raise SystemExit(equal < len(rows))


if __name__ == "__main__":
    main()
