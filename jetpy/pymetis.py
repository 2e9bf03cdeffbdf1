"""Drop-in replacement for pymetis: ``import jetpy.pymetis as pymetis``; `part_graph` calls jetpy.

Everything else comes from pymetis: ordering and meshes use METIS, and options, enumerations and
named tuples are the same objects. `part_graph` warns, once per process, about each option that it
does not support. It raises the errors of jetpy.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pymetis
from pymetis import (
    CSRAdjacency,
    CType,
    DebugLevel,
    GraphPartition,
    GType,
    IPType,
    MeshPartition,
    ObjType,
    OptionKey,
    Options,
    OPType,
    PType,
    RType,
    nested_dissection,
    part_mesh,
    verify_nd,
    version,
    version_tuple,
)

import jetpy
from jetpy.errors import GraphError, OptionError
from jetpy.graph.checks import integer
from jetpy.graph.csr import INT32_MAX, Graph

Integers = Sequence[int] | npt.NDArray[Any]
Adjacency = CSRAdjacency | Sequence[Integers] | Mapping[int, Integers]

__all__ = [
    "CSRAdjacency",
    "CType",
    "DebugLevel",
    "GType",
    "GraphPartition",
    "IPType",
    "MeshPartition",
    "OPType",
    "ObjType",
    "OptionKey",
    "Options",
    "PType",
    "RType",
    "nested_dissection",
    "part_graph",
    "part_mesh",
    "verify_nd",
    "version",
    "version_tuple",
    "zero_copy_dtype",
]
# Names that only some versions of pymetis have. Type checkers read the literal list above.
__all__ += [name for name in pymetis.__all__ if name not in __all__]

DEFAULT = -1
"""METIS's value of an option that is not set."""
RECURSIVE_UFACTOR, KWAY_UFACTOR = 1, 30
"""METIS's default imbalances, in thousandths."""
WITHOUT_COUNTERPART: dict[str, int] = {
    "ctype": int(CType.SHEM),
    "iptype": DEFAULT,
    "rtype": DEFAULT,
    "niter": 10,
    "no2hop": 0,
    "minconn": 0,
    "dbglvl": 0,
}
"""METIS options without a counterpart in jetpy, and their defaults."""


def part_graph(
    nparts: int,
    adjacency: Adjacency | None = None,
    xadj: Integers | None = None,
    adjncy: Integers | None = None,
    *,
    vweights: Integers | None = None,
    eweights: Integers | None = None,
    tpwgts: Sequence[float] | npt.NDArray[np.floating] | None = None,
    recursive: bool | None = None,
    contiguous: bool | None = None,
    options: Options | None = None,
    warn_on_copies: bool = False,
) -> GraphPartition:
    """Partition a graph like `pymetis.part_graph`, by `jetpy.partition`.

    Parameters
    ----------
    nparts : int
        Number of parts.
    adjacency : CSRAdjacency, or the neighbours of each vertex, optional
        The neighbours are a sequence, or a mapping from 0..n - 1. Self-loops, duplicate edges and
        missing reverse edges are repaired, with a warning.
    xadj, adjncy : integers, shapes (n + 1,) and (2 m,), optional
        The adjacency in compressed sparse row form, instead of `adjacency`.
    vweights : positive integers, shape (n,), optional
    eweights : positive integers, shape (2 m,), optional
        In the order of the neighbours.
    tpwgts : positive numbers, shape (nparts,), optional
        Relative ideal weights of the parts: `targets` of `jetpy.partition`.
    recursive : bool, optional
        Only selects the default imbalance: 0.001 if true, otherwise 0.03, as in METIS. By default
        true if there are at most 8 parts.
    contiguous : bool, optional
        Make the parts connected, like the option `contig`.
    options : Options, optional
        `ufactor` is the imbalance in thousandths, `seed` the seed, `objtype` the objective (cut or
        communication volume), and `ncuts` the number of partitions from which the best is returned
        (`generations` of `jetpy.partition`). Other options that METIS would use are ignored, with a
        warning.
    warn_on_copies : bool
        Issue a BytesWarning for each argument that is not a contiguous array of `zero_copy_dtype`.

    Returns
    -------
    GraphPartition
        pymetis's named tuple: `edge_cuts`, the total weight of cut edges, or the communication
        volume if it is the objective, and `vertex_part`, n integers in the type of the installed
        pymetis: in version 2025.2, ``array.array`` with typecode "q", or a list for `nparts` = 1.

    Raises
    ------
    TypeError
        If the graph is given twice or not at all.
    GraphError
        If the graph breaks a rule that cannot be repaired: a neighbour is not an integer or not a
        vertex, or a weight is not positive.
    OptionError
        If a value is out of range, or `nparts` is not an integer.

    Examples
    --------
    >>> import jetpy.pymetis as pymetis
    >>> pymetis.part_graph(2, [[1, 2], [0, 2], [0, 1, 3], [2, 4, 5], [3, 5], [3, 4]])
    GraphPartition(edge_cuts=1, vertex_part=array('q', [0, 0, 0, 1, 1, 1]))
    """
    nparts = integer("nparts", nparts)
    starts, neighbours = _rows(adjacency, xadj, adjncy)
    if warn_on_copies:
        arrays = {"xadj": starts, "adjncy": neighbours, "vweights": vweights, "eweights": eweights}
        for name in _copied(arrays):
            text = (
                f"jetpy copies {name}; it would not copy a contiguous array of {zero_copy_dtype()}"
            )
            warnings.warn(text, BytesWarning, stacklevel=2)
    graph, defect = _mended(starts, neighbours, eweights, vweights)
    if defect is not None:
        _tell(defect)
    settings = Options() if options is None else options
    if settings.numbering not in (DEFAULT, 0):
        raise OptionError(
            f"numbering is {settings.numbering}; jetpy numbers vertices from 0, so it must be 0"
        )
    for name in _left_out(settings):
        _tell(f"jetpy ignores METIS's option {name}, for which it has no counterpart")
    arguments = _arguments(settings, nparts <= 8 if recursive is None else recursive)
    if contiguous or settings.contig > 0:
        arguments["connected"] = True
    targets = None if tpwgts is None or len(tpwgts) == 0 else tpwgts
    result = jetpy.partition(graph, nparts, targets=targets, **arguments)
    reduced = result.communication_volume if result.objective == "volume" else result.cut
    return GraphPartition(reduced, _sequence_type(nparts == 1)(result.parts.tolist()))


