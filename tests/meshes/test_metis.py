"""Dual graphs, compared with `METIS_MeshToDual`, which pymetis's extension exports."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pymetis
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pymetis import _internal
from scipy.spatial import Delaunay

import jetpy

Cells = npt.NDArray[Any]


def dual_by_metis(cells: Cells, common_nodes: int) -> Any:
    library, kind = ctypes.CDLL(_internal.__file__), np.dtype(pymetis.zero_copy_dtype())
    n, corners = cells.shape
    ends = np.arange(0, cells.size + 1, corners, dtype=kind)
    nodes = np.ascontiguousarray(cells, kind)
    numbers = [np.array([x], kind) for x in (n, cells.max() + 1, common_nodes, 0)]
    places = [
        ctypes.c_void_p(a.ctypes.data) for a in (*numbers[:2], ends, nodes.ravel(), *numbers[2:])
    ]
    rows, columns = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.METIS_MeshToDual(*places, ctypes.byref(rows), ctypes.byref(columns)) == 1
    integer = np.ctypeslib.as_ctypes_type(kind)

    def copied(place: ctypes.c_void_p, size: int) -> Cells:
        return np.array(np.ctypeslib.as_array(ctypes.cast(place, ctypes.POINTER(integer)), (size,)))

    indptr = copied(rows, n + 1)
    indices = copied(columns, int(indptr[-1]))
    for place in (rows, columns):
        library.METIS_Free(place)
    return sp.csr_array((np.ones(len(indices), int), indices, indptr), shape=(n, n))


def triangles(random: np.random.Generator) -> Cells:
    return Delaunay(random.random((40, 2))).simplices


def tetrahedra(random: np.random.Generator) -> Cells:
    return Delaunay(random.random((30, 3))).simplices


def quadrangles(random: np.random.Generator) -> Cells:
    nodes = np.arange(7 * 6).reshape(7, 6)
    return np.stack([nodes[:-1, :-1], nodes[1:, :-1], nodes[1:, 1:], nodes[:-1, 1:]], -1)


def hexahedra(random: np.random.Generator) -> Cells:
    nodes = np.arange(5 * 4 * 4).reshape(5, 4, 4)
    lower, upper = nodes[:, :, :-1], nodes[:, :, 1:]
    return np.stack([a for n in (lower, upper) for a in around(n)], -1)


def around(nodes: Cells) -> tuple[Cells, ...]:
    return nodes[:-1, :-1], nodes[1:, :-1], nodes[1:, 1:], nodes[:-1, 1:]


MESHES: dict[str, tuple[Callable[[np.random.Generator], Cells], int]] = {
    "triangle": (triangles, 2),
    "quad": (quadrangles, 2),
    "tetra": (tetrahedra, 3),
    "hexahedron": (hexahedra, 4),
}
"""Meshes and the number of corners of their facets, by cell type."""


@pytest.mark.parametrize("cell_type", MESHES)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), keep=st.floats(0.3, 1))
def test_dual_graphs_equal_those_of_metis(cell_type: str, seed: int, keep: float) -> None:
    make, of_facet = MESHES[cell_type]
    random = np.random.default_rng(seed)
    cells = make(random)
    cells = random.permutation(cells.reshape(-1, cells.shape[-1]))
    cells = cells[: max(1, int(keep * len(cells)))]
    for common in range(1, of_facet + 1):
        expected = dual_by_metis(cells, common)
        found = jetpy.dual_graph(cells, cell_type, common_nodes=common)
        assert (found.n, 2 * found.m) == (len(cells), expected.nnz)
        matrix = sp.csr_array(
            (np.ones(2 * found.m, int), found.indices, found.indptr), expected.shape
        )
        assert (matrix != expected).nnz == 0
    by_facets = jetpy.dual_graph(cells, cell_type)
    assert np.array_equal(by_facets.indptr, found.indptr)
    assert np.array_equal(by_facets.indices, found.indices)
