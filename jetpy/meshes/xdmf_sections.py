"""Sections of XDMF files whose cells are in HDF5 files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.io.packages import optional_package
from jetpy.meshes.formats import PACKAGES
from jetpy.meshes.sections import MeshSections, Section

WINDOW = 1 << 16
"""Number of entries of mixed cells that are searched for types at once."""
LINE = 2
"""XDMF's number of lines; among mixed cells, the number of nodes follows it."""


def xdmf_sections(path: Path) -> MeshSections | None:
    """Return the sections of an XDMF file; None if only meshio can read it.

    Raises
    ------
    FileFormatError
        If the HDF5 file has no such data.
    JetpyError
        If h5py is not installed.
    """
    try:
        grids = ElementTree.parse(path).getroot().findall("Domain/Grid")
    except ElementTree.ParseError:
        return None
    if len(grids) != 1:
        return None
    points = grids[0].find("Geometry/DataItem")
    sections: list[Section] = []
    for topology in grids[0].findall("Topology"):
        items = topology.findall("DataItem")
        if [item.get("Format") for item in items] != ["HDF"]:
            return None
        found = _sections(topology, _Dataset(path, items[0].text or ""))
        if found is None:
            return None
        sections += found
    if points is None or not sections:
        return None
    return MeshSections(path, sections, range(int((points.get("Dimensions") or "0").split()[0])))


def _sections(topology: ElementTree.Element, data: _Dataset) -> list[Section] | None:
    """Return the sections of a topology; None if only meshio can read it."""
    common = import_module("meshio.xdmf.common")
    name = topology.get("TopologyType", topology.get("Type"))
    if name == "Mixed":
        return _mixed(data, common.xdmf_idx_to_meshio_type)
    if name not in common.xdmf_to_meshio_type:
        return None
    return [Section(common.xdmf_to_meshio_type[name], data.shape[0], data.read)]


def _mixed(data: _Dataset, types: dict[int, str]) -> list[Section] | None:
    """Return the sections of cells in a flat array; the number of a type precedes each cell."""
    sizes = import_module("meshio._common").num_nodes_per_cell
    sections: list[Section] = []
    at, end = 0, data.shape[0]
    low, values = 0, np.zeros(0, np.int64)
    while at < end:
        if at >= low + len(values):
            low, values = at, data.read(at, min(at + WINDOW, end))
        number = int(values[at - low])
        if number not in types or types[number] == "vertex":  # whose numbers of nodes differ
            return None
        head = 2 if number == LINE else 1
        width = head + sizes[types[number]]
        column = values[at - low :: width]
        is_other = column != number
        count = int(is_other.argmax()) if is_other.any() else len(column)
        read = partial(_read_mixed, data, at, width, head)
        sections.append(Section(types[number], count, read))
        at += count * width
    return sections if at == end else None


def _read_mixed(
    data: _Dataset, start: int, width: int, head: int, first: int, end: int
) -> npt.NDArray[Any]:
    """Return the nodes of a range of cells, each after `head` numbers."""
    rows = data.read(start + first * width, start + end * width).reshape(end - first, width)
    if head > 1 and (rows[:, 1] != head).any():
        raise FileFormatError("a line has more than two nodes")
    return rows[:, head:]


class _Dataset:
    """An array in an HDF5 file, given the XDMF file and its text: ``file.h5:/name``."""

    def __init__(self, path: Path, text: str) -> None:
        h5py = optional_package(PACKAGES["xdmf"], "files of this format")
        self._file, _, name = text.strip().rpartition(":")
        with self._naming():
            self._data = h5py.File(path.resolve().parent / self._file, "r")[name]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return tuple(self._data.shape)

    def read(self, first: int, end: int) -> npt.NDArray[Any]:
        """Return a range of rows."""
        with self._naming():
            return np.asarray(self._data[first:end])

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except (OSError, KeyError) as error:
            raise FileFormatError(f"{self._file}: {error}") from error
