"""Gmsh files of one mesh: four squares in a row, two of steel and two of air, and a line.

The first two squares are also in the group "left". In all formats, the mesh is the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

NAMES = """$PhysicalNames
4
1 3 "bottom"
2 1 "steel"
2 2 "air"
2 4 "left"
$EndPhysicalNames
"""
_XYZ = [f"{i % 5} {i // 5} 0" for i in range(10)]
_IDS = "\n".join(map(str, range(1, 11)))
ENTITIES = """$Entities
0 1 2 0
7 0 0 0 4 0 0 1 3 0
1 0 0 0 2 1 0 2 1 4 0
2 2 0 0 4 1 0 1 2 0
$EndEntities
"""
NODES = f"$Nodes\n1 10 1 10\n2 1 0 10\n{_IDS}\n" + "\n".join(_XYZ) + "\n$EndNodes\n"
ELEMENTS = """$Elements
3 6 1 6
1 7 1 2
1 1 2
2 4 5
2 1 3 2
3 1 2 7 6
4 2 3 8 7
2 2 3 2
5 3 4 9 8
6 4 5 10 9
$EndElements
"""


def _head(version: str) -> str:
    return f"$MeshFormat\n{version} 0 8\n$EndMeshFormat\n"


PLAIN = _head("4.1") + NAMES + ENTITIES + NODES + ELEMENTS
MATERIALS = (
    PLAIN.replace('4\n1 3 "bottom"', '3\n1 3 "bottom"')
    .replace('2 4 "left"\n', "")
    .replace("1 0 2 1 4 0", "1 0 1 1 0")
)
"""The mesh without the group "left", so that each cell is in one group."""
PARAMETRIC = PLAIN.replace(
    NODES,
    f"$Nodes\n1 10 1 10\n2 1 1 10\n{_IDS}\n"
    + "\n".join(f"{xyz} 0.5 0.25" for xyz in _XYZ)
    + "\n$EndNodes\n",
)
OLDER = (
    _head("4")
    + NAMES
    + ENTITIES
    + "$Nodes\n1 10\n1 2 0 10\n"
    + "\n".join(f"{i + 1} {xyz}" for i, xyz in enumerate(_XYZ))
    + "\n$EndNodes\n"
    + ELEMENTS.replace("3 6 1 6", "3 6").replace("1 7 1 2", "7 1 1 2").replace("2 1 3 2", "1 2 3 2")
)
PARTITIONED = PLAIN.replace(
    NODES,
    """$PartitionedEntities
