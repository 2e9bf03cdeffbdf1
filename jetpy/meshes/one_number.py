"""Parts in formats with one integer per cell, which must not replace materials or labels."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.meshes.cell_types import type_of
from jetpy.meshes.formats import PART, WITH_ONE_NUMBER, output_format
from jetpy.meshes.gmsh_groups import GEOMETRICAL, GROUPS

LOGGER = logging.getLogger("jetpy.input")
LABELS = re.compile(r"[a-z0-9]+:(ref.*|index|physical|material|tag)|cell_tags")
"""Names of meshio for the integer of each cell: its material, or the label of a boundary."""
MAX_SHOWN = 4


def check_room_for_parts(path: Path, mesh: Any) -> None:
    """Check that the parts do not replace materials in a file with one integer per cell.

    Raises
    ------
    FileFormatError
        If the cells of the highest dimension have several integers, or cells of lower dimension
        several physical groups.
    """
    if output_format(path) not in WITH_ONE_NUMBER:
        return
    name = _labels(mesh)
    groups = (mesh.info or {}).get(GROUPS)
    if groups is not None and any(len(own) > 1 for own in groups.sets):
        what = "cells have several physical groups"
    elif name is not None and len(found := _of_highest(mesh, mesh.cell_data[name])) > 1:
        shown = ", ".join(map(str, found[:MAX_SHOWN])) + (", ..." if len(found) > MAX_SHOWN else "")
        what = f"the parts would replace the {name} of the cells ({shown})"
    else:
        return
    raise FileFormatError(
        f"{path}: this format has one integer per cell, and {what}; use .vtu or .msh, which keep "
        "both, or .part for the parts alone"
    )


def put_numbers(path: Path, mesh: Any, parts: Sequence[npt.NDArray[np.int32]]) -> None:
    """Let parts be the only cell data; cells of lower dimension keep their labels if there are any.

    Raises
    ------
    FileFormatError
        Under the conditions of `check_room_for_parts`.
    """
    check_room_for_parts(path, mesh)
    name = _labels(mesh)
    for other in mesh.cell_data.keys() - {name, PART, GEOMETRICAL}:
        LOGGER.info("%s: the cell data %s is not written: one integer per cell", path, other)
    if name is None:
        mesh.cell_data = {PART: list(parts)}
        return
    labels, top = mesh.cell_data[name], _dimensions(mesh).max()
    (number,) = _of_highest(mesh, labels)
    if number:
        LOGGER.info("%s: the parts replace %s = %d of all cells", path, name, number)
    mesh.cell_data = {
        PART: [
            own if dimension == top else np.asarray(label, np.int32)
            for own, label, dimension in zip(parts, labels, _dimensions(mesh), strict=True)
        ]
    }
    mesh.field_data = {
        name: value
        for name, value in mesh.field_data.items()
        if np.shape(value) != (2,) or value[1] != top
    }


def _labels(mesh: Any) -> str | None:
    """Return the name of the cell data with the labels."""
    return next((name for name in mesh.cell_data if LABELS.fullmatch(name)), None)


def _dimensions(mesh: Any) -> npt.NDArray[np.int64]:
    return np.array([type_of(block.type)[1].dimension for block in mesh.cells])


def _of_highest(mesh: Any, labels: Sequence[Any]) -> list[int]:
    """Return the distinct labels of the cells of the highest dimension."""
    top = _dimensions(mesh)
    own = [np.asarray(label) for label, d in zip(labels, top, strict=True) if d == top.max()]
    found: list[int] = np.unique(np.concatenate(own)).tolist()
    return found
