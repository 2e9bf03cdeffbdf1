"""Drop-in replacement for pymetis: ``import jetpy.pymetis as pymetis``.

`part_graph`, `part_mesh` and `nested_dissection` call jetpy. Everything else comes from pymetis:
options, enumerations and named tuples are the same objects. The three functions warn, once per
process, about each option that they do not support. They raise the errors of jetpy.

`install` puts the module in pymetis's place for programs that import pymetis themselves.
``python -m jetpy.pymetis PROGRAM`` runs such a program without a change.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import warnings
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pymetis
import scipy.sparse as sp
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
    verify_nd,
    version,
    version_tuple,
)

import jetpy
from jetpy import metis
from jetpy.errors import GraphError, OptionError
from jetpy.graph.checks import as_numbers, integer
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.meshes.dual import sharing_graph
from jetpy.problem.targets import checked_targets

Integers = Sequence[int] | npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
Targets = Sequence[float] | npt.NDArray[np.floating] | None
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
WITHOUT_COUNTERPART_IN_ORDERINGS: dict[str, int] = {
    "ctype": int(CType.SHEM),
    "rtype": DEFAULT,
    "niter": 10,
    "no2hop": 0,
    "compress": 1,
    "pfactor": 0,
    "dbglvl": 0,
}
"""Options of METIS_NodeND without a counterpart, and their defaults."""
MIN_THREADS_WORK = 100_000
"""Minimum of vertices plus directed edges for which a call uses more than one thread.

Below this size, waking threads takes longer than they save. `bench/NOTES.md` describes the
measurement.
"""
OWN = "part_graph", "part_mesh", "nested_dissection"
"""Functions that call jetpy."""


def install() -> None:
    """Put this module in pymetis's place in this process.

    From now on, ``import pymetis`` finds this module, and modules that have already imported
    pymetis find its functions. Only functions that were imported by name before, such as
    ``from pymetis import part_graph``, are still METIS. jetpy's own uses of METIS stay as they are.

    Examples
    --------
    >>> import jetpy.pymetis
    >>> jetpy.pymetis.install()
    >>> import pymetis
    >>> pymetis.part_graph is jetpy.pymetis.part_graph
    True
    >>> jetpy.pymetis.uninstall()
    """
    sys.modules["pymetis"] = sys.modules[__name__]
    vars(pymetis).update({name: globals()[name] for name in OWN})


def uninstall() -> None:
    """Undo `install`: ``import pymetis`` finds pymetis again, and METIS's functions in it."""
    sys.modules["pymetis"] = pymetis
    vars(pymetis).update({name: getattr(metis, name) for name in OWN})


