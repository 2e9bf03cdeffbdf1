"""Whether partitions are equal for any number of threads and in every process."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import jetpy
from bench.child import run_module
from bench.instances import Instance, add_options, chosen
from bench.tables import note, show
from jetpy.cli.tables import count


def hashes_of(instance: Instance, options: argparse.Namespace) -> list[dict[str, str]]:
    """Hashes by k and preset, one dictionary per process."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.npz"
        jetpy.write_graph(path, instance.load())
        for threads in options.threads:
            note(f"{instance.name}: {count(threads, 'thread')}")
            runs.append(
                run_module(
                    "bench.fingerprint",
                    *(path, threads, options.seed, options.backend),
                    *("--ks", *options.ks, "--presets", *options.presets),
                    threads=threads,
                )
            )
    return runs


def main() -> None:
    """Print a table of hashes; ends with status 1 when two that should be equal differ."""
    parser = argparse.ArgumentParser(prog="python -m bench.determinism", description=__doc__)
    add_options(parser)
    parser.add_argument("--ks", nargs="+", type=int, default=[2, 8, 64])
    parser.add_argument("--presets", nargs="+", default=["default"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--threads",
        nargs="+",
        type=int,
        default=[1, 2, 2, 3],
        help="of each process; a number given twice compares two equal processes",
    )
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args()
    rows, differing = [], 0
    for instance in chosen(options):
        runs = hashes_of(instance, options)
        for case in runs[0]:
            hashes = [run[case] for run in runs]
            equal = len(set(hashes)) == 1
            differing += not equal
            rows.append([instance.name, *case.split(), *hashes, "yes" if equal else "NO"])
    headers = ["graph", "k", "preset", *(count(t, "thread") for t in options.threads), "equal"]
    show("SHA-256 of the parts", headers, rows, left=len(headers), markdown=options.markdown)
    raise SystemExit(f"{differing} of {len(rows)} cases differ" if differing else 0)


if __name__ == "__main__":
    main()