@lru_cache
def _sequence_type(single: bool) -> Callable[[list[int]], Any]:
    """Return the constructor of pymetis's sequence of parts; `single` means nparts = 1."""
    answer = pymetis.part_graph(1 if single else 2, [[1], [0]]).vertex_part
    return partial(array, answer.typecode) if isinstance(answer, array) else list


def zero_copy_dtype() -> np.dtype[np.int32]:
    """Return the integer dtype that `part_graph` uses without a copy."""
    return np.dtype(np.int32)


def __getattr__(name: str) -> Any:
    return getattr(pymetis, name)


@lru_cache
def _tell(text: str) -> None:
    """Warn the caller of `part_graph`, once per text."""
    warnings.warn(text, stacklevel=3)


def _rows(
    adjacency: Adjacency | None, xadj: Integers | None, adjncy: Integers | None
) -> tuple[Integers, Integers]:
    """Return the adjacency in compressed sparse row form."""
    if adjacency is None:
        if xadj is None or adjncy is None:
            raise TypeError("the graph is missing: give adjacency, or both xadj and adjncy")
        return xadj, adjncy
    if xadj is not None or adjncy is not None:
        raise TypeError("the graph is given twice: give adjacency, or both xadj and adjncy")
    if isinstance(adjacency, CSRAdjacency):
        return adjacency.adj_starts, adjacency.adjacent
    try:
        rows = [adjacency[v] for v in range(len(adjacency))]
    except KeyError as error:
        raise GraphError(
            f"the adjacency of {len(adjacency)} vertices lacks vertex {error}; "
            "a vertex without neighbours needs an empty list"
        ) from None
    starts = np.cumsum([0, *map(len, rows)])
    try:
        return starts, np.fromiter(chain.from_iterable(rows), np.int64, int(starts[-1]))
    except (TypeError, ValueError, OverflowError):
        raise GraphError(_wrong_neighbour(rows)) from None


def _wrong_neighbour(rows: Sequence[Integers]) -> str:
    """Return the message about the first neighbour that does not convert to int64."""
    for v, row in enumerate(rows):
        for u in row:
            try:
                np.fromiter([u], np.int64)
            except (TypeError, ValueError, OverflowError):
                return f"vertex {v} has the neighbour {u!r:.40}; neighbours must be integers"
    raise AssertionError("all neighbours are integers")


def _copied(arrays: Mapping[str, Integers | None]) -> list[str]:
    """Return the names of arrays that jetpy must copy."""
    return [
        name
        for name, values in arrays.items()
        if values is not None
        and not (
            isinstance(values, np.ndarray)
            and values.dtype == zero_copy_dtype()
            and values.flags.c_contiguous
        )
    ]


def _mended(
    starts: Integers, neighbours: Integers, eweights: Integers | None, vweights: Integers | None
) -> tuple[Graph, str | None]:
    """Return the graph, and the first repaired defect; None if there was none."""
    data = starts, neighbours, eweights, vweights
    try:
        return jetpy.as_graph(data), None
    except GraphError as error:
        defect = str(error).partition(";")[0]
    return jetpy.as_graph(data, repair=True), f"{defect}; jetpy repairs this and similar defects"


def _left_out(settings: Options) -> list[str]:
    """Return the names of options that are set but have no counterpart in jetpy."""
    return [
        name
        for name, usual in WITHOUT_COUNTERPART.items()
        if getattr(settings, name) not in (DEFAULT, usual)
    ]


def _arguments(settings: Options, recursive: bool) -> dict[str, Any]:
    """Return the arguments of `jetpy.partition` for METIS options."""
    ufactor = RECURSIVE_UFACTOR if recursive else KWAY_UFACTOR
    if settings.ufactor != DEFAULT:
        ufactor = settings.ufactor
    arguments: dict[str, Any] = {"imbalance": ufactor / 1000, "large_imbalance": True}
    if settings.objtype == int(ObjType.VOL):
        arguments["objective"] = "volume"
    if settings.seed != DEFAULT:
        arguments["seed"] = settings.seed & INT32_MAX
    if settings.ncuts != DEFAULT:
        arguments["generations"] = settings.ncuts
    return arguments
