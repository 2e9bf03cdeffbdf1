"""jetpy's distributed partitioner and others, which are libraries called through ctypes.

All of them get the same blocks of a graph without edge weights, in the integer type that they
require. jetpy and ParMETIS also balance several weights of each vertex.
The libraries must be built for the MPI library that mpi4py uses, because they get its communicator.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from ctypes import CDLL, byref, c_bool, c_double, c_int, c_void_p
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy.distributed
from bench.libraries import load_libraries, pointer
from jetpy.distributed.block import Block
from jetpy.distributed.communicator import starts_of
from jetpy.study.tools import IMBALANCE

FAST_MESH, FAST_SOCIAL = 1, 4
"""ParHIP's FASTMESH and FASTSOCIAL."""

Parts = npt.NDArray[Any]
Solve = Callable[[int, int], Parts]
"""Called as `solve(k, seed)`; returns the parts of the owned vertices. Collective."""


@dataclass(frozen=True, eq=False)
class Job:
    """The input of a tool in one process.

    Attributes
    ----------
    comm
        Communicator of mpi4py, or None for a single process, which only jetpy accepts.
    block
        Block of the graph that this process owns.
    libraries
        Folders that contain the libraries.
    is_social
        Whether the graph has a few vertices of very high degree, as a social network.
    """

    comm: Any
    block: Block
    libraries: tuple[Path, ...]
    is_social: bool

    def load(self, *names: str) -> CDLL:
        """Load libraries as `load_libraries` does, and return the last."""
        return load_libraries(self.libraries, *names)

    def csr_pointers(self, dtype: type) -> list[c_void_p]:
        """Return pointers to vtxdist, and to xadj and adjncy of the block, in an integer type."""
        starts = starts_of(self.comm.allgather(self.block.n))
        return [pointer(a.astype(dtype)) for a in (starts, self.block.indptr, self.block.indices)]

    @property
    def comm_address(self) -> c_void_p:
        """Address of the communicator."""
        from mpi4py import MPI

        return c_void_p(MPI._addressof(self.comm))


def _jetpy(preset: str, job: Job) -> Solve:
    def solve(k: int, seed: int) -> Parts:
        return jetpy.distributed.partition(
            job.comm,
            job.block,
            k,
            imbalance=IMBALANCE,
            seed=seed,
            preset=preset,
            backend="cpu",
            threads=1,
        ).parts

    return solve


def _parmetis(job: Job) -> Solve:
    library = job.load("libmetis.so.5", "libparmetis.so.4.0")
    csr, zero, ncon = job.csr_pointers(np.int32), byref(c_int(0)), job.block.kinds
    ubvec = np.full(ncon, 1 + IMBALANCE, np.float32)
    vwgt = job.block.vertex_weights.astype(np.int32)
    weights: tuple[Any, ...] = (None, None, zero)
    if ncon > 1:
        weights = pointer(vwgt), None, byref(c_int(2))

    def solve(k: int, seed: int) -> Parts:
        parts, cut = np.empty(job.block.n, np.int32), c_int()
        tpwgts, options = np.full(k * ncon, 1 / k, np.float32), np.array([1, 0, seed], np.int32)
        settings = (
            byref(c_int(ncon)),
            byref(c_int(k)),
            pointer(tpwgts),
            pointer(ubvec),
            pointer(options),
        )
        status = library.ParMETIS_V3_PartKway(
            *csr, *weights, zero, *settings, byref(cut), pointer(parts), job.comm_address
        )
        assert status == 1
        return parts

    return solve


def _ptscotch(job: Job) -> Solve:
    library = job.load(
        *("libscotcherr-7.0.so", "libscotch-7.0.so"),
        *("libptscotcherr-7.0.so", "libptscotch-7.0.so"),
    )
    assert library.SCOTCH_numSizeof() == 4
    os.environ["SCOTCH_PTHREAD_NUMBER"] = "1"
    library.SCOTCH_dgraphAlloc.restype = library.SCOTCH_stratAlloc.restype = c_void_p
    graph, strategy = c_void_p(library.SCOTCH_dgraphAlloc()), c_void_p(library.SCOTCH_stratAlloc())
    comm = c_void_p.from_address(job.comm_address.value or 0)
    _, indptr, indices = job.csr_pointers(np.int32)
    n, entries = job.block.n, len(job.block.indices)

    def solve(k: int, seed: int) -> Parts:
        parts = np.empty(n, np.int32)
        vertices = n, n, indptr, None, None, None
        edges = entries, entries, indices, None, None
        library.SCOTCH_randomSeed(seed)
        library.SCOTCH_randomReset()
        failed = (
            library.SCOTCH_dgraphInit(graph, comm)
            or library.SCOTCH_dgraphBuild(graph, 0, *vertices, *edges)
            or library.SCOTCH_stratInit(strategy)
            or library.SCOTCH_stratDgraphMapBuild(
                strategy, 0, job.comm.size, k, c_double(IMBALANCE)
            )
            or library.SCOTCH_dgraphPart(graph, k, strategy, pointer(parts))
        )
        assert not failed
        library.SCOTCH_stratExit(strategy)
        library.SCOTCH_dgraphExit(graph)
        return parts

    return solve


def _parhip(job: Job) -> Solve:
    library = job.load("libparhip_interface.so")
    csr, suppress_output = job.csr_pointers(np.uint64), c_bool(True)
    mode = FAST_SOCIAL if job.is_social else FAST_MESH

    def solve(k: int, seed: int) -> Parts:
        parts, cut = np.empty(job.block.n, np.uint64), c_int()
        settings = byref(c_int(k)), byref(c_double(IMBALANCE)), suppress_output, seed, mode
        library.ParHIPPartitionKWay(
            *csr, None, None, *settings, byref(cut), pointer(parts), job.comm_address
        )
        return parts.astype(np.int32)

    return solve


TOOLS: dict[str, Callable[[Job], Solve]] = {
    "jetpy/default": partial(_jetpy, "default"),
    "jetpy/fast": partial(_jetpy, "fast"),
    "parmetis": _parmetis,
    "ptscotch": _ptscotch,
    "parhip": _parhip,
}
"""Preparation of each tool. It is not timed."""
ONE_WEIGHT = "ptscotch", "parhip"
"""Tools that balance one weight."""
