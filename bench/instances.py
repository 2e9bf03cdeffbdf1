"""Graphs for the benchmarks: real graphs from a folder, generated graphs from a cache folder."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.tables import note
from jetpy import Graph, generators, read_graph, write_graph
from jetpy.io.compression import open_input, split_name

MANIFEST = "MANIFEST.csv"
KS = {"real": (2, 8, 64, 256), "generated": (2, 32, 128), "large": (32, 256)}
"""Default numbers of parts for each kind of graph."""

Recipe = tuple[str, int, Callable[[], Graph]]
"""Class, number of vertices before small components are removed, and generator of a graph."""

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
    "cube150": ("mesh", 3_375_000, partial(generators.cube, 150, 150, 150)),
    "del3M": ("Delaunay", 3_000_000, partial(generators.delaunay, 3_000_000)),
    "rgg2M": (
        "random geometric",
        2_000_000,
        partial(generators.random_geometric, 2_000_000, spatial_order=True),
    ),
    "rmat19x24": ("R-MAT", 1 << 19, partial(generators.rmat, 19, 24)),
    "stencil100": ("FEM", 1_000_000, partial(generators.cube, 100, 100, 100, 26)),
    "stencil140": ("FEM", 2_744_000, partial(generators.cube, 140, 140, 140, 26)),
    "tetrahedra45": ("FEM", 91**3, partial(generators.tetrahedra, 45, 45, 45)),
    "cube128": ("mesh", 128**3, partial(generators.cube, 128, 128, 128)),
    "rgg1M": (
        "random geometric",
        1_000_000,
        partial(generators.random_geometric, 1_000_000, spatial_order=True),
    ),
    "rmat18": ("R-MAT", 1 << 18, partial(generators.rmat, 18)),
    "grid1500x900": ("mesh", 1_350_000, partial(generators.grid, 1500, 900)),
    "road1200k": ("road", 1_200_000, partial(generators.thinned_delaunay, 1_200_000)),
    "rmat17x24": ("R-MAT", 1 << 17, partial(generators.rmat, 17, 24)),
    "stencil70": ("FEM", 343_000, partial(generators.cube, 70, 70, 70, 26)),
    "tetrahedra30": ("FEM", 61**3, partial(generators.tetrahedra, 30, 30, 30)),
}
"""Graphs for GPUs, many cores and stages. Benchmarks use only those that the user names."""
Recipes = Mapping[str, Mapping[str, Recipe]]
"""Generated graphs by kind and name."""
RECIPES: Recipes = {"generated": GENERATED, "large": LARGE}


@dataclass(frozen=True)
class Instance:
    """A graph that is read or generated only when `load` is called.

    `kind` is real, generated or large. `n` is the number of vertices; for a generated graph, it
    includes the small components that the generator removes.
    """

    name: str
    cls: str
    kind: str
    n: int
    load: Callable[[], Graph]


def real_instances(folder: Path) -> Iterator[Instance]:
    """Yield the graphs listed in the MANIFEST.csv of a folder, stored as NAME.npz or NAME.graph.xz.

    If the folder has no manifest, yield all its .npz and .graph files, also compressed ones, with
    the class "graph".
    """
    manifest = folder / MANIFEST
    if not manifest.exists():
        yield from _all_files(folder)
        return
    with open(manifest, newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            archive = folder / f"{row['name']}.npz"
            file = archive if archive.exists() else folder / f"{row['name']}.graph.xz"
            load = partial(read_graph, file)
            yield Instance(row["name"], _short_class(row["class"]), "real", int(row["n"]), load)


def _all_files(folder: Path) -> Iterator[Instance]:
    if not folder.is_dir():
        raise SystemExit(f"{folder} is not a folder")
    for file in sorted(folder.iterdir()):
        name, suffix, _ = split_name(file)
        if suffix in (".npz", ".graph"):
            yield Instance(name, "graph", "real", _vertex_count(file), partial(read_graph, file))


def _vertex_count(file: Path) -> int:
    """Return the number of vertices of a graph. For a METIS file, read only the header."""
    if split_name(file)[1] != ".graph":
        return read_graph(file).n
    with open_input(file) as stream:
        return int(next(line for line in stream if not line.startswith(b"%")).split()[0])


def generated_instances(folder: Path, recipes: Recipes | None = None) -> Iterator[Instance]:
    """Yield the generated graphs. `load` stores each of them as NAME.npz in the folder."""
    for kind, own in (recipes or RECIPES).items():
        for name, (cls, n, make) in own.items():
            yield Instance(name, cls, kind, n, partial(_cached, folder / f"{name}.npz", make))


def listed(options: argparse.Namespace, recipes: Recipes | None = None) -> list[Instance]:
    """Return all graphs of `--graphs` and `--generated`, by default those of `RECIPES`."""
    instances: list[Instance] = []
    if options.graphs:
        instances.extend(real_instances(options.graphs))
    if options.generated:
        instances.extend(generated_instances(options.generated, recipes))
    return instances


def selected(options: argparse.Namespace, recipes: Recipes | None = None) -> list[Instance]:
    """Return the graphs that the options select.

    Raises
    ------
    SystemExit
        If neither `--graphs` nor `--generated` gives any graph, or a name is unknown. The list is
        empty if all graphs are smaller than `--min-n` or larger than `--max-n`.
    """
    instances = listed(options, recipes)
    if options.only:
        unknown = set(options.only) - {instance.name for instance in instances}
        if unknown:
            raise SystemExit(f"no graph is called {', '.join(sorted(unknown))}")
        instances = [instance for instance in instances if instance.name in options.only]
    else:
        instances = [instance for instance in instances if instance.kind != "large"]
    if not instances:
        raise SystemExit("no graphs: give --graphs DIR or --generated DIR")
    return [
        instance
        for instance in instances
        if options.min_n <= instance.n and (options.max_n is None or instance.n <= options.max_n)
    ]


def present(
    options: argparse.Namespace, names: Sequence[str], recipes: Recipes | None = None
) -> list[Instance]:
    """Return the graphs with these names that `--only` selects, and note those that are missing.

    Raises
    ------
    SystemExit
        If `--only` has another name.
    """
    if unknown := set(options.only) - set(names):
        raise SystemExit(f"--only: {', '.join(sorted(unknown))} is not among the chosen graphs")
    found = {instance.name for instance in listed(options, recipes)}
    names = [name for name in names if not options.only or name in options.only]
    if lacking := [name for name in names if name not in found]:
        note(f"the folders lack {', '.join(lacking)}")
    only = [name for name in names if name in found]
    return selected(argparse.Namespace(**{**vars(options), "only": only}), recipes) if only else []


def _short_class(cls: str) -> str:
    """Remove the details of a class: "circuit (AIG, EPFL)" becomes "circuit"."""
    return cls.split(" (")[0].split(" / ")[0]


def _cached(path: Path, make: Callable[[], Graph]) -> Graph:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_graph(path, make())
    return read_graph(path)
