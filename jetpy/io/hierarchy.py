"""Hierarchies in files: a NumPy archive with the arrays of all levels and the settings."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, GraphError
from jetpy.graph.build import graph_of
from jetpy.graph.checks import one_of, whole_number
from jetpy.graph.csr import ARRAYS, Graph, named_arrays
from jetpy.graph.dlpack import on_host
from jetpy.graph.levels import GraphLevel, checked_levels, coarse_name, fitting
from jetpy.graph.raw import Raw
from jetpy.graph.validate import checked_ids, checked_indptr, integer_array, row_of
from jetpy.io.archive import read_archive, write_archive
from jetpy.io.compression import open_input, open_output
from jetpy.problem.options import Options
from jetpy.problem.presets import CUSTOM, PRESETS
from jetpy.problem.problem import make_problem

MAP, SETTINGS, COORDINATES = "coarse_of", "settings", "coordinates"
"""Further arrays. An underscore and the index of the level follow the name of a level's array."""


@dataclass(frozen=True)
class HierarchySettings:
    """Arguments of `jetpy.coarsen`, or their defaults for a hierarchy from elsewhere.

    Attributes
    ----------
    k : int or None
        None for a hierarchy from elsewhere.
    imbalance : float
    seed : int
    preset : str
        Name of the preset; 'custom' for other options.
    options : Options

    Raises
    ------
    OptionError
        If a value is out of range, or the preset is unknown.
    """

    k: int | None = None
    imbalance: float = 0.03
    seed: int = 0
    preset: str = "default"
    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        one_of([*PRESETS, CUSTOM], "preset", self.preset)
        k = 1 if self.k is None else self.k
        checked = make_problem(0, k, self.imbalance, self.seed, self.options)
        object.__setattr__(self, "imbalance", checked.imbalance)
        object.__setattr__(self, "seed", checked.seed)
        if self.k is not None:
            object.__setattr__(self, "k", checked.k)


def write_hierarchy(
    path: str | os.PathLike[str], levels: Sequence[GraphLevel], settings: HierarchySettings
) -> None:
    """Write a hierarchy atomically; the suffix may select a compression.

    Raises
    ------
    JetpyError
        If the file cannot be written.
    """
    finest = levels[0].graph
    arrays: dict[str, Any] = {}
    for depth, level in enumerate(levels):
        arrays |= {f"{name}_{depth}": own for name, own in named_arrays(level.graph).items()}
        if level.coarse_of is not None:
            arrays[f"{MAP}_{depth}"] = on_host(level.coarse_of)
    if finest.locate is not None:
        arrays[COORDINATES] = finest.locate()
    given = {name: getattr(settings, name) for name in ("k", "imbalance", "seed", "preset")}
    given |= {"levels": len(levels), "name": finest.name, "options": settings.options.values()}
    arrays[SETTINGS] = np.array(json.dumps(given))
    with open_output(path) as stream:
        write_archive(stream, **arrays)


def read_levels(
    path: str | os.PathLike[str],
) -> tuple[tuple[GraphLevel, ...], HierarchySettings]:
    """Read and check the levels and the settings of a hierarchy.

    Raises
    ------
    FileFormatError
        If the file is not a hierarchy, is truncated, or breaks a rule.
    JetpyError
        If the file cannot be read.
    """
    with open_input(path) as stream:
        arrays = read_archive(stream, "a hierarchy")
        for name in (f"{ARRAYS[0]}_0", SETTINGS):
            if name not in arrays:
                raise FileFormatError(f"this is not a hierarchy: it has no array {name!r}")
        name, count, settings = _settings(arrays[SETTINGS])
        graphs = [_graph(arrays, depth, name) for depth in range(count)]
        if COORDINATES in arrays:
            graphs[0] = graphs[0].with_coordinates(arrays[COORDINATES])
        maps = [_array(arrays, f"{MAP}_{depth}") for depth in range(count - 1)]
        return checked_levels(graphs, maps), settings


def _array(arrays: dict[str, npt.NDArray[Any]], name: str) -> npt.NDArray[Any]:
    if name not in arrays:
        raise FileFormatError(f"the hierarchy is damaged: it has no array {name!r}")
    return arrays[name]


def _graph(arrays: dict[str, npt.NDArray[Any]], depth: int, name: str) -> Graph:
    """Return the graph of a level; only the arrays of the finest one are checked completely.

    `checked_levels` compares coarse graphs with contractions, which keep all rules.
    """
    indptr, indices, edge_weights, vertex_weights = (
        _array(arrays, f"{array}_{depth}") for array in ARRAYS
    )
    if depth == 0:
        return graph_of(Raw(indices, indptr, edge_weights, vertex_weights), name=name)
    what = f"level {depth}: "
    neighbours = integer_array(indices, f"{what}indices")
    starts = checked_indptr(indptr, len(neighbours))
    n = len(starts) - 1
    ids = checked_ids(
        neighbours, n, "indices", lambda i: f"{what}neighbour of vertex {row_of(starts, i)}"
    )

    def weights(values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
        integers = integer_array(values, f"{what}weights")
        if len(integers) != size:
            raise GraphError(f"{what}there are {len(integers)} weights; there must be {size}")
        return fitting(integers)

    edges, vertices = weights(edge_weights, len(ids)), weights(vertex_weights, n)
    return Graph(starts, ids, edges, vertices, coarse_name(name, depth))


def _settings(array: npt.NDArray[Any]) -> tuple[str, int, HierarchySettings]:
    """Return the name of the graph, the number of levels, and the settings."""
    try:
        if array.dtype.kind != "U" or array.shape != ():
            raise ValueError("they are not text")
        given = json.loads(str(array[()]))
        name, values = given.pop("name"), given.pop("options")
        count = whole_number("levels", given.pop("levels"), 1)
        if not isinstance(name, str):
            raise ValueError("the name of the graph is not text")
        if set(values) != set(Options().values()):
            raise ValueError("the names of the options are those of another version of jetpy")
        return name, count, HierarchySettings(**given, options=Options().changed(values))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise FileFormatError(f"the hierarchy is damaged: wrong settings: {error}") from error
