"""Sessions: the saved state of an incremental partitioner, as a NumPy archive."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.graph.build import graph_of
from jetpy.graph.csr import ARRAYS, INT32_MAX, Graph, IntArray, named_arrays
from jetpy.graph.raw import Raw
from jetpy.io.archive import ARCHIVE, names_in_archive, read_archive, write_archive
from jetpy.io.compression import open_input, open_output
from jetpy.io.limits import is_justified
from jetpy.problem.bounds import BoundedOptions
from jetpy.problem.metrics import checked_parts
from jetpy.problem.options import IncrementalOptions

NAMES = (*ARRAYS, "vertices", "parts", "settings")
PRESENT = "present"
"""Additional array, one bit per id, written if nearly all vertices were deleted: it makes the file
large enough to justify the memory of the ids."""


@dataclass(frozen=True)
class SessionOptions(BoundedOptions):
    """Options of the partitions of whole graphs, and of incremental partitioning.

    Attributes
    ----------
    options : IncrementalOptions
    """

    options: IncrementalOptions


@dataclass(frozen=True)
class Settings:
    """Options, and the changes since the last partition of the whole graph.

    Attributes
    ----------
    goal : SessionOptions
    ids : int
        Number of ids, including those of deleted vertices.
    lost : int
        Part of the cut due to full parts (`Placed.loss`).
    unrefined, unpartitioned : int
        Numbers of modifiers since the partition was refined, and recomputed.
    """

    goal: SessionOptions
    ids: int
    lost: int
    unrefined: int
    unpartitioned: int


@dataclass(frozen=True, eq=False)
class Session:
    """A graph without deleted vertices, its partition and the settings.

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
    """Write a session atomically; the suffix may select a compression.

    Raises
    ------
    JetpyError
        If the file cannot be written.
    """
    graph = session.graph
    many: dict[str, Any] = {}
    if not _few_are_gone(session.settings, graph):
        many[PRESENT] = _present(session.vertices, session.settings.ids)
    with open_output(path) as stream:
        write_archive(
            stream,
            **named_arrays(graph),
            vertices=session.vertices,
            parts=session.parts,
            settings=np.array(json.dumps(asdict(session.settings))),
            **many,
        )


def is_session(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a session, judging by the names of its arrays.

    Raises
    ------
    JetpyError
        If the file cannot be read.
    """
    with open_input(path) as stream:
        if not stream.peek(len(ARCHIVE)).startswith(ARCHIVE):
            return False
        return set(NAMES) <= names_in_archive(stream)


def read_session(path: str | os.PathLike[str]) -> Session:
    """Read a session.

    Raises
    ------
    FileFormatError
        If the file is not a session, is truncated, or breaks a rule.
    JetpyError
        If the file cannot be read.
    """
    with open_input(path) as stream:
        arrays = read_archive(stream, "a session")
        missing = [name for name in NAMES if name not in arrays]
        if missing:
            raise FileFormatError(f"this is not a session: it has no array {missing[0]!r}")
        settings = _settings(arrays["settings"])
        weights = arrays["edge_weights"], arrays["vertex_weights"]
        graph = graph_of(Raw(arrays["indices"], arrays["indptr"], *weights))
        vertices = arrays["vertices"]
        if vertices.shape != (graph.n,) or not _rises(vertices, settings.ids):
            raise FileFormatError("the session is damaged: wrong ids of vertices")
        _check_ids(settings, graph, vertices, arrays.get(PRESENT))
        parts = checked_parts(graph, arrays["parts"], settings.goal.k)
        return Session(graph, vertices.astype(np.int32), parts, settings)


def _rises(vertices: IntArray, end: int) -> bool:
    """Return whether integers are strictly increasing and in 0..end - 1."""
    inside = len(vertices) == 0 or (vertices[0] >= 0 and vertices[-1] < end)
    return bool(vertices.dtype.kind == "i" and inside and (np.diff(vertices) > 0).all())


def _few_are_gone(settings: Settings, graph: Graph) -> bool:
    """Return whether the size of a graph justifies the memory for its ids and their buckets."""
    buckets = settings.ids * max(settings.goal.options.extra_buckets, 1)
    return is_justified(buckets, graph.n + len(graph.indices))


def _check_ids(
    settings: Settings, graph: Graph, vertices: IntArray, present: npt.NDArray[Any] | None
) -> None:
    """Refuse far more ids than vertices, unless the session has a bit for each id.

    Raises
    ------
    FileFormatError
        If the bits are missing or do not match the vertices.
    """
    if _few_are_gone(settings, graph):
        return
    if present is None or not np.array_equal(present, _present(vertices, settings.ids)):
        raise FileFormatError(
            f"the session is damaged: {settings.ids} ids are too many for its {graph.n} vertices"
        )


def _present(vertices: IntArray, ids: int) -> npt.NDArray[np.uint8]:
    """Return a packed bit for each id, set if the vertex exists."""
    bits = np.zeros(ids, bool)
    bits[vertices] = True
    return np.packbits(bits)


def _settings(array: npt.NDArray[Any]) -> Settings:
    try:
        if array.dtype.kind != "U" or array.shape != ():
            raise ValueError("they are not text")
        given = json.loads(str(array[()]))
        goal = given.pop("goal")
        options = IncrementalOptions(**goal.pop("options"))
        settings = Settings(SessionOptions(**goal, large_imbalance=True, options=options), **given)
        _check_counts(settings)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise FileFormatError(f"the session is damaged: wrong settings: {error}") from error
    return settings


def _check_counts(settings: Settings) -> None:
    counts = settings.ids, settings.lost, settings.unrefined, settings.unpartitioned
    if not all(type(count) is int and 0 <= count < 2**63 for count in counts):
        raise ValueError(f"counts are {counts!r:.80}; they must be integers of at least 0")
    if settings.ids >= INT32_MAX:
        raise ValueError(f"{settings.ids} ids are too many; there must be fewer than 2**31 - 1")
    if settings.unrefined > settings.unpartitioned:
        raise ValueError(
            f"unrefined is {settings.unrefined}; it must be at most unpartitioned, "
            f"{settings.unpartitioned}"
        )
    if settings.lost > 2 * INT32_MAX:
        raise ValueError(f"lost is {settings.lost}; it must be at most 2**32 - 2")
