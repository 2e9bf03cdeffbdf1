"""Sessions: what it takes to go on with a partition of a changing graph, as a NumPy archive."""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np

from jetpy import names
from jetpy.build import graph_from_csr
from jetpy.errors import FileFormatError, OptionError
from jetpy.graph import Graph, IntArray
from jetpy.io.compression import open_input, open_output
from jetpy.metrics import checked_parts
from jetpy.options import IncrementalOptions
from jetpy.presets import choose
from jetpy.problem import Problem, pose

ARRAYS = ("indptr", "indices", "edge_weights", "vertex_weights", "vertices", "parts", "settings")


@dataclass(frozen=True)
class Goal:
    """What partitions are asked for, as for `jetpy.partition`, and how they follow the graph."""

    k: int
    imbalance: float
    seed: int
    preset: names.Preset
    coarsening: names.Coarsening | None
    refinement: names.Refinement | None
    options: IncrementalOptions

    def problem(self, total_vertex_weight: int) -> Problem:
        """Return the problem of a graph of so much weight.

        Raises
        ------
        OptionError
            If a number is out of range, or a name unknown.
        """
        return _problem(self, total_vertex_weight)


@lru_cache(maxsize=8)
def _problem(goal: Goal, total_vertex_weight: int) -> Problem:
    options = choose(goal.preset, goal.coarsening, goal.refinement)
    return pose(total_vertex_weight, goal.k, goal.imbalance, goal.seed, options)


@dataclass(frozen=True)
class Settings:
    """A goal, and how far the graph has gone from the last partition of the whole graph.

    Attributes
    ----------
    goal : Goal
    ids : int
        How many vertices ever were.
    lost : int
        How much of the cut is there because parts had no room (`Placed.loss`).
    unrefined, unpartitioned : int
        Modifiers since it was refined, and found anew.
    """

    goal: Goal
    ids: int
    lost: int
    unrefined: int
    unpartitioned: int


@dataclass(frozen=True, eq=False)
class Session:
    """A graph without ids of deleted vertices, its partition and the settings.

    Attributes
    ----------
    graph : Graph
    vertices : int32, shape (n,), ascending
        Id of each vertex.
    parts : int32, shape (n,)
    settings : Settings
    """

    graph: Graph
    vertices: IntArray
    parts: IntArray
    settings: Settings


def write_session(path: str | os.PathLike[str], session: Session) -> None:
    """Write a session, atomically, compressed if the name says so.

    Raises
    ------
    JetpyError
        When the file cannot be written.
    """
    content, graph = io.BytesIO(), session.graph
    np.savez(
        content,
        indptr=graph.indptr,
        indices=graph.indices,
        edge_weights=graph.edge_weights,
        vertex_weights=graph.vertex_weights,
        vertices=session.vertices,
        parts=session.parts,
        settings=np.array(json.dumps(asdict(session.settings))),
    )
    with open_output(path) as stream:
        stream.write(content.getbuffer())


def read_session(path: str | os.PathLike[str]) -> Session:
    """Read a session.

    Raises
    ------
    FileFormatError
        When the file is none, is cut short, or breaks a rule.
    JetpyError
        When it cannot be read.
    """
    with open_input(path) as stream:
        content = io.BytesIO(stream.read())
        if not zipfile.is_zipfile(content):
            raise FileFormatError("this is not a session, or it is cut short")
        try:
            with np.load(content) as archive:
                arrays = dict(archive)
        except Exception as error:  # damaged archives make NumPy and zipfile raise all kinds
            raise FileFormatError(f"the session cannot be read: {error}") from error
        missing = [name for name in ARRAYS if name not in arrays]
        if missing:
            raise FileFormatError(f"this is not a session: it has no array {missing[0]!r}")
        settings = _settings(str(arrays["settings"]))
        names = "indptr", "indices", "edge_weights", "vertex_weights"
        graph = graph_from_csr(*(arrays[name] for name in names))
        vertices = np.asarray(arrays["vertices"])
        if vertices.shape != (graph.n,) or not _rises(vertices, settings.ids):
            raise FileFormatError("the session is damaged: wrong ids of vertices")
        parts = checked_parts(graph, arrays["parts"], settings.goal.k)
        return Session(graph, vertices.astype(np.int32), parts, settings)


def _rises(vertices: IntArray, end: int) -> bool:
    """Whether numbers rise, from 0 or more to less than an end."""
    inside = len(vertices) == 0 or (vertices[0] >= 0 and vertices[-1] < end)
    return bool(vertices.dtype.kind == "i" and inside and (np.diff(vertices) > 0).all())


def _settings(text: str) -> Settings:
    try:
        given = json.loads(text)
        goal = given.pop("goal")
        options = IncrementalOptions(**goal.pop("options"))
        settings = Settings(Goal(**goal, options=options), **given)
        settings.goal.problem(0)
    except (ValueError, TypeError, AttributeError, KeyError, OptionError) as error:
        raise FileFormatError(f"the session is damaged: wrong settings: {error}") from error
    return settings
