"""NCCL between GPUs, through CuPy: transfers do not pass through the hosts."""

from __future__ import annotations

import atexit
import logging
from functools import cache
from typing import Any

from jetpy.distributed.communicator import Communicator, Counts, MpiCommunicator
from jetpy.engines.base import Array, Backend

_living: list[Any] = []
"""NCCL communicators that have not been destroyed."""


class NcclCommunicator(MpiCommunicator):
    """Processes with a GPU each; arrays on the host are exchanged through MPI.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    gpus : tuple of str
        UUIDs of the GPUs of all processes. The GPU of this process is the current device.
    """

    is_between_gpus = True
    transport = "nccl"

    def __init__(self, comm: Any, gpus: tuple[str, ...]) -> None:
        super().__init__(comm)
        import cupy
        from cupy.cuda import nccl

        self._cupy, self._nccl = cupy, nccl
        self._types = {"int32": nccl.NCCL_INT32, "int64": nccl.NCCL_INT64}
        self._group = _group_of(comm, gpus)

    def allreduce(self, backend: Backend, *arrays: Array) -> None:
        """Replace arrays, in place, by their sums over all processes."""
        if not backend.copies:
            super().allreduce(backend, *arrays)
            return
        stream = self._stream
        self._nccl.groupStart()
        for array in arrays:
            kind, place = self._types[array.dtype.name], array.data.ptr
            self._group.allReduce(place, place, len(array), kind, self._nccl.NCCL_SUM, stream)
        self._nccl.groupEnd()

    def allgather(self, backend: Backend, array: Array, found: Array) -> None:
        """Write the arrays of all processes, of equal length, to `found`, in rank order."""
        if not backend.copies:
            super().allgather(backend, array, found)
            return
        kind, places = self._types[array.dtype.name], (array.data.ptr, found.data.ptr)
        self._group.allGather(*places, len(array), kind, self._stream)

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the concatenated arrays of all processes, in rank order. Lengths may differ."""
        if not backend.copies:
            return super().gather(backend, array)
        lengths = self.allgather_objects(len(array))
        gathered = backend.xp.empty(sum(lengths), array.dtype)
        kind, stream, place = self._types[array.dtype.name], self._stream, gathered.data.ptr
        array = backend.xp.ascontiguousarray(array)
        self._nccl.groupStart()
        for rank, length in enumerate(lengths):
            source = array.data.ptr if rank == self.rank else place
            if length:
                self._group.broadcast(source, place, length, kind, rank, stream)
            place += length * array.itemsize
        self._nccl.groupEnd()
        return gathered

    def alltoallv(
        self, backend: Backend, array: Array, found: Array, sent: Counts, received: Counts
    ) -> None:
        """Send each rank its entries, and write the received ones to `found`."""
        if not backend.copies:
            super().alltoallv(backend, array, found, sent, received)
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
    """Return an NCCL communicator if every process has a separate GPU, otherwise `comm`.

    If a process lacks NCCL, all use MPI, and the logger ``jetpy.distributed`` warns. Collective.
    """
    if not isinstance(comm, MpiCommunicator):
        return comm
    devices = comm.allgather_objects((_name_of(backend), _has_nccl(backend)))
    gpus = tuple(name for name, _ in devices)
    if None in gpus or len(set(gpus)) < comm.size:
        return comm
    if not all(is_there for _, is_there in devices):
        if comm.rank == 0:
            logging.getLogger("jetpy.distributed").warning(
                "NCCL is missing, so jetpy copies arrays through host memory, which is slow: pip "
                "install nvidia-nccl-cu13 (nvidia-nccl-cu12 with cupy-cuda12x)"
            )
        return comm
    return NcclCommunicator(comm.mpi_comm, gpus)


def _name_of(backend: Backend) -> str | None:
    """Return the UUID of the GPU, which is unique across machines; None on CPUs."""
    return None if backend.gpu is None else _uuid(backend.gpu)


@cache
def _uuid(gpu: int) -> str:
    """Return the UUID of a GPU, which CUDA takes milliseconds to find."""
    import cupy

    return bytes(cupy.cuda.runtime.getDeviceProperties(gpu)["uuid"]).hex()


def _has_nccl(backend: Backend) -> bool:
    if backend.gpu is None:
        return False
    from cupy.cuda import nccl

    return bool(nccl.available)


def _group_of(comm: Any, gpus: tuple[str, ...]) -> Any:
    """Return the NCCL communicator of these processes, which takes half a second to create.

    It is cached as an attribute of the MPI communicator.
    """
    from cupy.cuda import nccl

    groups = comm.Get_attr(_keyval())
    if groups is None:
        groups = {}
        comm.Set_attr(_keyval(), groups)
    if gpus not in groups:
        name = comm.bcast(nccl.get_unique_id() if comm.Get_rank() == 0 else None)
        groups[gpus] = nccl.NcclCommunicator(comm.Get_size(), name, comm.Get_rank())
        _living.append(groups[gpus])
    return groups[gpus]


@cache
def _keyval() -> int:
    """Return the key of the attribute of MPI communicators that stores NCCL communicators."""
    from mpi4py import MPI

    atexit.register(_destroy_all)
    keyval: int = MPI.Comm.Create_keyval(delete_fn=lambda comm, key, groups: _destroy(groups))
    return keyval


def _destroy(groups: dict[tuple[str, ...], Any]) -> None:
    """Destroy the NCCL communicators of an MPI communicator that is being freed."""
    for group in groups.values():
        if group in _living:
            _living.remove(group)
            group.destroy()


def _destroy_all() -> None:
    """Destroy all NCCL communicators; otherwise processes hang at exit."""
    while _living:
        _living.pop().destroy()
