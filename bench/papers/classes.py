"""Classes of graphs in the papers, and small graphs that stand for them in quick runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from bench.instances import Instance
from bench.papers.experiment import NO_GRAPH, Values
from bench.papers.stand_ins import netlist
from jetpy import generators

JET_CLASSES = {
    "Web Crawl": ("web",),
    "Social Network": ("social", "collaboration"),
    "Semiconductor": ("circuit",),
    "Road Network": ("road",),
    "Optimization": ("optimization", "matrix"),
    "Finite Element": ("FEM",),
    "Biology": ("biology",),
    "Artificial Mesh": ("mesh", "Delaunay", "random geometric"),
    "Artificial Complex": ("R-MAT",),
}
"""The classes of Jet (section 5.2) and jetpy's classes (`bench.instances`) that belong to each."""
GRAPHS = "graphs"
"""Column with the names of the graphs of a class."""

QUICK = [
    Instance("grid60", "mesh", "generated", 3600, partial(generators.grid, 60, 60)),
    Instance("stencil14", "FEM", "generated", 2744, partial(generators.cube, 14, 14, 14, 26)),
    Instance("road4k", "road", "generated", 4000, partial(generators.thinned_delaunay, 4000)),
    Instance("rmat11", "R-MAT", "generated", 2048, partial(generators.rmat, 11)),
    Instance("netlist4k", "circuit", "generated", 4000, partial(netlist, 4000, 7000, 0)),
]
"""Graphs of quick runs."""

Column = Callable[[list[Instance]], float | str]
"""Returns the number of some graphs, or the reason why there is none."""


def by_class(instances: Iterable[Instance]) -> dict[str, list[Instance]]:
    """Return the graphs of each of Jet's classes; a class without any has an empty list."""
    found: dict[str, list[Instance]] = {name: [] for name in JET_CLASSES}
    for instance in instances:
        for name, classes in JET_CLASSES.items():
            if _class_of(instance) in classes:
                found[name].append(instance)
    return found


def _class_of(instance: Instance) -> str:
    """Return jetpy's class; meshes in files are from finite element models."""
    return "FEM" if (instance.kind, instance.cls) == ("real", "mesh") else instance.cls


def class_rows(instances: Iterable[Instance], columns: Mapping[str, Column]) -> Values:
    """Return a row for each of Jet's classes: all columns, and the names of its graphs."""
    return {
        (name, column): measure(own) if own else NO_GRAPH
        for name, own in by_class(instances).items()
        for column, measure in {**columns, GRAPHS: _names}.items()
    }


def all_row(row: str, instances: list[Instance], columns: Mapping[str, Column]) -> Values:
    """Return a row for all graphs: all columns, and the number of graphs."""
    values = {(row, column): measure(instances) for column, measure in columns.items()}
    return {**values, (row, GRAPHS): f"all {len(instances)}"}


def _names(instances: list[Instance]) -> str:
    return ", ".join(instance.name for instance in instances)
