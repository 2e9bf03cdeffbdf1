"""Orderings of a matrix whose rows are distributed over processes.

Process 0 gathers the pattern, and orders it as a single process does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.api import ordering as one_process
from jetpy.api.ordering_run import checked_start
from jetpy.device.backends import lease
from jetpy.distributed.alone import run_on_root
from jetpy.distributed.api import agree_on_block, communicator
from jetpy.distributed.block import Block, check_ids
from jetpy.distributed.communicator import Communicator, starts_of
from jetpy.distributed.faults import check_agreement, collective_call, run_collectively
from jetpy.distributed.gathering import check_memory
from jetpy.distributed.piece import Blocks
from jetpy.distributed.routing import Values, gather_on_root
from jetpy.distributed.together import group_names
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.graph.checks import flag, whole_number
from jetpy.graph.csr import INT32_MAX, IntArray
from jetpy.ordering.constraints import rows_of
from jetpy.ordering.effort import chosen_effort
from jetpy.progress import ProgressOption
from jetpy.result.ordering import Ordering, Origin
from jetpy.result.separator_tree import SeparatorTree

METHODS = {"order": one_process.order, "nested_dissection": one_process.nested_dissection}
"""The functions of a single process."""


@dataclass(frozen=True, eq=False)
class DistributedOrdering:
    """An order of the rows of a distributed matrix.

    All processes have the same attributes, except for `iperm` and `first`.

    Attributes
    ----------
    whole : Ordering
        The order of all rows, and what it costs. `seconds` and `threads` are those of process 0,
        without the time to gather the matrix and to compile kernels. Only there, it can be updated
        and saved as a session.
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
        """Number of CPU threads of process 0."""
        return self.whole.threads

    @property
    def seconds(self) -> float:
        """Seconds of process 0, as `whole` has them."""
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

    Parameters, result and errors are those of `nested_dissection`.
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
    the whole matrix, whatever the number of processes and their blocks. Process 0 alone gathers the
    pattern, and orders it with the CPU threads of all processes of its machine, which sleep.

    Parameters
    ----------
    comm, vtxdist, threads
        As for `partition`. Process 0 has the sum of the `threads` of its machine.
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
    OutOfMemoryError
        If the machine of process 0 has too little memory for the pattern.
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
    """Order a matrix by one of `METHODS`; `chosen` are arguments of `chosen_effort`."""

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
        check_agreement(group, **run_collectively(group, shared))
        begin = run_collectively(group, lambda: checked_start(start, blocks.n))
        check_agreement(group, start=None if begin is None else _described(begin))
        names = group_names(blocks, together)
        with lease("cpu", 1) as host:
            groups = None if names is None else gather_on_root(host, group, names)
            pattern = gather_pattern(host, blocks, own)

            def work(all_threads: int) -> Ordering:
                return METHODS[method](
                    pattern,
                    **chosen,
                    last=last,
                    keep_last_order=keep_last_order,
                    together=groups,
                    start=begin,
                    seed=seed,
                    threads=all_threads,
                    progress=progress,
                )

            found = run_on_root(group, threads, work)
            whole = _given_out(host, group, found)
        iperm = whole.iperm[blocks.first : blocks.end].copy()
        return DistributedOrdering(whole, iperm, blocks.first, group.size)


def _described(start: IntArray) -> str:
    """Describe an order for `check_agreement`."""
    return f"permutation with SHA-256 {sha256(start.tobytes()).hexdigest()[:16]}"


def gather_pattern(host: Backend, blocks: Blocks, block: Block) -> tuple[Values, Values]:
    """Return the pattern of the whole matrix on process 0, no rows on others. Collective.

    Raises
    ------
    GraphError
        If a block has wrong ids.
    OutOfMemoryError
        As `check_memory` does.
    """
    comm = blocks.comm
    run_collectively(comm, lambda: check_ids(block, blocks))
    [entries] = comm.totals(len(block.indices))
    check_memory(comm, blocks.n, entries // 2, on_root=True, what="the pattern of a matrix")
    degrees = gather_on_root(host, comm, np.diff(block.indptr).astype(np.int64))
    kind = np.int32 if blocks.n <= INT32_MAX else np.int64
    return starts_of(degrees), gather_on_root(host, comm, block.indices.astype(kind))


class PatternElsewhere(Origin):
    """Stands for the run of process 0, which alone has the pattern of the matrix."""

    def update(self, old: Ordering, *matrix: Any, **options: Any) -> Ordering:
        """Refuse to update an ordering."""
        raise _refusal()

    def save(self, path: Any, ordering: Ordering) -> None:
        """Refuse to write an ordering."""
        raise _refusal()


def _refusal() -> OptionError:
    return OptionError("only process 0 has the pattern of the matrix: update and save it there")


def _given_out(host: Backend, comm: Communicator, found: Ordering | None) -> Ordering:
    """Return the ordering that process 0 has found on all processes. Collective."""
    if comm.size == 1:
        assert found is not None
        return found
    arrays, rest = [np.empty(0, np.int32)] * 5, None
    if found is not None:
        tree, symbolic, nothing = found.tree, found.symbolic, arrays[0]
        assert tree is not None
        arrays = [found.perm, tree.parents, tree.starts, symbolic.parents, symbolic.counts]
        small = replace(symbolic, parents=nothing, counts=nothing)
        rest = replace(found, perm=nothing, tree=None, symbolic=small, origin=None)
    perm, parents, starts, *structure = (comm.gather(host, array) for array in arrays)
    common: Ordering = comm.allgather_objects(rest)[0]
    if found is not None:
        return found
    symbolic = replace(common.symbolic, parents=structure[0], counts=structure[1])
    tree = SeparatorTree(parents, starts)
    return replace(common, perm=perm, tree=tree, symbolic=symbolic, origin=PatternElsewhere())
