"""Small graphs to compare with METIS: two halves, one to choose options, one to report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from bench.instances import Recipe
from jetpy import generators

KS = (2, 8, 32)
CLASSES = ("mesh", "road", "circuit", "social")
HALVES = ("A", "B")

GENERATED: Mapping[str, Mapping[str, Recipe]] = {
    "A": {
        "del1k": ("mesh", 1_000, partial(generators.delaunay, 1_000, seed=11)),
        "del10k": ("mesh", 10_000, partial(generators.delaunay, 10_000, seed=12)),
        "grid50x50": ("mesh", 2_500, partial(generators.grid, 50, 50)),
        "rmat11": ("social", 1 << 11, partial(generators.rmat, 11, 8, seed=3)),
        "road8k": ("road", 8_000, partial(generators.road, 8_000, seed=5)),
    },
    "B": {
        "del4k": ("mesh", 4_000, partial(generators.delaunay, 4_000, seed=21)),
        "del40k": ("mesh", 40_000, partial(generators.delaunay, 40_000, seed=22)),
        "grid150x150": ("mesh", 22_500, partial(generators.grid, 150, 150)),
        "rmat13": ("social", 1 << 13, partial(generators.rmat, 13, 8, seed=4)),
        "road20k": ("road", 20_000, partial(generators.road, 20_000, seed=6)),
    },
}
"""Generated graphs by half."""
REAL: Mapping[str, Mapping[str, str]] = {
    "A": {
        "tv80_gates": "circuit",
        "4elt": "mesh",
        "facebook_combined": "social",
        "ac97_ctrl_gates": "circuit",
        "PGPgiantcompo": "social",
    },
    "B": {
        "wb_dma_gates": "circuit",
        "add20": "circuit",
        "whitaker3": "mesh",
        "uk": "mesh",
        "wiki-Vote": "social",
        "fe_pwt": "mesh",
        "memplus": "circuit",
    },
}
"""Classes of the real graphs, which are in `--graphs`, by half."""


def classes_of(half: str) -> dict[str, str]:
    """Return the class of each graph of a half, by name."""
    return {name: recipe[0] for name, recipe in GENERATED[half].items()} | dict(REAL[half])
