"""ParMETIS's functions, by jetpy.

The arguments have the names and meanings of ParMETIS, and each process passes its own block.
Arguments that ParMETIS requires but a program rarely changes have defaults. `jetpy.distributed`
does the work, so the parts are the same for any number of processes. All functions are collective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import jetpy.distributed
from jetpy import choices
from jetpy.distributed.api import communicator
from jetpy.distributed.block import Block, as_block, checked_weights, integers
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import check_agreement, collective_call, run_collectively
from jetpy.errors import GraphError, OptionError
from jetpy.graph.checks import as_numbers, finite_number, whole_number
from jetpy.problem.problem import MAX_PARTS

Starts = tuple[int, ...]

__all__ = ["KwayPartition", "adaptive_repart", "part_kway", "part_mesh_kway", "refine_kway"]

NAMES = "xadj", "adjncy", "adjwgt", "vwgt"
"""ParMETIS's names of the arrays of a block."""
EDGES, VERTICES = 1, 2
"""Bits of wgtflag: which weights count."""
MAX_CONSTRAINTS = 64
"""Maximum of ncon."""


class KwayPartition(NamedTuple):
    """The output of ParMETIS's functions.

    Attributes
    ----------
    edgecut : int
        Total weight of undirected edges between parts, the same in all processes.
    part : int32, shape (n_owned,)
        Part of each owned vertex or element.
    """

    edgecut: int
    part: npt.NDArray[np.int32]


def part_kway(
    comm: Any,
    vtxdist: npt.ArrayLike,
    xadj: npt.ArrayLike,
    adjncy: npt.ArrayLike,
    nparts: int,
    *,
    vwgt: npt.ArrayLike | None = None,
    adjwgt: npt.ArrayLike | None = None,
    wgtflag: int | None = None,
    numflag: int = 0,
    ncon: int = 1,
    tpwgts: npt.ArrayLike | None = None,
    ubvec: npt.ArrayLike = 1.05,
    seed: int = 0,
    preset: choices.Preset = "default",
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | None = None,
) -> KwayPartition:
    """Partition a distributed graph, as ParMETIS_V3_PartKway does. Collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
        The processes; None for a single process.
    vtxdist : array of int, shape (processes + 1,)
        First vertex of each process, and the number of vertices; the same in all processes.
    xadj, adjncy : array of int
        Neighbours of the owned vertices: vertex ``vtxdist[rank] + i`` has the neighbours
        ``adjncy[xadj[i]:xadj[i + 1]]``, global ids from 0 on. Each edge is given at both ends.
    nparts : int
        Number of parts.
    vwgt : array of int, shape (n_owned * ncon,), optional
        Weights of the owned vertices, from 0 on; by default 1. All weights of a vertex are next to
        each other.
    adjwgt : array of int, shape (xadj[-1],), optional
        Weights of the edges, from 0 on, in the order of `adjncy`; by default 1.
    wgtflag : {0, 1, 2, 3}, optional
        Weights that count: none, those of edges, of vertices, or both. By default, all given
        weights count.
    numflag : {0}
        First id; jetpy numbers vertices and parts from 0.
    ncon : int
        Number of weights per vertex. With several, every process gathers the whole graph.
    tpwgts : array of float, shape (nparts * ncon,), optional
        Share of each part in the total vertex weight: positive numbers, relative to each other. By
        default, all are equal. The shares of a part in its several weights must be equal, and are
        next to each other.
    ubvec : float, or array of float, shape (ncon,)
        Maximum weight of a part, relative to its share; 1.05 allows 5 % more.
    seed : int
        Replaces ``options[2]``.
    preset, backend, threads, device
        As for `jetpy.distributed.partition`.

    Returns
    -------
    KwayPartition
        (edgecut, part). The parts are those of `jetpy.partition` with ``imbalance=ubvec - 1``,
        ``targets=tpwgts`` and the same seed and preset.

    Raises
    ------
    GraphError, OptionError, BackendError
        In all processes, if an argument is wrong or differs between processes; the message names
        the lowest rank with an error.

    Examples
    --------
    >>> from jetpy import parmetis
    >>> vtxdist, xadj, adjncy = [0, 4], [0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]
    >>> edgecut, part = parmetis.part_kway(None, vtxdist, xadj, adjncy, 2)
    >>> edgecut, sorted(part.tolist())
    (1, [0, 0, 1, 1])
    """
    group = communicator(comm)
    make = partial(_make_goal, nparts, wgtflag, numflag, ncon, tpwgts, ubvec)
    goal, block = _checked_rows("part_kway", group, make, vtxdist, (xadj, adjncy, adjwgt, vwgt))
    return _output(
        jetpy.distributed.partition(
            group,
            block,
            goal.nparts,
            **goal.limits,
            seed=seed,
            preset=preset,
            backend=backend,
            threads=threads,
            device=device,
        )
    )