2
2
5 1
6 2
1 2 2 0
9 2 1 2 1 2 0.5 0 0 0
8 1 7 1 1 0 0 0 4 0 0 1 3 0
9 2 1 2 1 2 0 0 0 2 0 0 0 0
3 2 1 1 1 0 0 0 2 1 0 2 1 4 0
4 2 2 1 2 2 0 0 4 1 0 1 2 0
$EndPartitionedEntities
"""
    + NODES,
).replace(
    ELEMENTS,
    ELEMENTS.replace("3 6 1 6", "4 7 1 7")
    .replace("1 7 1 2", "1 9 1 1\n7 3 8\n1 8 1 2")
    .replace("2 1 3 2", "2 3 3 2")
    .replace("2 2 3 2", "2 4 3 2")
    + "$GhostElements\n1\n4 1 1 2\n$EndGhostElements\n",
)
SPARSE_DATA = """$ElementData
1
"load"
1
0.0
3
0
1
2
6 8.5
3 2.5
$EndElementData
"""
_SQUARES = [(1, 2, 7, 6), (2, 3, 8, 7), (3, 4, 9, 8), (4, 5, 10, 9)]
_LINES_OF_22 = [
    "1 1 2 3 7 1 2",
    "2 1 2 3 7 4 5",
    *(
        f"{3 + 2 * i + j} 3 {'4 {g} 1 1 1' if i == 0 else '2 {g} 1'} {{}} {{}} {{}} {{}}".format(
            *nodes, g=group
        )
        for i, nodes in enumerate(_SQUARES[:2])
        for j, group in enumerate((1, 4))
    ),
    *(f"{7 + i} 3 2 2 2 {' '.join(map(str, nodes))}" for i, nodes in enumerate(_SQUARES[2:])),
]
REPEATED = (
    _head("2.2")
    + NAMES
    + "$Nodes\n10\n"
    + "\n".join(f"{i + 1} {xyz}" for i, xyz in enumerate(_XYZ))
    + f"\n$EndNodes\n$Elements\n{len(_LINES_OF_22)}\n"
    + "\n".join(_LINES_OF_22)
    + "\n$EndElements\n"
)
SAME_MESH = {
    "4.1": PLAIN,
    "4.1, parametric": PARAMETRIC,
    "4.0": OLDER,
    "4.1, partitioned": PARTITIONED,
    "2.2, repeated and partitioned": REPEATED,
    "4.1, not closed": PLAIN.replace("$EndElements", "$EndElement"),
}
SAVED_ALL = PLAIN.replace(
    ENTITIES,
    ENTITIES.replace("$Entities\n0 1", "$Entities\n1 1")
    .replace("7 0", "3 0 0 0 0\n7 0")
    .replace("2 2 0 0 4 1 0 1 2 0", "2 2 0 0 4 1 0 0 0"),
).replace(ELEMENTS, ELEMENTS.replace("3 6 1 6", "4 7 1 7\n0 3 15 1\n7 1"))
"""Every element, also of a point and of a surface without a group."""


def write_msh(path: Path, mesh: Any, *, binary: bool, size: int = 8) -> Path:
    """Write MSH 4.1 with nodes in two entities, and gaps between the ids of nodes."""
    from meshio.gmsh.common import _meshio_to_gmsh_order, _meshio_to_gmsh_type

    lines: list[tuple[str, list[Any]]] = []
    tags = 7 + 3 * np.arange(len(mesh.points))
    half = len(tags) // 2
    lines.append(("u", [2, len(tags), tags.min(initial=7), tags.max(initial=7)]))
    for dimension, own in ((0, slice(half)), (2, slice(half, None))):
        is_parametric = int(dimension > 0)
        lines.append(("i", [dimension, 1, is_parametric]))
        lines += [("u", [len(tags[own])]), ("u", [*tags[own]])]
        rows = np.pad(mesh.points[own], ((0, 0), (0, dimension)))
        lines += [("f", [*row]) for row in rows]
    nodes = _encoded(lines, binary=binary, size=size)
    counts = [len(block.data) for block in mesh.cells]
    lines = [("u", [len(counts), sum(counts), 1, sum(counts)])]
    for i, block in enumerate(mesh.cells):
        lines += [("i", [block.dim, i, _meshio_to_gmsh_type[block.type]]), ("u", [len(block.data)])]
        ordered = _meshio_to_gmsh_order(block.type, block.data)
        lines += [("u", [900 - row, *tags[cell]]) for row, cell in enumerate(ordered)]
    elements = _encoded(lines, binary=binary, size=size)
    order = np.int32(1).tobytes() + b"\n" if binary else b""
    head = f"$MeshFormat\n4.1 {int(binary)} {size}\n".encode() + order + b"$EndMeshFormat\n"
    sections = b"$Nodes\n" + nodes + b"\n$EndNodes\n$Elements\n" + elements + b"\n$EndElements\n"
    path.write_bytes(head + b'$Comments\n"$5"\n$EndComments\n' + sections)
    return path


def _encoded(lines: list[tuple[str, list[Any]]], *, binary: bool, size: int) -> bytes:
    """Return rows of sizes (u), integers (i) and coordinates (f)."""
    if not binary:
        return "\n".join(" ".join(map(str, row)) for _, row in lines).encode()
    types = {"u": f"<u{size}", "i": "<i4", "f": "<f8"}
    return b"".join(np.array(row, types[kind]).tobytes() for kind, row in lines)
