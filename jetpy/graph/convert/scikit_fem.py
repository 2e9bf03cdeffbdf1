"""Meshes of scikit-fem; jetpy never imports it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from jetpy.graph.convert.cell_pairs import from_cell_pairs
from jetpy.graph.coordinates import Coordinates
from jetpy.graph.raw import Raw


def from_scikit_fem(mesh: Any) -> Raw:
    """Convert the elements of a mesh; those that share a facet are neighbours."""
    elements = np.asarray(mesh.f2t)  # of each facet, -1 where there is no second one
    inner = elements[:, (elements >= 0).all(axis=0)]
    return from_cell_pairs(inner.T, mesh.t.shape[1], partial(_centres, mesh))


def _centres(mesh: Any) -> Coordinates:
    centres: Coordinates = mesh.p[:, mesh.t].mean(axis=1).T
    zeros = np.zeros((len(centres), 2 - min(centres.shape[1], 2)))  # of a mesh of lines
    return np.concatenate([centres, zeros], axis=1)