def refine_kway(
    comm: Any,
    vtxdist: npt.ArrayLike,
    xadj: npt.ArrayLike,
    adjncy: npt.ArrayLike,
    nparts: int,
    part: npt.ArrayLike,
    *,
    vwgt: npt.ArrayLike | None = None,
    adjwgt: npt.ArrayLike | None = None,
    wgtflag: int | None = None,
    numflag: int = 0,
    ncon: int = 1,
    tpwgts: npt.ArrayLike | None = None,
    ubvec: npt.ArrayLike = 1.05,
    seed: int = 0,
    preset: choices.Preset = "default",
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | None = None,
) -> KwayPartition:
    """Refine a partition of a distributed graph, as ParMETIS_V3_RefineKway does. Collective.

    Parameters
    ----------
    part : array of int, shape (n_owned,)
        Part of each owned vertex, 0..nparts - 1; it does not change. ParMETIS takes the rank of the
        owner for it if nparts is the number of processes; here, pass
        ``np.full(n_owned, comm.rank)``.
    comm, vtxdist, xadj, adjncy, nparts, vwgt, adjwgt, wgtflag, numflag, ncon, tpwgts, ubvec, seed
    preset, backend, threads, device
        As for `part_kway`.

    Returns
    -------
    KwayPartition
        (edgecut, part). The parts are those of `jetpy.refine`.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `part_kway`; GraphError also if `part` does not match the vertices or `nparts`.
    """
    group = communicator(comm)
    make = partial(_make_goal, nparts, wgtflag, numflag, ncon, tpwgts, ubvec)
    goal, block = _checked_rows("refine_kway", group, make, vtxdist, (xadj, adjncy, adjwgt, vwgt))
    return _output(
        jetpy.distributed.refine(
            group,
            block,
            part,
            goal.nparts,
            **goal.limits,
            seed=seed,
            preset=preset,
            backend=backend,
            threads=threads,
            device=device,
        )
    )


