"""Sections of Gmsh files (MSH 4.1), text and binary; of the other numbers, none are stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.meshes.gmsh_numbers import Numbers, numbers_in
from jetpy.meshes.gmsh_reading import (
    BEGIN,
    Entities,
    element_blocks,
    format_of,
    read_entities,
    tell_dropped,
)
from jetpy.meshes.sections import MeshSections, Section

VERSION = 4.1


def gmsh_sections(path: Path) -> MeshSections | None:
    """Return the sections of a Gmsh file; None if its version is not 4.1.

    Raises
    ------
    FileFormatError
        Under the conditions of `read_gmsh`.
    """
    with _mapped(path) as content:
        return _sections(path, content)


def _sections(path: Path, content: mmap) -> MeshSections | None:
    version, is_binary, size = format_of(content)
    if version != VERSION:
        return None
    entities: Entities = {}
    nodes = range(0)
    at = 0
    while (begin := BEGIN.search(content, at)) is not None:
        name, at = begin[1].decode(), begin.end()
        end = len(content) if is_binary else content.find(b"$", at)
        numbers = numbers_in(content, size, at, end if end >= 0 else None, is_binary=is_binary)
        if name in ("Entities", "PartitionedEntities"):
            read_entities(entities, numbers, version, divided=name != "Entities")
        elif name == "Nodes":
            nodes = _skip_nodes(numbers)
        elif name == "Elements":
            return MeshSections(path, _element_sections(path, numbers, entities), nodes)
        else:
            numbers.at = max(at, content.find(b"$End" + begin[1], at))
        at = numbers.at
    return None


def _skip_nodes(numbers: Numbers) -> range:
    """Pass over the section of nodes, and return the range of their ids."""
    blocks, _, least, largest = numbers.counts(4)
    for _ in range(blocks):
        dimension, _, is_parametric = numbers.ints(3)
        (count,) = numbers.counts(1)
        numbers.skip(numbers.size, count)
        numbers.skip(np.float64, count * (3 + dimension * (is_parametric != 0)))
    return range(least, largest + 1)


def _element_sections(path: Path, numbers: Numbers, entities: Entities) -> list[Section]:
    found, dropped = [], 0
    for block in element_blocks(numbers, VERSION):
        start = numbers.at
        numbers.skip(numbers.size, block.count * block.width)
        if block.is_between_parts(entities):
            dropped += block.count
            continue
        place = _Place(path, type(numbers), numbers.size, start, numbers.at, block.width)
        found.append(Section(block.kind, block.count, place.read))
    tell_dropped(path, dropped)
    return found


@dataclass(frozen=True)
class _Place:
    """Where a file has the elements of a section."""

    path: Path
    numbers: type[Numbers]
    size: type[Any]
    start: int
    end: int
    width: int

    def read(self, first: int, end: int) -> npt.NDArray[Any]:
        """Return the nodes of a range of the elements."""
        with _mapped(self.path) as content:
            numbers = self.numbers(content, self.size, self.start, self.end)
            numbers.skip(self.size, first * self.width)
            rows = numbers.take(self.size, (end - first) * self.width)
        return rows.reshape(end - first, self.width)[:, 1:]


@contextmanager
def _mapped(path: Path) -> Iterator[mmap]:
    with path.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
        yield content
