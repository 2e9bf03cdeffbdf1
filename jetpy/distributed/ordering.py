"""Orderings of a matrix whose rows are distributed over processes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.api.ordering_run import OrderingRun, checked_start
from jetpy.api.run import Execution
from jetpy.coarsening.constraints import WeightBounds
from jetpy.coarsening.methods import is_dense
from jetpy.device.device_graph import DeviceGraph
from jetpy.distributed.api import agree_on_block, communicator, engine_of_process
from jetpy.distributed.block import Block, check_ids, find_asymmetry
from jetpy.distributed.communicator import Communicator, starts_of
from jetpy.distributed.faults import agreed, check_agreement, collective_call, run_collectively
from jetpy.distributed.gathering import SMALL, gather_graph
from jetpy.distributed.levels import coarsen_piece
from jetpy.distributed.piece import Blocks, Piece, cut_out
from jetpy.distributed.together import group_names
from jetpy.engines.base import Array, Backend
from jetpy.errors import GraphError
from jetpy.graph.checks import flag, whole_number
from jetpy.graph.csr import Graph, IntArray
from jetpy.io.patterns import pattern_graph
from jetpy.multilevel.outcome import cpu_threads
from jetpy.ordering.constraints import checked_constraints, rows_of
from jetpy.ordering.effort import chosen_effort, used_options
from jetpy.ordering.processes import ALONE, OrderingProcesses
from jetpy.problem.options import CoarsenOptions
from jetpy.progress import ProgressOption
from jetpy.result.ordering import Ordering
from jetpy.result.separator_tree import SeparatorTree


@dataclass(frozen=True, eq=False)
class DistributedOrdering:
    """An order of the rows of a distributed matrix.

    All processes have the same attributes, except for `iperm`, `first`, and the seconds and threads
    of `whole`.

    Attributes
    ----------
    whole : Ordering
        The order of all rows, and what it costs. `seconds` are those of this process, without the
        time to gather the matrix and to compile kernels.
    iperm : int32, shape (n_owned,)
        Place of each owned row, as `Ordering.iperm` has it for all rows.
    first : int
        Global id of the first owned row.
    processes : int
        Number of processes.
    """

    whole: Ordering
    iperm: IntArray
    first: int
    processes: int

    @property
    def perm(self) -> IntArray:
        """The row in each place, int32, shape (n,): the permutation of all rows."""
        return self.whole.perm

    @property
    def tree(self) -> SeparatorTree:
        """The separators and leaves of the whole matrix."""
        assert self.whole.tree is not None
        return self.whole.tree

    @property
    def n(self) -> int:
        """Number of rows of the whole matrix."""
        return self.whole.n

    @property
    def threads(self) -> int:
        """Number of CPU threads of this process."""
        return self.whole.threads

    @property
    def seconds(self) -> float:
        """Seconds of this process, as `whole` has them."""
        return self.whole.seconds

    def __repr__(self) -> str:
        return f"DistributedOrdering({self.whole!r}, processes {self.processes})"


def order(
    comm: Any,
    block: Any,
    *,
    vtxdist: npt.ArrayLike | None = None,
    preset: choices.OrderingPreset = "default",
    last: npt.ArrayLike | None = None,
    keep_last_order: bool = False,
    together: npt.ArrayLike | None = None,
    start: npt.ArrayLike | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> DistributedOrdering:
    """Order a sparse symmetric matrix as `jetpy.order` does, with several processes. Collective.

    Every process takes the same choices. Parameters, result and errors are those of
    `nested_dissection`.
    """
    given = last, keep_last_order, together, start, seed, threads, progress
    return _ordered("order", {"preset": preset}, comm, block, vtxdist, *given)


def nested_dissection(
    comm: Any,
    block: Any,
    *,
    vtxdist: npt.ArrayLike | None = None,
    preset: choices.OrderingPreset = "default",
    tries: int | None = None,
    leaf_size: int | None = None,
    imbalances: Sequence[float] | None = None,
    largest_side: float | None = None,
    last: npt.ArrayLike | None = None,
    keep_last_order: bool = False,
    together: npt.ArrayLike | None = None,
    start: npt.ArrayLike | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> DistributedOrdering:
    """Order a sparse symmetric matrix by nested dissection, with several processes. Collective.

    All processes must pass the same options. The order equals that of `jetpy.nested_dissection` for
    the whole matrix, whatever the number of processes and their blocks. Every process gathers the
    pattern of the whole matrix, so more processes save time, but no memory. It runs on CPUs.

    Parameters
    ----------
    comm, vtxdist, threads
        As for `partition`.
    progress : bool or callable, optional
        As for `jetpy.partition`; only the argument of process 0 counts.
    block : tuple of arrays
        (indptr, indices) of the owned rows, possibly none, as for `partition`. Only the positions
        of the entries matter. They may include the diagonal.
    preset, tries, leaf_size, imbalances, largest_side, seed
        As for `jetpy.nested_dissection`.
    last : integers, optional
        Global ids of the rows that come after all others, as for `jetpy.nested_dissection`; the
        same on all processes.
    keep_last_order : bool
        Leave the rows of `last` in the order in which it has them.
    together : integers, shape (n_owned,), optional
        Group of each owned row, -1 for none, as for `jetpy.nested_dissection`. Processes may have
        rows of the same group.
    start : integers, shape (n,), optional
        An order of all rows to improve, as `DistributedOrdering.perm` has it; the same on all
        processes.

    Returns
    -------
    DistributedOrdering

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `jetpy.nested_dissection`, in all processes; the message names the lowest rank with
        an error. Any other exception in one process ends all processes (MPI_Abort).
    """
    chosen = {
        "preset": preset,
        "tries": tries,
        "leaf_size": leaf_size,
        "imbalances": imbalances,
        "largest_side": largest_side,
    }
    given = last, keep_last_order, together, start, seed, threads, progress
    return _ordered("nested_dissection", chosen, comm, block, vtxdist, *given)


def _ordered(
    method: str,
    chosen: dict[str, Any],
    comm: Any,
    block: Any,
    vtxdist: npt.ArrayLike | None,
    last: npt.ArrayLike | None,
    keep_last_order: bool,
    together: npt.ArrayLike | None,
    start: npt.ArrayLike | None,
    seed: int,
    threads: int | None,
    progress: ProgressOption,
) -> DistributedOrdering:
    """Order a matrix by a method of `OrderingRun`; `chosen` are arguments of `chosen_effort`."""

    def shared() -> dict[str, Any]:
        return {
            **vars(chosen_effort(**chosen)),
            "seed": whole_number("seed", seed),
            "last": () if last is None else tuple(rows_of(last).tolist()),
            "keep_last_order": flag("keep_last_order", keep_last_order),
        }

    group = communicator(comm)
    with collective_call(group, method):
        own, blocks = agree_on_block(group, block, vtxdist)
        given = run_collectively(group, shared)
        check_agreement(group, **given)
        begin = run_collectively(group, lambda: checked_start(start, blocks.n))
        check_agreement(group, start=None if begin is None else _described(begin))
        names = group_names(blocks, together)
        with ExitStack() as stack:
            lease = partial(engine_of_process, stack, group.neighbours, "cpu", device=None)
            host = run_collectively(group, lambda: lease(threads=threads))
            groups = None if names is None else group.gather(host, names)
            constraints = run_collectively(
                group, lambda: checked_constraints(last, keep_last_order, groups, blocks.n)
            )
            graph = gather_pattern(host, blocks, own)
            shown = progress if group.rank == 0 else None
            execution = Execution("cpu", cpu_threads(host), None, shown)
        options, pattern = used_options(**chosen), (graph.indptr, graph.indices)
        run = OrderingRun(method, options, given["seed"], constraints, *pattern)
        processes = SeveralProcesses(group) if group.size > 1 else ALONE
        try:
            whole = run.order(graph, execution, begin, processes)
        except GraphError as error:  # of all processes, which have the same graph
            agreed(error)
            raise
        iperm = whole.iperm[blocks.first : blocks.end].copy()
        return DistributedOrdering(whole, iperm, blocks.first, group.size)


def _described(start: IntArray) -> str:
    """Describe an order for `check_agreement`."""
    return f"permutation with SHA-256 {sha256(start.tobytes()).hexdigest()[:16]}"


def gather_pattern(host: Backend, blocks: Blocks, block: Block) -> Graph:
    """Return the pattern of the whole matrix on every process. Collective.

    Raises
    ------
    GraphError
        If it is not symmetric, or breaks a rule of `as_graph`.
    """
    comm = blocks.comm
    run_collectively(comm, lambda: check_ids(block, blocks))
    arrays = block.indptr, block.indices
    indptr, heads = (array.astype(np.int64, copy=False) for array in arrays)
    pattern = starts_of(comm.gather(host, np.diff(indptr))), comm.gather(host, heads)
    try:
        return pattern_graph(pattern, None, symmetrize=False)
    except GraphError as error:  # of all processes, which have the same pattern
        find_asymmetry(host, blocks, indptr, heads, np.ones(len(heads), np.int64))
        agreed(error)
        raise


@dataclass(frozen=True, eq=False)
class GatheredGraph(DeviceGraph):
    """A coarse graph on every process, and the piece of this process."""

    piece: Piece


class SeveralProcesses(OrderingProcesses):
    """The processes of a communicator.

    Parameters
    ----------
    comm : Communicator
    """

    def __init__(self, comm: Communicator) -> None:
        self.rank, self.size, self._comm = comm.rank, comm.size, comm

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the concatenated arrays of all processes, in rank order. Lengths may differ."""
        return self._comm.gather(backend, array)

    def coarsen(
        self,
        backend: Backend,
        graph: DeviceGraph,
        options: CoarsenOptions,
        bounds: WeightBounds,
        salt: int,
        labels: Array,
    ) -> tuple[DeviceGraph, Array]:
        """Coarsen a large graph in pieces, and gather the coarse graph on all processes.

        Every process coarsens graphs with at most `SMALL` vertices and directed edges together.
        """
        if graph.size <= SMALL or is_dense(graph, options) or options.method != "two-hop":
            return super().coarsen(backend, graph, options, bounds, salt, labels)
        piece = (
            graph.piece if isinstance(graph, GatheredGraph) else cut_out(backend, self._comm, graph)
        )
        own_labels = backend.xp.concatenate(
            (labels[piece.blocks.first : piece.blocks.end], labels[piece.halo.ghosts])
        )
        coarse, coarse_of = coarsen_piece(backend, piece, options, bounds, salt, own_labels)
        ids = self._comm.gather(backend, coarse.halo.ids_of(coarse_of))
        return GatheredGraph(**vars(gather_graph(backend, coarse)), piece=coarse), ids