def adaptive_repart(
    comm: Any,
    vtxdist: npt.ArrayLike,
    xadj: npt.ArrayLike,
    adjncy: npt.ArrayLike,
    nparts: int,
    part: npt.ArrayLike | None = None,
    *,
    vwgt: npt.ArrayLike | None = None,
    vsize: npt.ArrayLike | None = None,
    adjwgt: npt.ArrayLike | None = None,
    wgtflag: int | None = None,
    numflag: int = 0,
    ncon: int = 1,
    tpwgts: npt.ArrayLike | None = None,
    ubvec: npt.ArrayLike = 1.05,
    ipc2redist: float = 1000.0,
    seed: int = 0,
    preset: choices.Preset = "default",
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | None = None,
) -> KwayPartition:
    """Repartition a graph whose weights have changed, as ParMETIS_V3_AdaptiveRepart does.

    Collective. The cut is to be small, and so is the vertex weight that leaves its part.

    Parameters
    ----------
    part : array of int, shape (n_owned,), optional
        Previous part of each owned vertex, 0..nparts - 1, -1 for none; it does not change. By
        default, the rank of the owner, if nparts is the number of processes.
    vsize : array of int, shape (n_owned,), optional
        Cost of moving each owned vertex. It must equal `vwgt`, because jetpy counts the weight that
        moves; None is the same.
    ncon : {1}
        As for `part_kway`, but a single weight, because it is also the cost of moving a vertex.
    ipc2redist : float
        Time of communication between parts relative to the time of moving vertices, ParMETIS's
        `itr`: each unit of weight that leaves its part costs ``1 / ipc2redist`` units of edge
        weight. Large values make the cut small, small ones let more vertices stay.
    comm, vtxdist, xadj, adjncy, nparts, vwgt, adjwgt, wgtflag, numflag, tpwgts, ubvec, seed
    preset, backend, threads, device
        As for `part_kway`.

    Returns
    -------
    KwayPartition
        (edgecut, part). The parts are those of `jetpy.partition` with ``home=part`` and
        ``migration=1 / ipc2redist``.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `part_kway`; OptionError also if `part` does not match the vertices or `nparts`, or
        `vsize` differs from `vwgt`.

    Examples
    --------
    >>> from jetpy import parmetis
    >>> ring = [0, 4], [0, 2, 4, 6, 8], [3, 1, 0, 2, 1, 3, 2, 0]
    >>> parmetis.adaptive_repart(None, *ring, 2, [1, 1, 0, 0], ipc2redist=1).part.tolist()
    [1, 1, 0, 0]
    """
    group = communicator(comm)

    def make() -> _Goal:
        if whole_number("ncon", ncon, 1) > 1:
            raise OptionError(
                f"ncon is {ncon}; it must be 1: adaptive_repart counts the one weight of each "
                "vertex that moves"
            )
        return _make_goal(nparts, wgtflag, numflag, 1, tpwgts, ubvec)

    goal, block = _checked_rows(
        "adaptive_repart", group, make, vtxdist, (xadj, adjncy, adjwgt, vwgt)
    )

    def check() -> tuple[float, Any]:
        ratio = finite_number("ipc2redist", ipc2redist)
        if not ratio > 0:
            raise OptionError(f"ipc2redist is {ipc2redist}; it must be positive")
        if vsize is not None and not np.array_equal(
            checked_weights(vsize, block.n, "vsize"), block.vertex_weights
        ):
            raise OptionError("vsize must equal vwgt: jetpy counts the vertex weight that moves")
        if part is not None:
            return ratio, part
        if goal.nparts != group.size:
            raise OptionError(
                f"part is None, but nparts is {goal.nparts}, and there are {group.size} processes; "
                "pass the previous parts"
            )
        return ratio, np.full(block.n, group.rank)

    with collective_call(group, "adaptive_repart"):
        ratio, home = run_collectively(group, check)
        check_agreement(group, ipc2redist=ratio, part="nothing" if part is None else "an array")
    return _output(
        jetpy.distributed.partition(
            group,
            block,
            goal.nparts,
            **goal.limits,
            home=home,
            migration=1 / ratio,
            seed=seed,
            preset=preset,
            backend=backend,
            threads=threads,
            device=device,
        )
    )


