"""Gmsh files: what is read of them, and what Gmsh and others find in those that are written."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.errors import FileFormatError
from jetpy.meshes.dual import cells_of_vertices, ghost_cells, spread
from jetpy.meshes.files import read_mesh, write_mesh
from jetpy.meshes.gmsh_groups import groups_of
from tests.meshes import gmsh_files

meshio = pytest.importorskip("meshio")
GROUPS = {
    (1, "bottom"): {(0, 1), (3, 4)},
    (2, "steel"): {(0, 1, 5, 6), (1, 2, 6, 7)},
    (2, "left"): {(0, 1, 5, 6), (1, 2, 6, 7)},
    (2, "air"): {(2, 3, 7, 8), (3, 4, 8, 9)},
}


def in_groups(mesh: Any) -> dict[tuple[int, str], set[tuple[int, ...]]]:
    """Return the nodes of the cells in each group, by dimension and name."""
    groups = groups_of(mesh)
    found: dict[tuple[int, str], set[tuple[int, ...]]] = {}
    for block, own in zip(mesh.cells, groups.of_cells, strict=True):
        dimension = {"vertex": 0, "line": 1, "quad": 2}[block.type]
        for nodes, group in zip(block.data.tolist(), own.tolist(), strict=True):
            for tag in groups.sets[group]:
                cells = found.setdefault((dimension, groups.names[dimension, tag]), set())
                assert tuple(sorted(nodes)) not in cells
                cells.add(tuple(sorted(nodes)))
    return found


def read(tmp_path: Path, text: str) -> Any:
    (tmp_path / "in.msh").write_text(text)
    return read_mesh(tmp_path / "in.msh")


@pytest.mark.parametrize("form", gmsh_files.SAME_MESH)
def test_all_versions_give_the_same_mesh(tmp_path: Path, form: str) -> None:
    mesh = read(tmp_path, gmsh_files.SAME_MESH[form])
    assert in_groups(mesh) == GROUPS
    assert [
        sum(len(b.data) for b in mesh.cells if b.type == kind) for kind in ("line", "quad")
    ] == [2, 4]
    assert np.concatenate(mesh.cell_data["gmsh:geometrical"]).tolist() == [7, 7, 1, 1, 2, 2]
    assert np.concatenate(mesh.cell_data["gmsh:physical"]).tolist() == [3, 3, 1, 1, 2, 2]
    graph = jetpy.dual_graph(mesh)
    assert graph.degrees.tolist() == [1, 2, 2, 1]
    assert graph.coordinates is not None
    assert graph.coordinates.tolist() == [[i + 0.5, 0.5, 0] for i in range(4)]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("version", ["gmsh22", "gmsh"])
def test_files_of_meshio_are_read(tmp_path: Path, version: str, binary: bool) -> None:
    points = np.random.default_rng(0).random((6, 3))
    physical = [np.array([1, 2]), np.array([3])]
    mesh = meshio.Mesh(
        points,
        [("tetra", [[0, 1, 2, 3], [1, 2, 3, 4]]), ("line3", [[0, 1, 5]])],
        point_data={"u": np.arange(6.0), "gmsh:dim_tags": [[3, 1]] * 6},
        cell_data={"gmsh:physical": physical, "gmsh:geometrical": physical, "v": [[1.5, 2], [3.0]]},
    )
    if version == "gmsh":  # with one entity for each block
        mesh.cell_data["gmsh:geometrical"] = [np.array([1, 1]), np.array([1])]
        mesh.cell_data["gmsh:physical"] = [np.array([1, 1]), np.array([3])]
    if not binary:  # meshio 5.3 writes "np.float64(1.5)" with NumPy 2
        del mesh.cell_data["v"], mesh.point_data["u"]
    mesh.write(tmp_path / "in.msh", file_format=version, binary=binary)
    found = read_mesh(tmp_path / "in.msh")
    assert np.array_equal(found.points, points)
    assert [(block.type, block.data.tolist()) for block in found.cells] == [
        (block.type, block.data.tolist()) for block in mesh.cells
    ]
    if binary:
        assert found.point_data["u"].tolist() == [0, 1, 2, 3, 4, 5]
        assert [own.tolist() for own in found.cell_data["v"]] == [[1.5, 2], [3]]
    if version == "gmsh22":
        assert [own.tolist() for own in found.cell_data["gmsh:physical"]] == [[1, 2], [3]]


def test_cells_without_a_group_and_data_of_some_cells_are_read(tmp_path: Path) -> None:
    mesh = read(tmp_path, gmsh_files.SAVED_ALL + gmsh_files.SPARSE_DATA)
    assert np.concatenate(mesh.cell_data["gmsh:physical"]).tolist() == [0, 3, 3, 1, 1, 0, 0]
    load = np.concatenate(mesh.cell_data["load"])
    assert load[3] == 2.5
    assert load[6] == 8.5
    assert np.isnan(load[[0, 1, 2, 4, 5]]).all()


def test_binary_parametric_nodes_of_msh_2_are_read(tmp_path: Path) -> None:
    nodes = [(1, 0.5, 0, 0, 0, 1), (2, 1, 0, 0, 1, 1, 0.5), (3, 0, 1, 0, 2, 1, 0.5, 0.25)]
    body = b"".join(struct.pack(f"<i3d2i{len(own) - 6}d", *own) for own in nodes)
    head = b"$MeshFormat\n2.2 1 8\n\x01\0\0\0\n$EndMeshFormat\n$ParametricNodes\n3\n"
    element = np.array([2, 1, 2, 1, 0, 1, 1, 2, 3], np.int32).tobytes()
    rest = b"\n$EndParametricNodes\n$Elements\n1\n" + element + b"\n$EndElements\n"
    (tmp_path / "in.msh").write_bytes(head + body + rest)
    mesh = read_mesh(tmp_path / "in.msh")
    assert mesh.points.tolist() == [[0.5, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert mesh.cells[0].data.tolist() == [[0, 1, 2]]
    (tmp_path / "in.msh").write_bytes(head + body[:60] + rest)
    with pytest.raises(FileFormatError, match=r"announces 3 nodes|node"):
        read_mesh(tmp_path / "in.msh")


def test_equal_cells_of_one_group_stay_two(tmp_path: Path) -> None:
    lines = gmsh_files.REPEATED.splitlines()
    last = lines.index("$EndElements") - 1
    again = [*lines[: last + 1], lines[last].replace("8 3", "9 3", 1), *lines[last + 1 :]]
    again[again.index("$Elements") + 1] = "9"
    assert jetpy.dual_graph(read(tmp_path, "\n".join(again))).n == 5


def written(tmp_path: Path, *, ghosts: bool = False) -> tuple[Path, Any]:
    """Write the plain mesh in three parts, and return the parts of the squares."""
    mesh = read(tmp_path, gmsh_files.PLAIN + gmsh_files.SPARSE_DATA)
    parts = np.array([0, 2, 2, 1])
    pairs = ghost_cells(mesh, jetpy.dual_graph(mesh), parts) if ghosts else None
    write_mesh(tmp_path / "out.msh", mesh, spread(mesh, parts), 4, pairs)
    return tmp_path / "out.msh", parts


def test_written_mesh_has_the_same_groups(tmp_path: Path) -> None:
    path, _ = written(tmp_path, ghosts=True)
    mesh = read_mesh(path)
    assert in_groups(mesh) == GROUPS
    assert sorted(np.concatenate(mesh.cell_data["gmsh:geometrical"])) == [1, 1, 2, 2, 7, 7]
    load = np.concatenate(mesh.cell_data["load"])
    assert sorted(load[~np.isnan(load)]) == [2.5, 8.5]


def test_ghost_cells_are_neighbours_in_other_parts(tmp_path: Path) -> None:
    mesh = read(tmp_path, gmsh_files.PLAIN)
    pairs = ghost_cells(mesh, jetpy.dual_graph(mesh), [0, 2, 2, 1])
    assert pairs.tolist() == [[2, 2], [3, 0], [4, 1], [5, 2]]
    assert cells_of_vertices(mesh).tolist() == [2, 3, 4, 5]
    assert ghost_cells(mesh, jetpy.dual_graph(mesh), [0] * 4).shape == (0, 2)


def test_mesh_in_one_part_has_no_ghost_cells(tmp_path: Path) -> None:
    mesh = read(tmp_path, gmsh_files.PLAIN)
    write_mesh(tmp_path / "out.msh", mesh, np.zeros(6, np.int32), 1, np.zeros((0, 2), np.int64))
    assert in_groups(read_mesh(tmp_path / "out.msh")) == GROUPS


def test_gmsh_finds_partitions_groups_and_ghost_cells(tmp_path: Path) -> None:
    gmsh = pytest.importorskip("gmsh")
    path, parts = written(tmp_path, ghosts=True)
    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.open(str(path))
        assert gmsh.model.getNumberOfPartitions() == 4
        sizes = {
            gmsh.model.getPhysicalName(*group): sum(
                len(gmsh.model.mesh.getElements(group[0], entity)[1][0])
                for entity in gmsh.model.getEntitiesForPhysicalGroup(*group)
                if len(gmsh.model.mesh.getElements(group[0], entity)[1])
            )
            for group in gmsh.model.getPhysicalGroups()
        }
        assert sizes == {
            **{"bottom": 2, "steel": 2, "left": 2, "air": 2},
            **{"part 0": 1, "part 1": 1, "part 2": 2},
        }
        found = {}
        ghosts = {}
        for _, tag in gmsh.model.getEntities(2):
            kind = gmsh.model.getType(2, tag)
            own = gmsh.model.getPartitions(2, tag) if "Discrete" not in kind else []
            if kind.startswith("Partition"):
                (part,) = own
                for nodes in gmsh.model.mesh.getElements(2, tag)[2]:
                    for square in nodes.reshape(-1, 4):
                        found[int(square.min()) - 1] = int(part) - 1
            if kind.startswith("Ghost"):
                _, owners = gmsh.model.mesh.getGhostElements(2, tag)
                ghosts[int(own[0]) - 1] = sorted(int(owner) - 1 for owner in owners)
        assert [found[i] for i in range(4)] == parts.tolist()
        assert ghosts == {0: [2], 1: [2], 2: [0, 1], 3: []}
        gmsh.model.mesh.unpartition()
        assert gmsh.model.getNumberOfPartitions() == 0
    finally:
        gmsh.finalize()


def test_overlapping_groups_become_an_array_each(tmp_path: Path) -> None:
    mesh = read(tmp_path, gmsh_files.PLAIN)
    write_mesh(tmp_path / "out.vtu", mesh, np.zeros(6, np.int32))
    data = meshio.read(tmp_path / "out.vtu").cell_data
    assert np.concatenate(data["steel"]).tolist() == [0, 0, 1, 1, 0, 0]
    assert np.concatenate(data["left"]).tolist() == [0, 0, 1, 1, 0, 0]
    assert np.concatenate(data["air"]).tolist() == [0, 0, 0, 0, 1, 1]


BAD = {
    "version": (
        gmsh_files.PLAIN.replace("4.1 0 8", "5.0 0 8"),
        "version is 5.0; .* gmsh FILE -save",
    ),
    "first version": ("$NOD\n1\n1 0 0 0\n$ENDNOD\n", "begin with .MeshFormat; save it as MSH 4.1"),
    "cut short": (gmsh_files.PLAIN[:-40], "announces 10 more numbers|more numbers than it has"),
    "words": (gmsh_files.PLAIN.replace("4 2 3 8 7", "4 2 x 8 7"), "a word is not a number"),
    "fraction": (gmsh_files.PLAIN.replace("4 2 3 8 7", "4 2 3.5 8 7"), r"3\.5 is not an id"),
    "large id": (gmsh_files.REPEATED.replace("\n10 4 1", "\n1e300 4 1"), r"1e\+300 is not an id"),
    "no elements": (gmsh_files.PLAIN.replace(gmsh_files.ELEMENTS, ""), "the file has no elements"),
    "unknown type": (gmsh_files.PLAIN.replace("2 1 3 2", "2 1 34 2"), "cells of Gmsh's type 34"),
    "missing node": (
        gmsh_files.PLAIN.replace("4 2 3 8 7", "4 2 3 8 70"),
        "has node 70, which is not",
    ),
    "fewer cells": (
        gmsh_files.REPEATED.replace("$Elements\n8", "$Elements\n9"),
        "announces 9 elements",
    ),
    "more cells": (gmsh_files.REPEATED.replace("$Elements\n8", "$Elements\n7"), "another length"),
    "fewer nodes": (gmsh_files.REPEATED.replace("$Nodes\n10", "$Nodes\n11"), "announces 11 nodes"),
}


@pytest.mark.parametrize("case", BAD)
def test_damaged_files_are_refused(tmp_path: Path, case: str) -> None:
    text, words = BAD[case]
    with pytest.raises(FileFormatError, match=words):
        read(tmp_path, text)
