"""The graphs that are measured: real ones from a folder, generated ones from a cache folder."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jetpy import Graph, generators, read_graph, write_graph
from jetpy.io.compression import open_input, split_name

MANIFEST = "MANIFEST.csv"
KS = {"real": (2, 8, 64, 256), "generated": (2, 32, 128), "large": (32, 256)}
"""Numbers of parts that each kind of graph is cut into."""

Recipe = tuple[str, int, Callable[[], Graph]]
"""Class, number of vertices before small components are left out, and maker of a graph."""

GENERATED: dict[str, Recipe] = {
    "grid1000": ("mesh", 1_000_000, partial(generators.grid, 1000, 1000)),
    "cube80": ("mesh", 512_000, partial(generators.cube, 80, 80, 80)),
    "del18": ("Delaunay", 1 << 18, partial(generators.delaunay, 1 << 18)),
    "del20": ("Delaunay", 1 << 20, partial(generators.delaunay, 1 << 20)),
    "rgg18": ("random geometric", 1 << 18, partial(generators.random_geometric, 1 << 18)),
    "rmat17": ("R-MAT", 1 << 17, partial(generators.rmat, 17)),
    "road19": ("road", 1 << 19, partial(generators.road, 1 << 19)),
}

LARGE: dict[str, Recipe] = {
    "grid2000x4000": ("mesh", 8_000_000, partial(generators.grid, 2000, 4000)),
    "cube200": ("mesh", 8_000_000, partial(generators.cube, 200, 200, 200)),
    "del22": ("Delaunay", 1 << 22, partial(generators.delaunay, 1 << 22)),
    "rgg22": (
        "random geometric",
        1 << 22,
        partial(generators.random_geometric, 1 << 22, spatial_order=True),
    ),
    "rmat20": ("R-MAT", 1 << 20, partial(generators.rmat, 20)),
    "road22": ("road", 1 << 22, partial(generators.thinned_delaunay, 1 << 22)),
}
"""Graphs for GPUs, measured only where they are asked for by name."""


@dataclass(frozen=True)
class Instance:
    """One graph, read or generated only when `load` is called.

    `kind` is real, generated or large; `n` is the number of vertices (before small components are
    left out of generated graphs).
    """

    name: str
    cls: str
    kind: str
    n: int
    load: Callable[[], Graph]


def real_instances(folder: Path) -> Iterator[Instance]:
    """Graphs that the MANIFEST.csv of a folder lists, each in NAME.npz or NAME.graph.xz.

    Without that file, all graphs of the folder in these formats, of the class "graph".
    """
    manifest = folder / MANIFEST
    if not manifest.exists():
        yield from _listed(folder)
        return
    with open(manifest, newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            archive = folder / f"{row['name']}.npz"
            file = archive if archive.exists() else folder / f"{row['name']}.graph.xz"
            load = partial(read_graph, file)
            yield Instance(row["name"], _short(row["class"]), "real", int(row["n"]), load)


def _listed(folder: Path) -> Iterator[Instance]:
    if not folder.is_dir():
        raise SystemExit(f"{folder} is no folder")
    for file in sorted(folder.iterdir()):
        name, suffix, _ = split_name(file)
        if suffix in (".npz", ".graph"):
            yield Instance(name, "graph", "real", _vertices(file), partial(read_graph, file))


def _vertices(file: Path) -> int:
    """Return the number of vertices of a graph, of a METIS file from its first line alone."""
    if split_name(file)[1] != ".graph":
        return read_graph(file).n
    with open_input(file) as stream:
        return int(next(line for line in stream if not line.startswith(b"%")).split()[0])


def generated_instances(folder: Path) -> Iterator[Instance]:
    """Generated graphs, kept as NAME.npz in a folder once they have been made."""
    for kind, recipes in (("generated", GENERATED), ("large", LARGE)):
        for name, (cls, n, make) in recipes.items():
            yield Instance(name, cls, kind, n, partial(_cached, folder / f"{name}.npz", make))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose graphs."""
    parser.add_argument(
        "--graphs", type=Path, metavar="DIR", help="real graphs, all or those of its MANIFEST.csv"
    )
    parser.add_argument("--generated", type=Path, metavar="DIR", help="cache of generated graphs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="no other graphs than these")


def chosen(options: argparse.Namespace) -> list[Instance]:
    """Instances that the options choose; ends the program when there are none."""
    instances: list[Instance] = []
    if options.graphs:
        instances.extend(real_instances(options.graphs))
    if options.generated:
        instances.extend(generated_instances(options.generated))
    if options.only:
        unknown = set(options.only) - {instance.name for instance in instances}
        if unknown:
            raise SystemExit(f"no graph is called {', '.join(sorted(unknown))}")
        instances = [instance for instance in instances if instance.name in options.only]
    else:
        instances = [instance for instance in instances if instance.kind != "large"]
    if not instances:
        raise SystemExit("no graphs: give --graphs DIR or --generated DIR")
    return instances


def _short(cls: str) -> str:
    """Class without its details: "circuit (AIG, EPFL)" and "mesh / FEM" lose all but a word."""
    return cls.split(" (")[0].split(" / ")[0]


def _cached(path: Path, make: Callable[[], Graph]) -> Graph:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_graph(path, make())
    return read_graph(path)