def part_mesh_kway(
    comm: Any,
    elmdist: npt.ArrayLike,
    eptr: npt.ArrayLike,
    eind: npt.ArrayLike,
    ncommonnodes: int,
    nparts: int,
    *,
    elmwgt: npt.ArrayLike | None = None,
    wgtflag: int | None = None,
    numflag: int = 0,
    ncon: int = 1,
    tpwgts: npt.ArrayLike | None = None,
    ubvec: npt.ArrayLike = 1.05,
    seed: int = 0,
    preset: choices.Preset = "default",
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | None = None,
) -> KwayPartition:
    """Partition the elements of a distributed mesh, as ParMETIS_V3_PartMeshKway does. Collective.

    Parameters
    ----------
    elmdist : array of int, shape (processes + 1,)
        First element of each process, and the number of elements; the same in all processes.
    eptr, eind : array of int
        Nodes of the owned elements: element ``elmdist[rank] + i`` has the nodes
        ``eind[eptr[i]:eptr[i + 1]]``, global ids from 0 on, in any order.
    ncommonnodes : int
        Elements that share at least this number of nodes are neighbours: 2 for triangles and
        quadrilaterals, 3 for tetrahedra, 4 for hexahedra.
    elmwgt : array of int, shape (n_owned * ncon,), optional
        Weights of the owned elements, as `vwgt` of `part_kway`; by default 1.
    wgtflag : {0, 2}, optional
        0 ignores `elmwgt`.
    comm, nparts, numflag, ncon, tpwgts, ubvec, seed, preset, backend, threads, device
        As for `part_kway`.

    Returns
    -------
    KwayPartition
        (edgecut, part): the cut of the dual graph, and the part of each owned element.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `part_kway`.

    Examples
    --------
    >>> from jetpy import parmetis
    >>> squares = [0, 4, 8], [0, 1, 4, 3, 1, 2, 5, 4]
    >>> parmetis.part_mesh_kway(None, [0, 2], *squares, ncommonnodes=2, nparts=2).edgecut
    1
    """
    group = communicator(comm)

    def check() -> tuple[_Goal, int, Starts, Any]:
        goal = _make_goal(nparts, wgtflag, numflag, ncon, tpwgts, ubvec)
        least = whole_number("ncommonnodes", ncommonnodes, 1)
        starts, count = _checked_starts(group, "elmdist", elmdist, "eptr", eptr)
        return goal, least, starts, goal.vertex_weights(elmwgt, "elmwgt", count)

    with collective_call(group, "part_mesh_kway"):
        goal, least, starts, weights = run_collectively(group, check)
        check_agreement(group, ncommonnodes=least, elmdist=starts, **asdict(goal))
    rows = jetpy.distributed.dual_graph(group, (eptr, eind), least)
    return _output(
        jetpy.distributed.partition(
            group,
            replace(rows, vertex_weights=weights, names=(*NAMES[:3], "elmwgt")),
            goal.nparts,
            **goal.limits,
            seed=seed,
            preset=preset,
            backend=backend,
            threads=threads,
            device=device,
        )
    )


@dataclass(frozen=True)
class _Goal:
    """Arguments that must be equal in all processes."""

    nparts: int
    ncon: int
    wgtflag: int | None
    tpwgts: tuple[float, ...] | None
    ubvec: float | tuple[float, ...]

    @property
    def limits(self) -> dict[str, Any]:
        """Arguments of `jetpy.distributed.partition` and `refine` for the weights of parts."""
        imbalance = np.subtract(self.ubvec, 1).tolist()
        return {"imbalance": imbalance, "large_imbalance": True, "targets": self.tpwgts}

    def weights(self, given: Any, name: str, bit: int, count: int) -> Any:
        """Return the given weights if wgtflag has the bit, otherwise None.

        Raises
        ------
        OptionError
            If wgtflag has the bit, and there are rows, but no weights.
        """
        if self.wgtflag is None:
            return given
        if not self.wgtflag & bit:
            return None
        if given is None and count:
            raise OptionError(f"wgtflag is {self.wgtflag}, but {name} is None; pass the weights")
        return given

    def vertex_weights(self, given: Any, name: str, count: int) -> npt.NDArray[Any]:
        """Return the weights of `count` rows, shape (count,), or (count, ncon) for several.

        Raises
        ------
        GraphError, OptionError
            If they are not integers, another number of them, or missing.
        """
        found = self.weights(given, name, VERTICES, count)
        weights = checked_weights(found, self.ncon * count, name)
        return weights if self.ncon == 1 else weights.reshape(count, self.ncon)


def _make_goal(
    nparts: Any, wgtflag: Any, numflag: Any, ncon: Any, tpwgts: Any, ubvec: Any
) -> _Goal:
    """Return the checked arguments.

    Raises
    ------
    OptionError
        If one is wrong.
    """
    parts = whole_number("nparts", nparts, 1, MAX_PARTS - 1)
    flags = None if wgtflag is None else whole_number("wgtflag", wgtflag, 0, 3, "None or ")
    if whole_number("numflag", numflag, 0, 1):
        raise OptionError("numflag is 1; it must be 0: jetpy numbers from 0, so subtract 1")
    kinds = whole_number("ncon", ncon, 1, MAX_CONSTRAINTS)
    shares = _checked_tpwgts(tpwgts, parts, kinds)
    return _Goal(parts, kinds, flags, shares, _checked_ubvec(ubvec, kinds))


