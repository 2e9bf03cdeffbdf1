"""Values of vertices, or of other ids in ranges, sent to the processes that own them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.distributed.communicator import Communicator
from jetpy.distributed.piece import Blocks
from jetpy.engines.base import Backend

Values = npt.NDArray[Any]


def even_ranges(comm: Communicator, ids: Values) -> Blocks:
    """Return even ranges of all ids from 0 on, one for each process, given its own. Collective."""
    return equal_shares(comm, max(comm.allgather_objects(int(ids.max(initial=-1)))) + 1)


def equal_shares(comm: Communicator, end: int) -> Blocks:
    """Return even ranges of the ids from 0 to `end` (exclusive), one for each process."""
    return Blocks(
        comm, np.array([end * rank // comm.size for rank in range(comm.size + 1)], np.int64)
    )


def send_to_owners(host: Backend, blocks: Blocks, ids: Values, *values: Values) -> list[Values]:
    """Send ids and their values to the owners of the ids; return the received ones. Collective.

    Parameters
    ----------
    host : Backend
    blocks : Blocks
        The range of ids of each process.
    ids, values : int, shape (count,)
    """
    order = np.argsort(ids, kind="stable")
    sent = np.diff(np.searchsorted(ids[order], blocks.starts)).astype(np.int64)
    received = blocks.comm.alltoall(sent)
    return [blocks.comm.exchange(host, array[order], sent, received) for array in (ids, *values)]


def ask_owners(
    host: Backend, blocks: Blocks, ids: Values, answer: Callable[[Values], Values]
) -> Values:
    """Return what the owners of ids answer. Collective.

    `answer` returns values for own ids; other arguments as for `send_to_owners`.
    """
    comm = blocks.comm
    listed, places = np.unique(ids, return_inverse=True)
    asked = np.diff(np.searchsorted(listed, blocks.starts)).astype(np.int64)
    wanted, counts = comm.send(host, listed, asked)
    answers: Values = comm.exchange(host, answer(wanted), counts, asked)
    return answers[places]


def gather_on_root(host: Backend, comm: Communicator, values: Values) -> Values:
    """Return the values of all processes on process 0, in rank order, none on others. Collective.

    `values` have shape (count,) and the same dtype on all processes.
    """
    sent = np.zeros(comm.size, np.int64)
    sent[0] = len(values)
    found: Values = comm.send(host, values, sent)[0]
    return found


def scatter_from_root(host: Backend, blocks: Blocks, values: Values) -> Values:
    """Return the values of owned vertices, given those of all on process 0. Collective."""
    sent, received = np.zeros((2, blocks.comm.size), np.int64)
    received[0] = blocks.end - blocks.first
    if blocks.comm.rank == 0:
        sent = np.diff(blocks.starts)
    found: Values = blocks.comm.exchange(host, values, sent, received)
    return found
