"""Mesh files as sections of cells; any range of a section can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, cannot_read
from jetpy.lazy import cached_property
from jetpy.meshes.cell_types import CellType, type_of
from jetpy.meshes.cells import Block


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the name of a file to errors about its content.

    Raises
    ------
    FileFormatError
        If the block raises it, or another error that damaged files cause.
    JetpyError
        If the file cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise cannot_read(path, error) from error
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except (ValueError, IndexError, OverflowError) as error:
        raise FileFormatError(f"{path}: this file is damaged: {error}") from error


@dataclass(frozen=True, eq=False)
class Section:
    """Consecutive cells of one type.

    Attributes
    ----------
    type : str
        Cell type in meshio.
    count : int
    read : callable
        Returns the nodes of the cells from one index to another (exclusive), shape (cells, nodes).
    """

    type: str
    count: int
    read: Callable[[int, int], npt.NDArray[Any]]

    @cached_property
    def kind(self) -> CellType:
        """The linear cell type."""
        return type_of(self.type)[1]


@dataclass(frozen=True, eq=False)
class MeshSections:
    """The cells of a mesh file, in their order.

    Attributes
    ----------
    path : Path
    sections : sequence of Section
    nodes : range
        Ids of nodes.
    """

    path: Path
    sections: Sequence[Section]
    nodes: range

    @cached_property
    def dimension(self) -> int:
        """The highest dimension of cells."""
        return max((own.kind.dimension for own in self.sections if own.count), default=0)

    def count(self, *, highest: bool) -> int:
        """Return the number of cells of the highest dimension, or of the others."""
        return sum(own.count for own, _ in self._sections(highest=highest))

    def read(self, first: int, end: int, *, highest: bool) -> Iterator[Block]:
        """Yield the cells in a range of the cells of the highest dimension, or of the others.

        Raises
        ------
        FileFormatError
            If nodes are not integers, or not nodes of the mesh.
        """
        for own, start in self._sections(highest=highest):
            low, high = max(first, 0), min(end, own.count)
            if low < high:
                with naming(self.path):
                    yield self._checked(own, start + low, own.read(low, high))
            first, end = first - own.count, end - own.count

    def _sections(self, *, highest: bool) -> Iterator[tuple[Section, int]]:
        """Yield sections, each with the id of its first cell."""
        first = 0
        for own in self.sections:
            if (own.kind.dimension == self.dimension) == highest:
                yield own, first
            first += own.count

    def _checked(self, section: Section, first: int, nodes: npt.NDArray[Any]) -> Block:
        least = section.kind.corners
        if nodes.dtype.kind not in "iu" or nodes.ndim != 2 or nodes.shape[1] < least:
            raise FileFormatError(
                f"cells of type {section.type} have shape {nodes.shape} and type {nodes.dtype}; "
                f"they must be an array of integers with at least {least} columns"
            )
        corners = nodes[:, : least or None].astype(np.int64)
        wrong = (corners < self.nodes.start) | (corners >= self.nodes.stop)
        if wrong.any():
            cell = first + int(wrong.any(axis=1).argmax())
            raise FileFormatError(
                f"cell {cell} has node {corners[wrong][0]}; the nodes of the mesh are "
                f"{self.nodes.start}..{self.nodes.stop - 1}"
            )
        return Block(section.kind, corners, np.arange(first, first + len(corners)))