def _checked_tpwgts(tpwgts: Any, nparts: int, ncon: int) -> tuple[float, ...] | None:
    if tpwgts is None:
        return None
    values, count = np.atleast_1d(as_numbers(tpwgts, "tpwgts")), nparts * ncon
    are_shares = values.dtype.kind in "iuf" and values.shape == (count,)
    if not are_shares or not ((values > 0) & np.isfinite(values)).all():
        each = "each part" if ncon == 1 else "each part and weight"
        raise OptionError(
            f"tpwgts is {tpwgts!r:.60}; it must be {count} positive numbers, one for {each}"
        )
    table = values.reshape(nparts, ncon)
    differ = (table != table[:, :1]).any(axis=1)
    if differ.any():
        p = int(differ.argmax())
        raise OptionError(
            f"tpwgts of part {p} is {table[p].tolist()!r:.60}; a part must have the same share of "
            "each weight"
        )
    return tuple(table[:, 0].tolist())


def _checked_ubvec(ubvec: Any, ncon: int) -> float | tuple[float, ...]:
    values = np.atleast_1d(as_numbers(ubvec, "ubvec"))
    are_numbers = values.dtype.kind in "iuf" and values.shape in ((1,), (ncon,))
    if not are_numbers or not ((values >= 1) & np.isfinite(values)).all():
        numbers = "one number" if ncon == 1 else f"one number, or {ncon},"
        raise OptionError(
            f"ubvec is {ubvec!r:.60}; it must be {numbers} of at least 1: 1.05 allows 5 % more "
            "than the share of a part"
        )
    # 1.05 for a float32, as ParMETIS's real_t often is
    found = tuple(float(str(value)) for value in values)
    return found[0] if len(found) == 1 else found


def _checked_rows(
    function: str,
    comm: Communicator,
    make: Callable[[], _Goal],
    vtxdist: Any,
    arrays: tuple[Any, ...],
) -> tuple[_Goal, Block]:
    """Return the checked arguments of a function and the rows of this process. Collective.

    `make` checks the arguments other than `vtxdist` and `arrays`, which have the order of `NAMES`.
    """
    xadj, adjncy, adjwgt, vwgt = arrays

    def check() -> tuple[_Goal, Starts, Block]:
        goal = make()
        starts, count = _checked_starts(comm, "vtxdist", vtxdist, "xadj", xadj)
        entries = len(integers(adjncy, "adjncy"))
        edge_weights = goal.weights(adjwgt, "adjwgt", EDGES, entries)
        vertex_weights = goal.vertex_weights(vwgt, "vwgt", count)
        return goal, starts, as_block((xadj, adjncy, edge_weights, vertex_weights), NAMES)

    with collective_call(comm, function):
        goal, starts, block = run_collectively(comm, check)
        check_agreement(comm, vtxdist=starts, **asdict(goal))
    return goal, block


def _checked_starts(
    comm: Communicator, name: str, given: Any, pointers: str, offsets: Any
) -> tuple[Starts, int]:
    """Return the first row of each process, and the number of rows of this process.

    Raises
    ------
    GraphError
        If they do not match the pointers to this process's rows; `name` and `pointers` are the
        names of the arrays.
    """
    starts, length = integers(given, name), len(integers(offsets, pointers))
    if len(starts) != comm.size + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise GraphError(
            f"{name} is {starts.tolist()!r:.60}; it must have {comm.size + 1} entries, one more "
            "than there are processes, must begin with 0 and must not decrease"
        )
    count = int(starts[comm.rank + 1] - starts[comm.rank])
    if length != count + 1:
        raise GraphError(
            f"{pointers} has {length} entries; it must have {count + 1}, because {name} gives this "
            f"process {count} rows"
        )
    return tuple(starts.tolist()), count


def _output(result: jetpy.distributed.DistributedPartition) -> KwayPartition:
    return KwayPartition(result.cut, result.parts)
