"""Files of all processes, for callers who have a communicator of mpi4py."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.distributed import reading, writing
from jetpy.distributed.api import communicator
from jetpy.distributed.block import Block


def read(comm: Any, path: str | os.PathLike[str]) -> Block:
    """Return this process's share of a graph in a file; all processes call it.

    Shares are vertices in a row, and have about as many edges. A folder with ``indptr.npy``,
    ``indices.npy`` and maybe ``edge_weights.npy`` and ``vertex_weights.npy``, an uncompressed
    ``.npz`` archive of arrays of these names, ParHiP's binary format (``.parhip``, ``.bgf``) and
    METIS files are read in shares; other formats, and compressed files, by each process as a whole.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
    path : path

    Raises
    ------
    JetpyError
        In all processes, when the file cannot be read, or is not as its format wants it.
    """
    return reading.read_block(communicator(comm), path)


def write_parts(
    comm: Any, path: str | os.PathLike[str], parts: npt.ArrayLike, first: int, n: int
) -> None:
    """Write the parts of the owned vertices, from global id `first` of n on. Collective.

    The file, ``.npy`` or text, is there when all have written.

    Raises
    ------
    JetpyError
        In all processes, when it cannot be written.
    """
    own = np.asarray(parts, np.int32)
    writing.write_parts(communicator(comm), path, own, first, n)
