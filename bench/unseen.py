"""Graphs that were not used for tuning: write those of unseen.csv as NAME.npz, and a MANIFEST.csv.

The graphs come from clones of public repositories or from jetpy's generators. The program checks
existing graphs and does not write them again. If a graph is missing or differs from the list, it
prints this and exits with status 1.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import lzma
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.formats import READERS, simple_graph
from bench.harness import Option, parser
from bench.tables import note
from jetpy import Graph, generators, read_graph, write_graph

LIST = Path(__file__).with_suffix(".csv")
GENERATOR = "generator"
DECOMPRESS = {".gz": gzip.decompress, ".xz": lzma.decompress}


class Missing(Exception):
    """A repository, or a file in a repository, does not exist."""


@dataclass(frozen=True)
class Entry:
    """A graph of the list.

    `path` is a file in the repository `source` at `commit`, in a `format` of `bench.formats`. If
    `source` is "generator", `format` is a function of `jetpy.generators` and `path` contains its
    arguments. `sha256` is the `checksum` of the graph.
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


def read_list() -> list[Entry]:
    """Return the graphs of the list."""
    with open(LIST, newline="", encoding="utf-8") as stream:
        return [
            Entry(row.pop("name"), row.pop("class"), int(row.pop("n")), int(row.pop("m")), **row)
            for row in csv.DictReader(stream)
        ]


def checksum(graph: Graph) -> str:
    """Return the SHA-256 of indptr followed by indices, both as little-endian int32."""
    arrays = (graph.indptr, graph.indices)
    return hashlib.sha256(b"".join(a.astype("<i4").tobytes() for a in arrays)).hexdigest()


def make(entry: Entry, clones: Path) -> Graph:
    """Generate a graph, or read it from a clone in the folder `clones`.

    Raises
    ------
    Missing
        If the clone, or the file in the clone, does not exist.
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
    """Return the decompressed contents of a file in a clone, which may be bare.

    Raises
    ------
    Missing
        If the clone, or the file in the clone, does not exist.
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
    """Describe how a graph differs from the list. Return an empty text if it does not."""
    found = (graph.n, graph.m, checksum(graph))
    if found == (entry.n, entry.m, entry.sha256):
        return ""
    return "n={}, m={}, sha256 {}".format(*found) + f" instead of n={entry.n}, m={entry.m}"


def make_missing(entries: list[Entry], clones: Path, folder: Path) -> Iterator[Entry]:
    """Write the graphs that a folder lacks, and yield all graphs that match the list."""
    for entry in entries:
        file = folder / f"{entry.name}.npz"
        try:
            graph = read_graph(file) if file.exists() else make(entry, clones)
        except Missing as reason:
            note(f"{entry.name}: {reason}")
            continue
        mismatch = difference(entry, graph)
        if mismatch:
            note(f"{entry.name}: {mismatch}")
            continue
        if not file.exists():
            write_graph(file, graph)
        yield entry


OPTIONS = {
    "clones": Option(
        None,
        "folder that contains a clone of each repository, named OWNER+NAME",
        type=Path,
        is_positional=True,
    ),
    "graphs": Option(None, "folder for the graphs", type=Path, is_positional=True),
}


def main() -> None:
    """Write the graphs and their manifest."""
    options = parser("unseen", __doc__, OPTIONS).parse_args()
    options.graphs.mkdir(parents=True, exist_ok=True)
    entries = read_list()
    written = list(make_missing(entries, options.clones, options.graphs))
    with open(options.graphs / "MANIFEST.csv", "w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["name", "n", "m", "class"])
        rows.writerows([entry.name, entry.n, entry.m, entry.cls] for entry in written)
    note(f"{options.graphs} contains {len(written)} of {len(entries)} graphs")
    if len(written) < len(entries):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
