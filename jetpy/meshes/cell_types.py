"""Cell types: dimension, corners and facets, in the node order of meshio and VTK."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jetpy.errors import GraphError


@dataclass(frozen=True)
class CellType:
    """A cell type.

    Attributes
    ----------
    dimension : int
    corners : int
        Number of corners, which are the first nodes of a cell; further nodes of quadratic cells lie
        on edges, on faces or inside. 0 for polygons and polyhedra, whose number varies.
    facets : tuple of tuple of int
        Corner indices of each facet: points, edges or faces.
    """

    dimension: int
    corners: int
    facets: tuple[tuple[int, ...], ...]


TYPES = {
    "vertex": CellType(0, 1, ()),
    "line": CellType(1, 2, ((0,), (1,))),
    "triangle": CellType(2, 3, ((0, 1), (1, 2), (2, 0))),
    "quad": CellType(2, 4, ((0, 1), (1, 2), (2, 3), (3, 0))),
    "pixel": CellType(2, 4, ((0, 1), (1, 3), (3, 2), (2, 0))),
    "polygon": CellType(2, 0, ()),
    "tetra": CellType(3, 4, ((0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3))),
    "pyramid": CellType(3, 5, ((0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))),
    "wedge": CellType(3, 6, ((0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5))),
    "hexahedron": CellType(
        3,
        8,
        (
            (0, 1, 2, 3),
            (4, 5, 6, 7),
            (0, 1, 5, 4),
            (1, 2, 6, 5),
            (2, 3, 7, 6),
            (3, 0, 4, 7),
        ),
    ),
    "voxel": CellType(
        3,
        8,
        (
            (0, 1, 2, 3),
            (4, 5, 6, 7),
            (0, 1, 4, 5),
            (2, 3, 6, 7),
            (0, 2, 4, 6),
            (1, 3, 5, 7),
        ),
    ),
    "polyhedron": CellType(3, 0, ()),
}
OF_VTK = {
    1: "vertex",
    3: "line",
    5: "triangle",
    7: "polygon",
    8: "pixel",
    9: "quad",
    10: "tetra",
    11: "voxel",
    12: "hexahedron",
    13: "wedge",
    14: "pyramid",
    21: "line",
    22: "triangle",
    23: "quad",
    24: "tetra",
    25: "hexahedron",
    26: "wedge",
    27: "pyramid",
    28: "quad",
    29: "hexahedron",
    34: "triangle",
    68: "line",
    69: "triangle",
    70: "quad",
    71: "tetra",
    72: "hexahedron",
    73: "wedge",
    74: "pyramid",
}
"""Types by VTK's ids, including the quadratic and Lagrange variants."""


def type_of(name: str | int) -> tuple[str, CellType]:
    """Return the linear cell type for a name of meshio or an id of VTK.

    Raises
    ------
    GraphError
        If the type is unknown.

    >>> type_of("tetra10")[0], type_of("VTK_LAGRANGE_QUADRILATERAL")[0], type_of(25)[0]
    ('tetra', 'quad', 'hexahedron')
    """
    if isinstance(name, str):
        plain = re.sub(r"\d+$", "", name.rpartition("_")[2].lower())
        plain = {"quadrilateral": "quad", "curve": "line", "tetrahedron": "tetra"}.get(plain, plain)
    else:
        plain = OF_VTK.get(int(name), "")
    if plain not in TYPES:
        raise GraphError(f"unknown cell type {name!r}; choose one of {', '.join(TYPES)}")
    return plain, TYPES[plain]
