"""Physical groups of Gmsh: a cell may be in several."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.meshes.cell_types import type_of

Ids = npt.NDArray[np.int64]
Tags = tuple[int, ...]
PHYSICAL, GEOMETRICAL = "gmsh:physical", "gmsh:geometrical"
"""Names in meshio of a cell's first physical group (0: none) and of its entity."""
GROUPS = "gmsh:groups"
"""Entry of `meshio.Mesh.info` that holds the `Groups` of a mesh."""
PART_GROUP = re.compile(r"part \d+")
"""Names of the groups that `jetpy mesh` makes for parts."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The physical groups of the cells of a mesh.

    Attributes
    ----------
    names : mapping from (dimension, tag) to str
        Names of groups, as far as they have one.
    sets : tuple of tuple of int
        Sets of tags that cells have.
    of_cells : tuple of int64 arrays, shape (cells of the block,)
        Index in `sets` of each cell of each block.
    """

    names: Mapping[tuple[int, int], str]
    sets: tuple[Tags, ...]
    of_cells: tuple[Ids, ...]

    @property
    def largest_tag(self) -> int:
        """The largest tag, 0 without groups."""
        return max(
            [0, *(tag for _, tag in self.names), *(max(own, default=0) for own in self.sets)]
        )

    def cell_sets(self, mesh: Any) -> dict[str, list[Ids]]:
        """Return the cells of each group that has cells, and a name or an overlap with another one.

        They are meshio's `cell_sets`: indices of cells in each block. Groups of several dimensions
        with one name are one set.
        """
        shared = {tag for own in self.sets if len(own) > 1 for tag in own}
        members: dict[str, list[Ids]] = {
            name: [np.zeros(0, np.int64) for _ in mesh.cells] for name in self.names.values()
        }
        for i, block in enumerate(mesh.cells):
            dimension = type_of(block.type)[1].dimension
            for tag in sorted({tag for j in np.unique(self.of_cells[i]) for tag in self.sets[j]}):
                name = self.names.get((dimension, tag))
                if name is None and tag not in shared:
                    continue
                inside = np.array([tag in own for own in self.sets])[self.of_cells[i]]
                empty = [np.zeros(0, np.int64) for _ in mesh.cells]
                own_set = members.setdefault(name or f"group_{tag}", empty)
                own_set[i] = np.union1d(own_set[i], np.flatnonzero(inside))
        return {name: cells for name, cells in members.items() if any(map(len, cells))}


def groups_of(mesh: Any) -> Groups:
    """Return the groups of a mesh that comes from Gmsh or from meshio's reader."""
    if GROUPS in (mesh.info or {}):
        groups: Groups = mesh.info[GROUPS]
        return groups
    named = {
        (int(dimension), int(tag)): name for name, (tag, dimension) in _tagged(mesh.field_data)
    }
    parts = {tag for (_, tag), name in named.items() if PART_GROUP.fullmatch(name)}
    names = {key: name for key, name in named.items() if key[1] not in parts}
    physical = mesh.cell_data.get(PHYSICAL)
    if physical is None:
        return Groups(names, ((),), tuple(np.zeros(len(b.data), np.int64) for b in mesh.cells))
    tags = np.unique(np.concatenate([np.zeros(1, np.int64), *map(np.asarray, physical)]))
    sets = tuple((int(tag),) if tag and tag not in parts else () for tag in tags)
    return Groups(names, sets, tuple(np.searchsorted(tags, own) for own in physical))


def _tagged(field_data: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    """Return the entries of `field_data` that are a tag and a dimension."""
    return [(name, value) for name, value in field_data.items() if np.shape(value) == (2,)]