def part_graph(
    nparts: int,
    adjacency: Adjacency | None = None,
    xadj: Integers | None = None,
    adjncy: Integers | None = None,
    *,
    vweights: Integers | None = None,
    vsize: Integers | None = None,
    eweights: Integers | None = None,
    tpwgts: Targets = None,
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
    vweights : integers from 0 on, shape (n,), optional
    vsize : integers from 0 on, shape (n,), optional
        Amount of data that each vertex sends, for the communication volume. Without this objective,
        its values are ignored, as in METIS.
    eweights : integers from 0 on, shape (2 m,), optional
        In the order of the neighbours.
    tpwgts : positive numbers, shape (nparts,), optional
        Relative ideal weights of the parts: `targets` of `jetpy.partition`. As in METIS, no part
        is then lighter than its ideal weight divided by (1 + imbalance), if that is possible.
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
        vertex, a weight is negative, or `vsize` has another length.
    OptionError
        If a value is out of range, or `nparts` is not an integer.

    Examples
    --------
    >>> import jetpy.pymetis as pymetis
    >>> pymetis.part_graph(2, [[1, 2], [0, 2], [0, 1, 3], [2, 4, 5], [3, 5], [3, 4]])
    GraphPartition(edge_cuts=1, vertex_part=array('q', [1, 1, 1, 0, 0, 0]))
    """
    nparts = integer("nparts", nparts)
    starts, neighbours = _rows(adjacency, xadj, adjncy)
    if warn_on_copies:
        arrays = {"xadj": starts, "adjncy": neighbours, "vweights": vweights, "eweights": eweights}
        for name in _copied({**arrays, "vsize": vsize}):
            text = (
                f"jetpy copies {name}; it would not copy a contiguous array of {zero_copy_dtype()}"
            )
            warnings.warn(text, BytesWarning, stacklevel=2)
    graph, defect = _mended(starts, neighbours, eweights, vweights)
    if defect is not None:
        _tell(defect)
    if vsize is not None and len(vsize) != graph.n:
        raise GraphError(
            f"vsize has length {len(vsize)}; give one number for each of {graph.n} vertices"
        )
    settings = _checked(options)
    for warning in _left_out(settings):
        _tell(warning)
    arguments = _arguments(settings, nparts <= 8 if recursive is None else recursive)
    if contiguous:
        arguments["connected"] = True
    if arguments.get("objective") == "volume":
        arguments["vertex_sizes"] = vsize
    arguments |= _balance(graph, nparts, _targets(tpwgts, nparts), arguments["imbalance"])
    result = jetpy.partition(graph, nparts, threads=_threads(graph), **arguments)
    return GraphPartition(_reduced(result), _sequence_type(nparts == 1)(result.parts.tolist()))


def part_mesh(
    n_parts: int,
    connectivity: Sequence[Integers],
    options: Options | None = None,
    tpwgts: Targets = None,
    gtype: GType | None = None,
    ncommon: int = 1,
) -> MeshPartition:
    """Partition the elements and nodes of a mesh like `pymetis.part_mesh`, by `jetpy.partition`.

    Parameters
    ----------
    n_parts : int
        Number of parts.
    connectivity : sequence of sequences of integers
        Nodes of each element. Every number from 0 to the largest must occur.
    options : Options, optional
        As for `part_graph`. The default imbalance is 0.03, or 0.001 if `ptype` is ``PType.RB``.
    tpwgts : positive numbers, shape (n_parts,), optional
        Relative ideal weights of the parts, as for `part_graph`.
    gtype : GType, optional
        With ``GType.NODAL``, the default, partition the nodes: nodes of the same element are
        neighbours. With ``GType.DUAL``, partition the elements.
    ncommon : int
        For ``GType.DUAL``: elements are neighbours if they share this number of nodes or, as in
        METIS, all but one of the nodes of one of them.

    Returns
    -------
    MeshPartition
        pymetis's named tuple: `edge_cuts`, the number of cut edges of this graph, or the
        communication volume if it is the objective; `element_part` and `vertex_part`, integers in
        the types that pymetis returns. With ``GType.NODAL``, an element gets the part of most of
        its nodes, or another part of its nodes if that part is full; with ``GType.DUAL``, a node
        gets the part of most of its elements.

    Raises
    ------
    GraphError
        If a node is not an integer from 0, or a number below the largest does not occur.
    OptionError
        If a value is out of range, or `n_parts` or `ncommon` is not an integer.

    Examples
    --------
    >>> import jetpy.pymetis as pymetis
    >>> squares = [[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6]]
    >>> pymetis.part_mesh(3, squares, gtype=pymetis.GType.DUAL, ncommon=2).edge_cuts
    2
    """
    n_parts = integer("n_parts", n_parts)
    if integer("ncommon", ncommon) < 1:
        raise OptionError(f"ncommon is {ncommon}; it must be at least 1")
    if gtype not in (None, GType.NODAL, GType.DUAL):
        raise OptionError(f"gtype is {gtype!r}; it must be GType.NODAL or GType.DUAL")
    settings = _checked(options)
    for warning in _left_out(settings):
        _tell(warning)
    targets = _targets(tpwgts, n_parts)
    incidence = _incidence(connectivity)
    is_dual = gtype == GType.DUAL
    if is_dual:
        sizes = np.diff(incidence.indptr)
        graph = sharing_graph(incidence, np.maximum(1, np.minimum(ncommon, sizes - 1)))
    else:
        graph = sharing_graph(incidence.T)
    arguments = _arguments(settings, settings.ptype == int(PType.RB))
    arguments |= _balance(graph, n_parts, targets, arguments["imbalance"])
    result = jetpy.partition(graph, n_parts, threads=_threads(graph), **arguments)
    rows = incidence.T.tocsr() if is_dual else incidence
    weights = np.ones(n_parts) if targets is None else np.asarray(targets, np.float64)
    others = _induced_parts(rows, result.parts, rows.shape[0] * weights / weights.sum())
    elements, nodes = (result.parts, others) if is_dual else (others, result.parts)
    sequence = _sequence_type(n_parts == 1)
    return MeshPartition(_reduced(result), sequence(elements.tolist()), sequence(nodes.tolist()))


def nested_dissection(
    adjacency: Adjacency | None = None,
    xadj: Integers | None = None,
    adjncy: Integers | None = None,
    vweights: Integers | None = None,
    options: Options | None = None,
) -> tuple[Any, Any]:
    """Order a matrix like `pymetis.nested_dissection`, by `jetpy.nested_dissection`.

    Parameters
    ----------
    adjacency, xadj, adjncy
        Graph of the matrix, as for `part_graph`.
    vweights : integers, shape (n,), optional
        Ignored, with a warning unless all weights are equal: each row counts once.
    options : Options, optional
        `seed` is the seed, `nseps` the number of separators from which the best is kept (`tries` of
        `jetpy.nested_dissection`), and `ufactor` the imbalance of the two sides in thousandths.
        Other options that METIS would use are ignored, with a warning.

    Returns
    -------
    perm, iperm : integers, length n
        Row ``perm[i]`` comes in position i, and row i in position ``iperm[i]``. The types are those
        of the installed pymetis: in version 2025.2, ``array.array`` with typecode "q".

    Raises
    ------
    TypeError, GraphError
        As `part_graph` does.
    OptionError
        If a value is out of range.

    Examples
    --------
    >>> import jetpy.pymetis as pymetis
    >>> perm, iperm = pymetis.nested_dissection([[1], [0, 2], [1]])
    >>> [iperm[row] for row in perm]
    [0, 1, 2]
    """
    graph, defect = _mended(*_rows(adjacency, xadj, adjncy), None, None)
    settings = _checked(options)
    warned = [] if defect is None else [defect]
    if vweights is not None and len(np.unique(vweights)) > 1:
        warned.append("jetpy ignores vweights in orderings: each row counts once")
    for warning in [*warned, *_left_out(settings, WITHOUT_COUNTERPART_IN_ORDERINGS)]:
        _tell(warning)
    arguments: dict[str, Any] = {"threads": _threads(graph)}
    if settings.seed != DEFAULT:
        arguments["seed"] = settings.seed & INT32_MAX
    if settings.nseps != DEFAULT:
        arguments["tries"] = settings.nseps
    if settings.ufactor != DEFAULT:
        imbalance = min(1.0, settings.ufactor / 1000)
        arguments |= {"imbalances": (imbalance,), "largest_side": (1 + imbalance) / 2}
    order = jetpy.nested_dissection(graph, **arguments)
    sequence = _ordering_type()
    return sequence(order.perm.tolist()), sequence(order.iperm.tolist())


def _incidence(connectivity: Sequence[Integers]) -> Any:
    """Return the incidence matrix of elements and nodes, CSR, int32, entries 1."""
    starts, nodes = _flattened(connectivity, "element", "node")
    present = np.unique(nodes)
    if present.size and present[0] < 0:
        raise GraphError(f"an element has node {present[0]}; nodes must be numbered from 0")
    if present.size and present[-1] >= len(present):
        missing = np.flatnonzero(present != np.arange(len(present)))[0]
        raise GraphError(
            f"no element has node {missing}, but one has node {present[-1]}; nodes must be "
            "numbered from 0 without gaps"
        )
    shape = len(connectivity), len(present)
    matrix = sp.csr_array((np.ones(len(nodes), np.int32), nodes, starts), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def _induced_parts(
    incidence: Any, parts: npt.NDArray[np.int32], ideals: npt.NDArray[np.float64]
) -> Ids:
    """Return a part for each row of an incidence matrix, given the parts of the columns.

    As METIS does, this first assigns the rows whose columns are all in one part. Each other row
    gets the part of most of its columns. If that part has reached its ideal number of rows, the row
    gets the part of its columns that is furthest below its ideal.

    Parameters
    ----------
    incidence : sparse array, CSR, shape (rows, columns)
    parts : int32, shape (columns,)
    ideals : float64, shape (number of parts,)
        Ideal number of rows of each part.
    """
    columns = len(parts)
    chosen = sp.csr_array(
        (np.ones(columns, np.int32), parts, np.arange(columns + 1)), shape=(columns, len(ideals))
    )
    votes = (incidence @ chosen).tocsr()
    votes.sort_indices()
    part_of = np.full(incidence.shape[0], -1)
    is_decided = np.diff(votes.indptr) == 1
    part_of[is_decided] = votes.indices[votes.indptr[:-1][is_decided]]
    sizes = np.bincount(part_of[is_decided], minlength=len(ideals))
    for row in np.flatnonzero(~is_decided).tolist():
        own = slice(votes.indptr[row], votes.indptr[row + 1])
        choices = votes.indices[own] if own.start < own.stop else np.arange(len(ideals))
        best = int(choices[votes.data[own].argmax()]) if own.start < own.stop else 0
        if sizes[best] >= ideals[best]:
            best = int(choices[(sizes[choices] - ideals[choices]).argmin()])
        part_of[row] = best
        sizes[best] += 1
    return part_of


@lru_cache
def _sequence_type(single: bool) -> Callable[[list[int]], Any]:
    """Return the constructor of pymetis's sequence of parts; `single` means nparts = 1."""
    return _constructor(metis.part_graph(1 if single else 2, [[1], [0]]).vertex_part)


@lru_cache
def _ordering_type() -> Callable[[list[int]], Any]:
    """Return the constructor of pymetis's permutations."""
    return _constructor(metis.nested_dissection([[1], [0]])[0])


def _constructor(answer: Any) -> Callable[[list[int]], Any]:
    """Return the constructor of sequences of the type of `answer`."""
    return partial(array, answer.typecode) if isinstance(answer, array) else list


def zero_copy_dtype() -> np.dtype[np.int32]:
    """Return the integer dtype that `part_graph` uses without a copy."""
    return np.dtype(np.int32)


def __getattr__(name: str) -> Any:
    return getattr(pymetis, name)


@lru_cache
def _tell(text: str) -> None:
    """Warn the caller of a function of this module, once per text."""
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
    return _flattened(rows, "vertex", "neighbour")


def _flattened(rows: Sequence[Integers], row: str, entry: str) -> tuple[Ids, Ids]:
    """Return the start of each row, and the entries of all rows, int64.

    `row` and `entry` name them in the message about an entry that is not an integer.
    """
    starts = np.cumsum([0, *map(len, rows)])
    try:
        return starts, np.fromiter(chain.from_iterable(rows), np.int64, int(starts[-1]))
    except (TypeError, ValueError, OverflowError):
        raise GraphError(_wrong_entry(rows, row, entry)) from None


def _wrong_entry(rows: Sequence[Integers], name: str, entry: str) -> str:
    """Return the message about the first entry that does not convert to int64."""
    for v, row in enumerate(rows):
        for u in row:
            try:
                np.fromiter([u], np.int64)
            except (TypeError, ValueError, OverflowError):
                return f"{name} {v} has the {entry} {u!r:.40}; {entry}s must be integers"
    raise AssertionError("all entries are integers")


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


def _left_out(
    settings: Options, without_counterpart: Mapping[str, int] = WITHOUT_COUNTERPART
) -> list[str]:
    """Return a warning for each option that is set but has no counterpart in jetpy."""
    return [
        f"jetpy ignores METIS's option {name}, for which it has no counterpart"
        for name, usual in without_counterpart.items()
        if getattr(settings, name) not in (DEFAULT, usual)
    ]


def _checked(options: Options | None) -> Options:
    """Return the options, or METIS's defaults; refuse another numbering than from 0."""
    settings = Options() if options is None else options
    if settings.numbering not in (DEFAULT, 0):
        raise OptionError(
            f"numbering is {settings.numbering}; METIS numbering must be 0 or the default, because "
            "jetpy numbers vertices from 0"
        )
    return settings


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
    if settings.contig > 0:
        arguments["connected"] = True
    return arguments


def _targets(tpwgts: Targets, nparts: int) -> Targets:
    """Return the targets of the parts, or None for equal ones, which an empty list stands for."""
    if tpwgts is None or len(tpwgts) == 0:
        return None
    if len(tpwgts) != nparts:
        raise OptionError(
            f"tpwgts has length {len(tpwgts)}, which mismatches the {nparts} parts; give one "
            "number for each part"
        )
    values = as_numbers(tpwgts, "tpwgts")
    if values.shape == (nparts,) and values.dtype.kind in "if" and values.min() < 0:
        p = int(values.argmin())
        raise OptionError(
            f"tpwgts[{p}] is {values[p]}; METIS needs non-negative numbers, jetpy positive ones"
        )
    return tpwgts


def _balance(graph: Graph, k: int, targets: Targets, imbalance: float) -> dict[str, Any]:
    """Return targets with the minimum weights that METIS keeps: ideal / (1 + imbalance)."""
    shares = checked_targets(targets, k)
    if shares is None:
        return {}
    ideals = graph.total_vertex_weight * (shares / shares.sum())
    return {"targets": targets, "min_weights": (ideals / (1 + imbalance)).astype(np.int64)}


def _threads(graph: Graph) -> int | None:
    """Return the number of threads for a graph: one if it is small, otherwise None for all."""
    return 1 if graph.n + len(graph.indices) < MIN_THREADS_WORK else None


def _reduced(result: jetpy.Partition) -> int:
    """Return the value of the objective."""
    return result.communication_volume if result.objective == "volume" else result.cut


def run_program() -> None:
    """Run the program or the module that the command line names, in pymetis's place."""
    from jetpy.pymetis import install  # not that of the copy of this module that is __main__

    parser = argparse.ArgumentParser(
        "python -m jetpy.pymetis",
        description="Run a Python program that imports pymetis, with jetpy in pymetis's place.",
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help="PROGRAM is a module")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if not given.is_module and not Path(given.program).exists():
        parser.error(f"{given.program} does not exist; name a file, or a module after -m")
    sys.argv[:] = [given.program, *given.arguments]
    install()
    if given.is_module:
        runpy.run_module(given.program, run_name="__main__", alter_sys=True)
        return
    if not sys.flags.safe_path:
        sys.path[0] = str(Path(given.program).resolve().parent)
    runpy.run_path(given.program, run_name="__main__")


if __name__ == "__main__":
    run_program()
