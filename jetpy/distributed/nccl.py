"""NCCL between GPUs, through CuPy: arrays go from memory to memory, without their hosts."""

from __future__ import annotations

import atexit
from typing import Any

import numpy as np

from jetpy.backends.base import Array, Backend
from jetpy.distributed.communicator import Communicator, Counts, MpiCommunicator

_made: dict[tuple[int, int], Any] = {}
"""Communicators of NCCL, by communicator of MPI and GPU: one takes half a second to make."""


class NcclCommunicator(MpiCommunicator):
    """Processes with a GPU each; what is on the host goes through MPI.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    gpu : int
        Number of this process's GPU, which is the current one.
    """

    def __init__(self, comm: Any, gpu: int) -> None:
        super().__init__(comm)
        import cupy
        from cupy.cuda import nccl

        self._cupy, self._nccl = cupy, nccl
        self._types = {"int32": nccl.NCCL_INT32, "int64": nccl.NCCL_INT64}
        key = comm.py2f(), gpu
        if key not in _made:
            name = comm.bcast(nccl.get_unique_id() if self.rank == 0 else None)
            if not _made:
                atexit.register(_destroy)
            _made[key] = nccl.NcclCommunicator(self.size, name, self.rank)
        self._group = _made[key]

    def add_up(self, backend: Backend, array: Array) -> None:
        """Replace an array, in place, by the sum of those of all processes."""
        if not backend.copies:
            super().add_up(backend, array)
            return
        kind, place = self._types[array.dtype.name], array.data.ptr
        self._group.allReduce(place, place, len(array), kind, self._nccl.NCCL_SUM, self._stream)

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the arrays of all processes, one after the other."""
        if not backend.copies:
            return super().gather(backend, array)
        received = np.array(self.mpi_comm.allgather(len(array)), np.int64)
        xp = backend.xp
        everything = xp.concatenate([array] * self.size) if self.size > 1 else array
        sent = np.full(self.size, len(array), np.int64)
        return self.exchange(backend, everything, sent, received)

    def exchange(self, backend: Backend, array: Array, sent: Counts, received: Counts) -> Array:
        """Hand each process its share, and return what this one is handed."""
        if not backend.copies:
            return super().exchange(backend, array, sent, received)
        array = backend.xp.ascontiguousarray(array)
        found = backend.xp.empty(int(received.sum()), array.dtype)
        width = array.itemsize
        source, target = array.data.ptr, found.data.ptr
        self._nccl.groupStart()
        for rank in range(self.size):
            going, coming = int(sent[rank]) * width, int(received[rank]) * width
            if going:
                self._group.send(source, going, self._nccl.NCCL_INT8, rank, self._stream)
            if coming:
                self._group.recv(target, coming, self._nccl.NCCL_INT8, rank, self._stream)
            source, target = source + going, target + coming
        self._nccl.groupEnd()
        return found

    @property
    def _stream(self) -> int:
        stream: int = self._cupy.cuda.get_current_stream().ptr
        return stream


def between_gpus(comm: Communicator, backend: Backend) -> Communicator:
    """Return what processes talk through that have a GPU each; `comm` if they have not."""
    import socket

    if not isinstance(comm, MpiCommunicator):
        return comm
    gpus = comm.gather_objects((socket.gethostname(), backend.gpu))
    if any(gpu is None for _, gpu in gpus) or len(set(gpus)) < comm.size:
        return comm
    assert backend.gpu is not None
    return NcclCommunicator(comm.mpi_comm, backend.gpu)


def _destroy() -> None:
    """Destroy what was made; processes that end without that wait for ever."""
    for made in _made.values():
        made.destroy()
