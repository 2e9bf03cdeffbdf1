"""Distributed reading and writing of files, for callers with a communicator of mpi4py."""

from __future__ import annotations

import os
from typing import Any

import numpy.typing as npt

from jetpy.distributed import reading, writing
from jetpy.distributed.api import communicator
from jetpy.distributed.block import Block


def read(comm: Any, path: str | os.PathLike[str]) -> Block:
    """Return this process's share of a graph in a file. Collective.

    Shares are consecutive vertices with about equal numbers of vertices and edges. Each process
    reads only its share of a folder with ``indptr.npy``, ``indices.npy`` and optionally
    ``edge_weights.npy`` and ``vertex_weights.npy``, an uncompressed ``.npz`` archive of arrays of
    these names, ParHiP's binary format (``.parhip``, ``.bgf``) and METIS files. It reads the whole
    file in other formats, and if the file is compressed.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
    path : path

    Raises
    ------
    JetpyError
        In all processes, if the file cannot be read, or does not match its format.
    """
    return reading.read_block(communicator(comm), path)


def write_parts(
    comm: Any, path: str | os.PathLike[str], parts: npt.ArrayLike, first: int, n: int
) -> None:
    """Write the parts of the owned vertices, whose global ids start at `first`. Collective.

    The file, ``.npy`` or text, has the parts of `n` vertices. It appears when it is complete.

    Raises
    ------
    JetpyError
        In all processes, if the file cannot be written, or the blocks of parts are not consecutive.
    """
    writing.write_parts(communicator(comm), path, parts, first, n)
