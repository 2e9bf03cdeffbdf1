"""Matrices for the benchmark of orderings: two halves, one to choose options, one to report."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from bench.instances import Recipe, Recipes
from jetpy import Graph, as_graph, generators

HALVES = ("A", "B")


def stencil(*shape: int) -> Graph:
    """Return a stencil of 9 points in two dimensions, or of 27 points in three."""
    return generators.cube(*shape, *(1,) * (3 - len(shape)), neighbours=26)


def with_unknowns(graph: Graph, count: int) -> Graph:
    """Return the graph of a matrix with `count` unknowns at each vertex, as in elasticity."""
    rows = sp.csr_array((np.ones(len(graph.indices), bool), graph.indices, graph.indptr))
    full: Any = rows + sp.eye_array(graph.n, dtype=bool)
    return as_graph(sp.kron(full, np.ones((count, count), bool), format="csr"), pattern=True)


def _elastic(count: int, *shape: int) -> Graph:
    return with_unknowns(stencil(*shape), count)


MATRICES: dict[str, Recipe] = {
    "grid300": ("stencil, 2D", 90_000, partial(generators.grid, 300, 300)),
    "grid200x500-9": ("stencil, 2D", 100_000, partial(stencil, 200, 500)),
    "cube30": ("stencil, 3D", 27_000, partial(generators.cube, 30, 30, 30)),
    "cube50": ("stencil, 3D", 125_000, partial(generators.cube, 50, 50, 50)),
    "cube24-27": ("stencil, 3D", 13_824, partial(stencil, 24, 24, 24)),
    "elastic16": ("elasticity", 12_288, partial(_elastic, 3, 16, 16, 16)),
    "tetrahedra12": ("FEM", 25**3, partial(generators.tetrahedra, 12, 12, 12)),
    "rmat12": ("R-MAT", 1 << 12, partial(generators.rmat, 12)),
    "grid350x900": ("stencil, 2D", 315_000, partial(generators.grid, 350, 900)),
    "grid400-9": ("stencil, 2D", 160_000, partial(stencil, 400, 400)),
    "cube20x40x60": ("stencil, 3D", 48_000, partial(generators.cube, 20, 40, 60)),
    "cube48": ("stencil, 3D", 110_592, partial(generators.cube, 48, 48, 48)),
    "cube20x32x50-27": ("stencil, 3D", 32_000, partial(stencil, 20, 32, 50)),
    "elastic20": ("elasticity", 24_000, partial(_elastic, 3, 20, 20, 20)),
    "elastic160-2D": ("elasticity", 51_200, partial(_elastic, 2, 160, 160)),
    "tetrahedra16": ("FEM", 33**3, partial(generators.tetrahedra, 16, 16, 16)),
    "del200k": ("Delaunay", 200_000, partial(generators.delaunay, 200_000)),
    "rgg50k": ("random geometric", 50_000, partial(generators.random_geometric, 50_000)),
    "thinned120k": ("road", 120_000, partial(generators.thinned_delaunay, 120_000)),
    "rmat13": ("R-MAT", 1 << 13, partial(generators.rmat, 13, 8)),
}
LARGE_MATRICES: dict[str, Recipe] = {
    "grid1000": ("stencil, 2D", 1_000_000, partial(generators.grid, 1000, 1000)),
    "grid2000": ("stencil, 2D", 4_000_000, partial(generators.grid, 2000, 2000)),
    "cube100": ("stencil, 3D", 1_000_000, partial(generators.cube, 100, 100, 100)),
    "cube128": ("stencil, 3D", 128**3, partial(generators.cube, 128, 128, 128)),
    "cube200": ("stencil, 3D", 8_000_000, partial(generators.cube, 200, 200, 200)),
    "cube100-27": ("stencil, 3D", 1_000_000, partial(stencil, 100, 100, 100)),
    "del1M": ("Delaunay", 1_000_000, partial(generators.delaunay, 1_000_000)),
    "rgg1M": ("random geometric", 1_000_000, partial(generators.random_geometric, 1_000_000)),
    "thinned2M": ("road", 2_000_000, partial(generators.thinned_delaunay, 2_000_000)),
    "tetrahedra50": ("FEM", 101**3, partial(generators.tetrahedra, 50, 50, 50)),
    "cube80": ("stencil, 3D", 512_000, partial(generators.cube, 80, 80, 80)),
    "cube60-27": ("stencil, 3D", 216_000, partial(stencil, 60, 60, 60)),
    "elastic40": ("elasticity", 192_000, partial(_elastic, 3, 40, 40, 40)),
}
"""Larger matrices, of half B. The benchmark uses them only if the user selects them by name."""
RECIPES: Recipes = {"generated": MATRICES, "large": LARGE_MATRICES}

HALF_A = frozenset(
    (
        *("grid300", "grid200x500-9", "cube30", "cube50", "cube24-27", "elastic16"),
        *("tetrahedra12", "rmat12", "uk", "4elt", "wing_nodal", "vibrobox", "bcsstk29"),
        *("memplus", "ship001", "fe_pwt", "fe_body", "delaunay_n16", "luxembourg_osm", "mdual"),
        *("ethernet_aig", "tv80_gates", "ac97_ctrl_gates", "PGPgiantcompo", "wiki-Vote"),
        "rgg_n_2_15_s0",
    )
)
"""The matrices on which options of orderings may be chosen."""


def half_of(name: str) -> str:
    """Return the half of a matrix: B unless `HALF_A` contains its name."""
    return "A" if name in HALF_A else "B"
