"""Sessions: what it takes to go on with a partition of a changing graph, as a NumPy archive."""

from __future__ import annotations

import io
import json
import os
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.errors import FileFormatError
from jetpy.graph.build import graph_from_csr
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.io.archive import ARCHIVE, names_in_archive, read_archive
from jetpy.io.compression import open_input, open_output
from jetpy.io.limits import is_justified
from jetpy.problem.metrics import checked_parts
from jetpy.problem.options import IncrementalOptions
from jetpy.problem.presets import choose
from jetpy.problem.problem import Problem, make_problem

ARRAYS = ("indptr", "indices", "edge_weights", "vertex_weights", "vertices", "parts", "settings")
PRESENT = "present"
"""One more array, where by far most vertices are gone: a bit for each id, so that the size of the
file justifies the memory that ids take."""


@dataclass(frozen=True)
class SessionOptions:
    """What partitions are asked for, as for `jetpy.partition`, and how they follow the graph.

    Raises
    ------
    OptionError
        If a number is out of range, or a name unknown.
    """

    k: int
    imbalance: float
    seed: int
    preset: choices.Preset
    coarsening: choices.Coarsening | None
    refinement: choices.Refinement | None
    options: IncrementalOptions

    def __post_init__(self) -> None:
        checked = _pose(self, 0)
        for name in ("k", "imbalance", "seed"):
            object.__setattr__(self, name, getattr(checked, name))

    def problem(self, total_vertex_weight: int) -> Problem:
        """Return the problem of a graph of so much weight."""
        return _pose_once(self, total_vertex_weight)


def _pose(goal: SessionOptions, total_vertex_weight: int) -> Problem:
    options = choose(goal.preset, goal.coarsening, goal.refinement)
    return make_problem(total_vertex_weight, goal.k, goal.imbalance, goal.seed, options)


_pose_once = lru_cache(maxsize=8)(_pose)


@dataclass(frozen=True)
class Settings:
    """A goal, and how far the graph has gone from the last partition of the whole graph.

    Attributes
    ----------
    goal : SessionOptions
    ids : int
        How many vertices ever were.
    lost : int
        How much of the cut is there because parts had no room (`Placed.loss`).
    unrefined, unpartitioned : int
        Modifiers since it was refined, and found anew.
    """

    goal: SessionOptions
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
    many: dict[str, Any] = {}
    if not _few_are_gone(session.settings, graph):
        many[PRESENT] = _present(session.vertices, session.settings.ids)
    np.savez(
        content,
        indptr=graph.indptr,
        indices=graph.indices,
        edge_weights=graph.edge_weights,
        vertex_weights=graph.vertex_weights,
        vertices=session.vertices,
        parts=session.parts,
        settings=np.array(json.dumps(asdict(session.settings))),
        **many,
    )
    with open_output(path) as stream:
        stream.write(content.getbuffer())


def is_session(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds a session: an archive with arrays of such names.

    Raises
    ------
    JetpyError
        When it cannot be read.
    """
    with open_input(path) as stream:
        if not stream.peek(len(ARCHIVE)).startswith(ARCHIVE):
            return False
        return set(ARRAYS) <= names_in_archive(stream)


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
        arrays = read_archive(stream, "a session")
        missing = [name for name in ARRAYS if name not in arrays]
        if missing:
            raise FileFormatError(f"this is not a session: it has no array {missing[0]!r}")
        settings = _settings(arrays["settings"])
        names = "indptr", "indices", "edge_weights", "vertex_weights"
        graph = graph_from_csr(*(arrays[name] for name in names))
        vertices = arrays["vertices"]
        if vertices.shape != (graph.n,) or not _rises(vertices, settings.ids):
            raise FileFormatError("the session is damaged: wrong ids of vertices")
        _check_ids(settings, graph, vertices, arrays.get(PRESENT))
        parts = checked_parts(graph, arrays["parts"], settings.goal.k)
        return Session(graph, vertices.astype(np.int32), parts, settings)


def _rises(vertices: IntArray, end: int) -> bool:
    """Whether numbers rise, from 0 or more to less than an end."""
    inside = len(vertices) == 0 or (vertices[0] >= 0 and vertices[-1] < end)
    return bool(vertices.dtype.kind == "i" and inside and (np.diff(vertices) > 0).all())


def _few_are_gone(settings: Settings, graph: Graph) -> bool:
    """Whether a graph can justify the memory for its ids, and for the buckets of each."""
    buckets = settings.ids * max(settings.goal.options.extra_buckets, 1)
    return is_justified(buckets, graph.n + len(graph.indices))


def _check_ids(
    settings: Settings, graph: Graph, vertices: IntArray, present: npt.NDArray[Any] | None
) -> None:
    """Refuse ids by far more than there are vertices, unless the session has a bit for each.

    Raises
    ------
    FileFormatError
    """
    if _few_are_gone(settings, graph):
        return
    if present is None or not np.array_equal(present, _present(vertices, settings.ids)):
        raise FileFormatError(
            f"the session is damaged: {settings.ids} ids are far more than its {graph.n} vertices "
            "can justify"
        )


def _present(vertices: IntArray, ids: int) -> npt.NDArray[np.uint8]:
    """Return a bit for each id, set where there is a vertex."""
    bits = np.zeros(ids, bool)
    bits[vertices] = True
    return np.packbits(bits)


def _settings(array: npt.NDArray[Any]) -> Settings:
    try:
        if array.dtype.kind != "U" or array.shape != ():
            raise ValueError("they are no text")
        given = json.loads(str(array[()]))
        goal = given.pop("goal")
        options = IncrementalOptions(**goal.pop("options"))
        settings = Settings(SessionOptions(**goal, options=options), **given)
        _check_counts(settings)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise FileFormatError(f"the session is damaged: wrong settings: {error}") from error
    return settings


def _check_counts(settings: Settings) -> None:
    counts = settings.ids, settings.lost, settings.unrefined, settings.unpartitioned
    if not all(type(count) is int and 0 <= count < 2**63 for count in counts):
        raise ValueError(f"counts must be whole numbers, not {counts!r:.80}")
    if settings.ids >= INT32_MAX:
        raise ValueError(f"{settings.ids} ids are too many")
    if settings.unrefined > settings.unpartitioned:
        raise ValueError("the partition was found anew, but not refined")
    if settings.lost > 2 * INT32_MAX:
        raise ValueError("more of the cut is lost than there is")
