"""Classes of graphs in the papers, and small graphs that stand for them in quick runs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from bench.instances import Instance
from jetpy import generators

JET_CLASSES = {
    "Web Crawl": ("web",),
    "Social Network": ("social", "collaboration"),
    "Semiconductor": ("circuit",),
    "Road Network": ("road",),
    "Optimization": ("optimization", "matrix"),
    "Finite Element": ("FEM", "mesh / FEM"),
    "Biology": ("biology",),
    "Artificial Mesh": ("mesh", "Delaunay", "random geometric"),
    "Artificial Complex": ("R-MAT",),
}
"""The classes of Jet (section 5.2) and jetpy's classes (`bench.instances`) that belong to each."""

QUICK = [
    Instance("grid60", "mesh", "generated", 3600, partial(generators.grid, 60, 60)),
    Instance("stencil14", "FEM", "generated", 2744, partial(generators.cube, 14, 14, 14, 26)),
    Instance("road4k", "road", "generated", 4000, partial(generators.thinned_delaunay, 4000)),
    Instance("rmat11", "R-MAT", "generated", 2048, partial(generators.rmat, 11)),
]
"""Graphs of quick runs."""


def by_class(instances: Iterable[Instance]) -> dict[str, list[Instance]]:
    """Return the graphs of each of Jet's classes; a class without any has an empty list."""
    found: dict[str, list[Instance]] = {name: [] for name in JET_CLASSES}
    for instance in instances:
        for name, classes in JET_CLASSES.items():
            if instance.cls in classes:
                found[name].append(instance)
    return found
