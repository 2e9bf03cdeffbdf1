"""Distributed partitioners: jetpy's, and others as libraries, called through ctypes.

All get the same blocks of a graph without weights, in the integers that they take. Their libraries
have to be built for the MPI library that mpi4py uses, as they get its communicator.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from ctypes import CDLL, RTLD_GLOBAL, byref, c_bool, c_double, c_int, c_void_p
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy.distributed
from bench.child import Absent
from bench.tools import IMBALANCE
from jetpy.distributed.block import Block
from jetpy.distributed.communicator import starts_of

FAST_MESH, FAST_SOCIAL = 1, 4
"""ParHIP's numbers of its modes."""

Parts = npt.NDArray[Any]
Solve = Callable[[int, int], Parts]
"""Partitions into k parts with a seed; returns the parts of own vertices."""


@dataclass(frozen=True, eq=False)
class Job:
    """What a process gives to a tool: its block, where libraries lie, and whether there are hubs.

    `comm` is of mpi4py, or None for a single process, which is enough for jetpy.
    """

    comm: Any
    block: Block
    libraries: tuple[Path, ...]
    hubs: bool

    def load(self, *names: str) -> CDLL:
        """Load libraries, each of which may need those before it; return the last.

        Those that no folder has are the system's.

        Raises
        ------
        Absent
            If one is missing, or needs what is missing.
        """
        for name in names:
            found = [file for folder in self.libraries for file in folder.rglob(name)]
            nearest = min(found, key=lambda file: len(file.parts), default=name)
            try:
                library = CDLL(os.fspath(nearest), RTLD_GLOBAL)
            except OSError as error:
                raise Absent(str(error)) from error
        return library

    def rows(self, dtype: type) -> list[c_void_p]:
        """Return pointers to the first vertices of all processes, own offsets and neighbours."""
        starts = starts_of(self.comm.allgather(self.block.n))
        return [pointer(a.astype(dtype)) for a in (starts, self.block.indptr, self.block.indices)]

    @property
    def address(self) -> c_void_p:
        """Where the communicator is."""
        from mpi4py import MPI

        return c_void_p(MPI._addressof(self.comm))


def pointer(array: npt.NDArray[Any]) -> c_void_p:
    """Return where an array is; it lives as long as that."""
    return array.ctypes.data_as(c_void_p)


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
    rows, none, zero, one = job.rows(np.int32), None, byref(c_int(0)), byref(c_int(1))
    most = np.array([1 + IMBALANCE], np.float32)

    def solve(k: int, seed: int) -> Parts:
        parts, cut = np.empty(job.block.n, np.int32), c_int()
        shares, options = np.full(k, 1 / k, np.float32), np.array([1, 0, seed], np.int32)
        weights = none, none, zero
        wanted = one, byref(c_int(k)), pointer(shares), pointer(most), pointer(options)
        found = byref(cut), pointer(parts)
        status = library.ParMETIS_V3_PartKway(*rows, *weights, zero, *wanted, *found, job.address)
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
    comm = c_void_p.from_address(job.address.value or 0)
    _, indptr, indices = job.rows(np.int32)
    own, entries, none = job.block.n, len(job.block.indices), None

    def solve(k: int, seed: int) -> Parts:
        parts = np.empty(own, np.int32)
        vertices = own, own, indptr, none, none, none
        edges = entries, entries, indices, none, none
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
    rows, quiet, mode = job.rows(np.uint64), c_bool(True), FAST_SOCIAL if job.hubs else FAST_MESH

    def solve(k: int, seed: int) -> Parts:
        parts, cut = np.empty(job.block.n, np.uint64), c_int()
        wanted = byref(c_int(k)), byref(c_double(IMBALANCE)), quiet, seed, mode
        found = byref(cut), pointer(parts)
        library.ParHIPPartitionKWay(*rows, None, None, *wanted, *found, job.address)
        return parts.astype(np.int32)

    return solve


TOOLS: dict[str, Callable[[Job], Solve]] = {
    "jetpy/default": partial(_jetpy, "default"),
    "jetpy/fast": partial(_jetpy, "fast"),
    "parmetis": _parmetis,
    "ptscotch": _ptscotch,
    "parhip": _parhip,
}
"""What gets each tool ready, which is not timed."""
