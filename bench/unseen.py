"""Makes the graphs of unseen.csv, on which nothing was tuned: NAME.npz each, and a MANIFEST.csv.

They come from clones of public repositories, or from jetpy's generators. Graphs that the folder
has already are only checked. What is missing or differs is told, and the status is 1.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import lzma
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.formats import READERS, simple_graph
from bench.tables import note
from jetpy import Graph, generators, read_graph, write_graph

LIST = Path(__file__).with_suffix(".csv")
GENERATOR = "generator"
DECOMPRESS = {".gz": gzip.decompress, ".xz": lzma.decompress}


class Missing(Exception):
    """A repository, or a file in it, is not there; the message says which."""


@dataclass(frozen=True)
class Entry:
    """A graph of the list.

    `path` is that of a file in the repository `source` at `commit`, in a format that
    `bench.formats` knows. Of generated graphs, whose source is "generator", it has the arguments
    of the function that `format` names in `jetpy.generators`. `sha256` is the `checksum`.
    """

    name: str
    cls: str
    n: int
    m: int
    source: str
    commit: str
    path: str
    format: str
    sha256: str


def read_list(path: Path = LIST) -> list[Entry]:
    """Return the graphs of a list."""
    with open(path, newline="", encoding="utf-8") as stream:
        return [
            Entry(row.pop("name"), row.pop("class"), int(row.pop("n")), int(row.pop("m")), **row)
            for row in csv.DictReader(stream)
        ]


def checksum(graph: Graph) -> str:
    """SHA-256 of indptr and indices, one after the other, as little-endian 32-bit integers."""
    arrays = (graph.indptr, graph.indices)
    return hashlib.sha256(b"".join(a.astype("<i4").tobytes() for a in arrays)).hexdigest()


def make(entry: Entry, clones: Path) -> Graph:
    """Generate a graph, or read it from a clone.

    Raises
    ------
    Missing
        When there is no such clone, or no such file in it.
    """
    if entry.source == GENERATOR:
        arguments = dict(argument.split("=") for argument in entry.path.split())
        numbers = {
            name: float(value) if "." in value else int(value) for name, value in arguments.items()
        }
        return generators.GENERATORS[entry.format](**numbers)
    data = contents(clones / entry.source.replace("/", "+"), entry.commit, entry.path)
    return simple_graph(READERS[entry.format](data), entry.name)


def contents(clone: Path, commit: str, path: str) -> bytes:
    """Contents of a file in a bare or ordinary clone, decompressed.

    Raises
    ------
    Missing
        When there is no such clone, or no such file in it.
    """
    if not clone.exists():
        raise Missing(f"no clone {clone}")
    found = subprocess.run(
        ["git", "-C", str(clone), "show", f"{commit}:{path}"], capture_output=True, check=False
    )
    if found.returncode:
        raise Missing(found.stderr.decode(errors="replace").strip())
    return DECOMPRESS.get(Path(path).suffix, bytes)(found.stdout)


def difference(entry: Entry, graph: Graph) -> str:
    """Return what a graph has otherwise than the list says; empty if nothing."""
    found = (graph.n, graph.m, checksum(graph))
    if found == (entry.n, entry.m, entry.sha256):
        return ""
    return "n={}, m={}, sha256 {}".format(*found) + f" instead of n={entry.n}, m={entry.m}"


def made(entries: list[Entry], clones: Path, folder: Path) -> Iterator[Entry]:
    """Write the graphs that a folder lacks, and yield those that are as they should be."""
    for entry in entries:
        file = folder / f"{entry.name}.npz"
        try:
            graph = read_graph(file) if file.exists() else make(entry, clones)
        except Missing as reason:
            note(f"{entry.name}: {reason}")
            continue
        wrong = difference(entry, graph)
        if wrong:
            note(f"{entry.name}: {wrong}")
            continue
        if not file.exists():
            write_graph(file, graph)
        yield entry


def main() -> None:
    """Make the graphs and the list of those that are there."""
    parser = argparse.ArgumentParser(prog="python -m bench.unseen", description=__doc__)
    parser.add_argument(
        "--clones", type=Path, required=True, metavar="DIR", help="folders OWNER+NAME"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--list", type=Path, default=LIST, help="by default that beside this file")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    entries = read_list(options.list)
    there = list(made(entries, options.clones, options.output))
    with open(options.output / "MANIFEST.csv", "w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["name", "n", "m", "class"])
        rows.writerows([entry.name, entry.n, entry.m, entry.cls] for entry in there)
    note(f"{len(there)} of {len(entries)} graphs in {options.output}")
    if len(there) < len(entries):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
