"""Parts of all cells of a distributed mesh, given those of its elements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from jetpy.device.backends import get_backend
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import collective_call
from jetpy.distributed.mesh_files import OtherCells, connectivity
from jetpy.distributed.meshes import MeshBlock, around_nodes, count_shared, incidences_of
from jetpy.distributed.piece import Blocks
from jetpy.distributed.routing import ask_owners, equal_shares, send_to_owners
from jetpy.distributed.writing import write_parts
from jetpy.engines.base import Backend

Parts = npt.NDArray[np.int32]


def write_cell_parts(
    comm: Communicator, path: Path, mesh: MeshBlock, others: OtherCells, parts: Parts
) -> None:
    """Write the part of each cell of a mesh file to a file, in the order of cells. Collective.

    Parameters
    ----------
    comm, mesh, others, parts
        As for `parts_of_cells`.
    path : Path
        As for `jetpy.distributed.write_parts`.

    Raises
    ------
    JetpyError
        In all processes, if the file cannot be written.
    """
    with collective_call(comm, "write_cell_parts"):
        own, first = parts_of_cells(comm, mesh, others, parts)
        write_parts(comm, path, own, first, others.all_cells)


def parts_of_cells(
    comm: Communicator, mesh: MeshBlock, others: OtherCells, parts: Parts
) -> tuple[Parts, int]:
    """Return the parts of an equal share of all cells of the file, and its first cell. Collective.

    Cells of lower dimensions get their parts as in `jetpy.meshes.dual.spread`.

    Parameters
    ----------
    comm : Communicator
    mesh, others
        From `read_cells`.
    parts : int32, shape (owned,)
        Parts of the owned elements.
    """
    host = get_backend("cpu", 1)
    ids = np.concatenate([mesh.ids, *(own.numbers for own in others.cells)])
    found = np.concatenate([parts, _parts_of_others(comm, host, mesh, others, parts)])
    shares = equal_shares(comm, others.all_cells)
    ids, found = send_to_owners(host, shares, ids, found)
    result = np.empty(shares.end - shares.first, np.int32)
    result[ids - shares.first] = found
    return result, shares.first


def _parts_of_others(
    comm: Communicator, host: Backend, mesh: MeshBlock, others: OtherCells, parts: Parts
) -> Parts:
    """Return the part of the first element that has all corners of a cell; 0 if there is none."""
    blocks = Blocks(comm, mesh.elmdist)
    eptr, eind = connectivity(others.cells)
    count = len(eptr) - 1
    own = incidences_of(eptr, eind, 0)
    elements = incidences_of(mesh.eptr, mesh.eind, blocks.first)
    around = around_nodes(comm, host, elements, np.unique(own.nodes))
    rows, heads, shared = count_shared(own, around, 0, count)
    is_inside = shared == np.bincount(own.elements, minlength=count)[rows]
    bounding, first = np.unique(rows[is_inside], return_index=True)
    found = np.zeros(count, np.int32)
    found[bounding] = ask_owners(
        host, blocks, heads[is_inside][first], lambda ids: parts[ids - blocks.first]
    )
    return found
