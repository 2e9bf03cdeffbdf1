"""Check that results are equal on every back end, with any number of threads, in every process.

The program compares hashes of partitions, of partitions of changing graphs, of mappings, of
orderings and of vertex separators.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import get_args

from bench import fingerprint, harness
from bench.child import apart, failures_noted
from bench.fingerprint import WEIGHTS, cases
from bench.harness import Option, among
from bench.instances import Instance, selected
from bench.tables import note, show
from jetpy.choices import OrderingPreset
from jetpy.study.arrays import save_arrays

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
Case = tuple[str, str, str, str]
"""Graph, weights, and a case of `bench.fingerprint`."""


def hashes(
    instances: Sequence[Instance], options: argparse.Namespace
) -> Iterator[tuple[str, dict[Case, str]]]:
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
            found: dict[Case, str] = {}
            with failures_noted(backend, run) as outcome:
                count = int(threads or 1)
                arguments = folder, backend, count, vars(options)
                for answer in apart(fingerprint.hashes, *arguments, threads=count):
                    graph, weights, parameter, setting = answer["case"]
                    found[graph, weights, parameter, setting] = answer["hash"]
            if not outcome.unavailable:
                yield run, found


def main() -> None:
    """Print a table of hashes. Exit with status 1 if hashes differ or are missing."""
    options = harness.parser("determinism", __doc__, OPTIONS, graphs=True).parse_args()
    instances = selected(options)
    runs = list(hashes(instances, options))
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
