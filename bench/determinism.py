"""Whether partitions are equal on every back end, for any number of threads, in every process.

That is also partitions that follow a changing graph, and mappings.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from subprocess import CalledProcessError

from bench.child import Absent, answers
from bench.fingerprint import WEIGHTS, cases
from bench.instances import Instance, add_options, chosen
from bench.tables import note, show
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
"""Graph, weights, and what `bench.fingerprint` solves."""


def hashes(
    instances: Sequence[Instance], options: argparse.Namespace
) -> Iterator[tuple[str, dict[Case, str]]]:
    """Each run, in a process of its own, with its hashes: those until it failed, if it did.

    Runs of absent back ends are left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        for instance in instances:
            save_arrays(Path(folder) / instance.name, instance.load())
        for run in options.runs:
            note(run)
            backend, _, threads = run.partition(":")
            found: dict[Case, str] = {}
            try:
                for answer in answers(
                    "bench.fingerprint",
                    *(folder, backend, threads or 1, options.seed),
                    *("--graphs", *(instance.name for instance in instances)),
                    *("--weights", *options.weights, "--presets", *options.presets),
                    *("--ks", *options.ks),
                    *("--modifiers", *options.modifiers, "--batches", options.batches),
                    *("--hierarchies", *options.hierarchies, "--methods", *options.methods),
                    threads=int(threads or 1),
                ):
                    name, weights, what, how = answer["case"]
                    found[name, weights, what, how] = answer["hash"]
            except Absent as reason:
                note(f"  left out: {reason}")
                continue
            except CalledProcessError as error:
                note(f"  failed, status {error.returncode}")
            yield run, found


def main() -> None:
    """Print a table of hashes; ends with status 1 when two that should be equal differ."""
    parser = argparse.ArgumentParser(prog="python -m bench.determinism", description=__doc__)
    add_options(parser)
    parser.add_argument("--ks", nargs="*", default=["2", "8", "64"])
    parser.add_argument("--presets", nargs="*", default=["default"])
    parser.add_argument(
        "--modifiers", nargs="*", default=[], metavar="B", help="in a batch, of graphs that change"
    )
    parser.add_argument("--batches", type=int, default=10, metavar="N", help="of modifiers")
    parser.add_argument("--hierarchies", nargs="*", default=[], help="to map onto, as 4:8:6")
    parser.add_argument("--methods", nargs="+", default=["im", "hm"], help="of mapping")
    parser.add_argument("--weights", nargs="+", choices=WEIGHTS, default=["unit"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--runs",
        nargs="+",
        default=RUNS,
        metavar="BACKEND[:THREADS]",
        help="one process each; a run given twice compares two equal processes",
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args()
    instances = chosen(options)
    runs = list(hashes(instances, options))
    if len(runs) < 2:
        raise SystemExit("there is nothing to compare: two runs are needed")
    names = [instance.name for instance in instances]
    rows, equal = [], 0
    for graph, weights, (what, how) in product(names, options.weights, cases(options)):
        case = graph, weights, what, how
        first, *others = (found.get(case, "missing") for _, found in runs)
        differing = [
            run for (run, _), value in zip(runs[1:], others, strict=True) if value != first
        ]
        equal += not differing and first != "missing"
        rows.append([*case, first, ", ".join(differing) or "none"])
    headers = [
        "graph",
        "weights",
        "k",
        "preset, batch or method",
        f"parts, {runs[0][0]}",
        "runs that differ",
    ]
    show("SHA-256 of the parts", headers, rows, left=len(headers), markdown=options.markdown)
    print(
        f"\n{equal} of {len(rows)} cases equal in {len(runs)} runs: {', '.join(r for r, _ in runs)}"
    )
    raise SystemExit(equal < len(rows))


if __name__ == "__main__":
    main()
