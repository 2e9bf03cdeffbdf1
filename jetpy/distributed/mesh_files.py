"""Distributed reading of mesh files: each process reads its share of the cells."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from jetpy.distributed.api import communicator
from jetpy.distributed.communicator import Communicator, starts_of
from jetpy.distributed.faults import agreed, collective_call, run_collectively
from jetpy.distributed.meshes import Ids, MeshBlock, checked_elements
from jetpy.distributed.piece import Blocks
from jetpy.distributed.reading import map_archive
from jetpy.distributed.routing import equal_shares
from jetpy.errors import FileFormatError
from jetpy.io.archive import read_archive
from jetpy.io.compression import open_input, split_name
from jetpy.meshes.cells import Block as Cells
from jetpy.meshes.files import sections_of
from jetpy.meshes.sections import MeshSections, naming


@dataclass(frozen=True, eq=False)
class OtherCells:
    """Cells of lower dimensions that this process has read.

    Attributes
    ----------
    cells : sequence of jetpy.meshes.cells.Block
        Their numbers are ids in the file.
    all_cells : int
        Number of cells of the file, elements included.
    """

    cells: Sequence[Cells]
    all_cells: int


def read_mesh(comm: Any, path: str | os.PathLike[str]) -> MeshBlock:
    """Return this process's elements of a mesh file, for `dual_graph`. Collective.

    Elements are the cells of the highest dimension, in the order of the file. Each process reads an
    equal share of Gmsh files (MSH 4.1), XDMF files with HDF5 (needs h5py), and uncompressed
    ``.npz`` archives of two arrays ``eptr`` and ``eind``. It reads the whole file in the other
    formats of `jetpy mesh`.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
        The processes; None for a single process.
    path : path

    Raises
    ------
    JetpyError
        In all processes, if the file cannot be read, or does not match its format.

    Examples
    --------
    >>> import numpy as np
    >>> np.savez("squares.npz", eptr=[0, 4, 8], eind=[0, 1, 4, 3, 1, 2, 5, 4])
    >>> read_mesh(None, "squares.npz").eptr.tolist()
    [0, 4, 8]
    """
    group, file = communicator(comm), Path(path)
    with collective_call(group, "read_mesh"):
        if split_name(file)[1] == ".npz":
            return _of_arrays(group, file)
        return read_cells(group, file)[0]


def read_cells(comm: Communicator, path: Path) -> tuple[MeshBlock, OtherCells]:
    """Return this process's elements of a mesh file with cell types, and other cells. Collective.

    Raises
    ------
    JetpyError
        In all processes, under the conditions of `read_mesh`.
    """

    def sections() -> tuple[MeshSections, list[int]]:
        found = sections_of(path)
        return found, [found.count(highest=highest) for highest in (True, False)]

    file, counts = run_collectively(comm, sections)
    _check_same(comm, path, [file.nodes, *((own.type, own.count) for own in file.sections)])
    shares = [equal_shares(comm, count) for count in counts]

    def share(highest: bool) -> list[Cells]:
        own = shares[0 if highest else 1]
        return [*file.read(own.first, own.end, highest=highest)]

    elements, others = run_collectively(comm, lambda: (share(True), share(False)))
    return _block_of(elements, shares[0]), OtherCells(others, sum(counts))


def _check_same(comm: Communicator, path: Path, contents: Any) -> None:
    """Check that all processes read the same file, given its table of contents.

    Raises
    ------
    FileFormatError
        If they do not.
    """
    digest = sha256(repr(contents).encode()).hexdigest()
    (first, _), *others = comm.allgather_objects((digest, str(path)))
    for rank, (own, name) in enumerate(others, 1):
        if own != first:
            message = f"{name}: process {rank} reads another mesh than process 0"
            raise agreed(FileFormatError(message))


def _block_of(cells: Sequence[Cells], shares: Blocks) -> MeshBlock:
    """Return the block of elements of several types, which share the array of their corners."""
    eptr, eind = connectivity(cells)
    ends = np.cumsum([own.corners.size for own in cells], dtype=np.int64)
    shared = [
        replace(own, corners=part.reshape(own.corners.shape))
        for own, part in zip(cells, np.split(eind, ends)[:-1], strict=True)
    ]
    ids = np.concatenate([np.zeros(0, np.int64), *(own.numbers for own in cells)])
    return MeshBlock(eptr, eind, shares.starts, ids, shared)


def connectivity(cells: Sequence[Cells]) -> tuple[Ids, Ids]:
    """Return eptr and eind of cells of several types."""
    none = np.zeros(0, np.int64)
    sizes = [np.full(len(own.corners), own.corners.shape[1]) for own in cells]
    corners = [own.corners.ravel() for own in cells]
    return starts_of(np.concatenate([none, *sizes])), np.concatenate([none, *corners])


def _of_arrays(comm: Communicator, path: Path) -> MeshBlock:
    """Return the share of an archive of eptr and eind."""
    eptr, eind = run_collectively(comm, lambda: _arrays_of(path))
    _check_same(comm, path, (len(eptr), len(eind)))
    shares = equal_shares(comm, len(eptr) - 1)
    first, end = shares.first, shares.end

    def share() -> MeshBlock:
        with naming(path):
            starts = np.asarray(eptr[first : end + 1], np.int64)
            nodes = np.asarray(eind[starts[0] : starts[-1]])
            own = checked_elements(starts - starts[0], nodes)
        return MeshBlock(*own, shares.starts, np.arange(first, end))

    return run_collectively(comm, share)


def _arrays_of(path: Path) -> tuple[Any, Any]:
    """Return eptr and eind in an archive, memory-mapped if possible."""
    arrays = {} if split_name(path)[2] else map_archive(path)
    with naming(path):
        if not arrays:
            with open_input(path) as stream:
                arrays = dict(read_archive(stream, "an archive of eptr and eind"))
        missing = [name for name in ("eptr", "eind") if name not in arrays]
        if missing:
            raise FileFormatError(f"the archive has no array {missing[0]}")
        eptr, eind = (arrays[name] for name in ("eptr", "eind"))
        are_lists = eptr.ndim == eind.ndim == 1 and eptr.dtype.kind in "iu" and len(eptr) > 0
        if not are_lists or eptr[0] != 0 or eptr[-1] != len(eind):
            raise FileFormatError(
                "eptr must be integers that begin with 0 and end with the length of eind"
            )
    return eptr, eind
