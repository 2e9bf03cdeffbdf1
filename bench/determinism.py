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

from bench.child import answers, failures_noted
from bench.fingerprint import WEIGHTS, cases
from bench.instances import Instance, add_options, selected
from bench.tables import add_markdown_option, note, show
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
                for answer in answers(
                    "bench.fingerprint",
                    *(folder, backend, threads or 1, options.seed),
                    *("--graphs", *(instance.name for instance in instances)),
                    *("--weights", *options.weights, "--presets", *options.presets),
                    *("--ks", *options.ks),
                    *("--modifiers", *options.modifiers, "--batches", options.batches),
                    *("--hierarchies", *options.hierarchies, "--methods", *options.methods),
                    *("--orderings", *options.orderings, "--separators", *options.separators),
                    threads=int(threads or 1),
                ):
                    graph, weights, parameter, setting = answer["case"]
                    found[graph, weights, parameter, setting] = answer["hash"]
            if not outcome.unavailable:
                yield run, found


def main() -> None:
    """Print a table of hashes. Exit with status 1 if hashes differ or are missing."""
    parser = argparse.ArgumentParser(prog="python -m bench.determinism", description=__doc__)
    add_options(parser)
    parser.add_argument("--ks", nargs="*", default=["2", "8", "64"])
    parser.add_argument("--presets", nargs="*", default=["default"])
    parser.add_argument(
        "--modifiers",
        nargs="*",
        default=[],
        metavar="B",
        help="sizes of batches of modifiers, for changing graphs",
    )
    parser.add_argument(
        "--batches", type=int, default=10, metavar="N", help="number of batches of modifiers"
    )
    parser.add_argument(
        "--hierarchies", nargs="*", default=[], help="machines to map onto, for example 4:8:6"
    )
    parser.add_argument("--methods", nargs="+", default=["im", "hm"], help="mapping methods")
    for name, function in (("orderings", "nested_dissection"), ("separators", "vertex_separator")):
        text = f"presets of jetpy.{function}"
        parser.add_argument(
            f"--{name}", nargs="*", choices=get_args(OrderingPreset), default=[], help=text
        )
    parser.add_argument("--weights", nargs="+", choices=WEIGHTS, default=["unit"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--runs",
        nargs="+",
        default=RUNS,
        metavar="BACKEND[:THREADS]",
        help="one process each; the same run given twice compares two equal processes",
    )
    add_markdown_option(parser)
    options = parser.parse_args()
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
