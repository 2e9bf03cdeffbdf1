"""NCCL between GPUs, through CuPy: arrays go from memory to memory, without their hosts."""

from __future__ import annotations

import atexit
from typing import Any

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

    can_be_recorded = True

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

    def add_up(self, backend: Backend, *arrays: Array) -> None:
        """Replace arrays, in place, by the sums of those of all processes."""
        if not backend.copies:
            super().add_up(backend, *arrays)
            return
        stream = self._stream
        self._nccl.groupStart()
        for array in arrays:
            kind, place = self._types[array.dtype.name], array.data.ptr
            self._group.allReduce(place, place, len(array), kind, self._nccl.NCCL_SUM, stream)
        self._nccl.groupEnd()

    def gather_into(self, backend: Backend, array: Array, found: Array) -> None:
        """Put the arrays of all processes, of equal lengths, into one, one after the other."""
        if not backend.copies:
            super().gather_into(backend, array, found)
            return
        kind, places = self._types[array.dtype.name], (array.data.ptr, found.data.ptr)
        self._group.allGather(*places, len(array), kind, self._stream)

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the arrays of all processes, one after the other."""
        if not backend.copies:
            return super().gather(backend, array)
        lengths = self.gather_objects(len(array))
        found = backend.xp.empty(sum(lengths), array.dtype)
        kind, stream, place = self._types[array.dtype.name], self._stream, found.data.ptr
        array = backend.xp.ascontiguousarray(array)
        self._nccl.groupStart()
        for rank, length in enumerate(lengths):
            source = array.data.ptr if rank == self.rank else place
            if length:
                self._group.broadcast(source, place, length, kind, rank, stream)
            place += length * array.itemsize
        self._nccl.groupEnd()
        return found

    def exchange_into(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Hand each process its share, and put what this one is handed into an array."""
        if not backend.copies:
            super().exchange_into(backend, array, found, sent, received)
            return
        width, stream = array.itemsize, self._stream
        source, target = array.data.ptr, found.data.ptr
        self._nccl.groupStart()
        for rank in range(self.size):
            going, coming = int(sent[rank]) * width, int(received[rank]) * width
            if going:
                self._group.send(source, going, self._nccl.NCCL_INT8, rank, stream)
            if coming:
                self._group.recv(target, coming, self._nccl.NCCL_INT8, rank, stream)
            source, target = source + going, target + coming
        self._nccl.groupEnd()

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
