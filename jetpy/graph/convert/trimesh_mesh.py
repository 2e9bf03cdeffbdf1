"""Triangle meshes of trimesh; jetpy never imports it."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from jetpy.graph.convert.cell_pairs import from_cell_pairs
from jetpy.graph.raw import Raw


def from_trimesh(mesh: Any) -> Raw:
    """Convert the faces of a mesh; those that share an edge are neighbours."""
    pairs = np.asarray(mesh.face_adjacency).reshape(-1, 2)
    locate = partial(attrgetter("triangles_center"), mesh)
    return from_cell_pairs(pairs, len(mesh.faces), locate)
