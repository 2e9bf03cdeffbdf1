"""Blocks of mesh files, whose dual graphs equal that of the whole file."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
import jetpy.distributed
from jetpy.distributed.block import Block
from jetpy.distributed.communicator import Communicator, starts_of
from jetpy.distributed.mesh_files import read_cells
from jetpy.distributed.mesh_parts import parts_of_cells
from jetpy.errors import JetpyError
from jetpy.meshes import files, gmsh_numbers, xdmf_sections
from jetpy.meshes.dual import cells_of_vertices, ghost_cells, spread
from jetpy.meshes.files import read_mesh, write_mesh
from tests.distributed.threads import run_on_threads
from tests.meshes import gmsh_files
from tests.meshes.gmsh_files import write_msh
from tests.meshes.test_dual import hexahedra

meshio = pytest.importorskip("meshio")
SIZES = 1, 2, 3, 4


def mixed_mesh() -> Any:
    """Return linear and quadratic hexahedra, pyramids, faces, edges and vertices, mixed up."""
    random = np.random.default_rng(2)
    cubes = hexahedra(4, 3, 3)
    tips = cubes.max() + 1 + np.arange(9)
    pyramids = np.column_stack([cubes[:9][:, [0, 1, 2, 3]], tips])
    more = tips.max() + 1 + random.integers(0, 30, (16, 12))
    blocks = [
        ("quad", cubes[:7][:, :4]),
        ("hexahedron", random.permutation(cubes[9:20])),
        ("vertex", cubes[:2, :1]),
        ("line", cubes[3:8, :2]),
        ("pyramid", pyramids),
        ("hexahedron20", np.column_stack([cubes[20:], more])),
        ("quad", cubes[20:, [0, 1, 5, 4]]),
    ]
    numbers = random.permutation(more.max() + 1)
    points = random.random((len(numbers), 3))
    return meshio.Mesh(points, [(name, numbers[cells]) for name, cells in blocks])


def flat_mesh() -> Any:
    cells = np.array([[0, 1, 4, 3], [1, 2, 5, 4], [3, 4, 7, 6], [4, 5, 8, 7]])
    blocks = [("line", cells[:, :2]), ("triangle", cells[:2, :3]), ("quad", cells[2:])]
    return meshio.Mesh(np.random.default_rng(0).random((9, 3)), blocks)


def with_parts(path: Path, mesh: Any) -> Path:
    """Write partitioned entities and ghost cells."""
    graph = jetpy.dual_graph(mesh)
    parts = np.arange(graph.n) * 3 // graph.n
    write_mesh(path, mesh, spread(mesh, parts), 3, ghost_cells(mesh, graph, parts))
    return path


def as_xdmf(path: Path, mesh: Any) -> Path:
    pytest.importorskip("h5py")
    kept = [own for own in mesh.cells if own.type not in ("vertex", "hexahedron20")]
    path = path.with_suffix(".xdmf")  # meshio does not read other mixed cells
    meshio.Mesh(mesh.points, kept).write(path)
    return path


def as_vtu(path: Path, mesh: Any) -> Path:
    mesh.write(path.with_suffix(".vtu"))
    return path.with_suffix(".vtu")


WRITERS: dict[str, Any] = {
    "msh, binary": lambda path, mesh: write_msh(path, mesh, binary=True),
    "msh, 32 bits": lambda path, mesh: write_msh(path, mesh, binary=True, size=4),
    "msh, text": lambda path, mesh: write_msh(path, mesh, binary=False),
    "msh, with parts": with_parts,
    "xdmf": as_xdmf,
    "vtu": as_vtu,
}


def rows_of_all(path: Path, size: int, common_nodes: int | None) -> tuple[Any, Any]:
    """Return the joined rows of several processes, and the ids of their elements in the file."""

    def work(comm: Communicator) -> tuple[Block, Any]:
        mesh = jetpy.distributed.read_mesh(comm, path)
        rows = jetpy.distributed.dual_graph(comm, mesh, common_nodes, elmdist=mesh.elmdist)
        plain = jetpy.distributed.dual_graph(comm, (mesh.eptr, mesh.eind), common_nodes or 1)
        if common_nodes is not None:
            assert np.array_equal(rows.indices, plain.indices)
        assert rows.n == plain.n == len(mesh.ids)
        return rows, mesh.ids

    blocks, ids = zip(*run_on_threads(size, work), strict=True)
    degrees = np.concatenate([np.diff(block.indptr) for block in blocks])
    indices = np.concatenate([block.indices for block in blocks])
    return (starts_of(degrees), indices), np.concatenate(ids)


def assert_equals_one_process(path: Path, size: int, common_nodes: int | None) -> None:
    mesh = read_mesh(path)
    expected = jetpy.dual_graph(mesh, common_nodes=common_nodes)
    (indptr, indices), ids = rows_of_all(path, size, common_nodes)
    assert np.array_equal(indptr, expected.indptr)
    assert np.array_equal(indices, expected.indices)
    assert np.array_equal(ids, cells_of_vertices(mesh))


@pytest.mark.parametrize("common_nodes", [None, 2, 4])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("make", [mixed_mesh, flat_mesh])
def test_rows_equal_those_of_one_process(
    form: str, make: Any, size: int, common_nodes: int | None, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(gmsh_numbers, "WINDOW", 100)
    monkeypatch.setattr(xdmf_sections, "WINDOW", 70)
    if form != "vtu":  # no process reads the whole file
        monkeypatch.setattr(files, "read_mesh", None)
    path = WRITERS[form](tmp_path / "in.msh", make())
    assert_equals_one_process(path, size, common_nodes)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", ["msh, binary", "msh, with parts"])
@pytest.mark.parametrize("make", [mixed_mesh, flat_mesh])
def test_parts_of_all_cells_equal_those_of_one_process(
    form: str, make: Any, size: int, tmp_path: Path
) -> None:
    path = WRITERS[form](tmp_path / "in.msh", make())
    mesh = read_mesh(path)
    parts = np.random.default_rng(5).integers(0, 9, len(cells_of_vertices(mesh)), dtype=np.int32)

    def work(comm: Communicator) -> tuple[Any, int]:
        own, others = read_cells(comm, path)
        mine = parts[own.elmdist[comm.rank] : own.elmdist[comm.rank + 1]]
        return parts_of_cells(comm, own, others, mine)

    found = run_on_threads(size, work)
    assert np.array_equal(np.concatenate([own for own, _ in found]), spread(mesh, parts))
    assert [first for _, first in found] == np.cumsum([0, *(len(own) for own, _ in found)])[
        :-1
    ].tolist()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_in_an_archive_are_read(save: Any, size: int, tmp_path: Path) -> None:
    eptr, eind = [0, 3, 6, 6, 10, 13], [0, 1, 2, 1, 2, 3, 2, 3, 4, 5, 2**40, 4, 5]
    save(tmp_path / "in.npz", eptr=eptr, eind=np.array(eind, np.uint64))
    expected = jetpy.distributed.dual_graph(None, (eptr, eind), 2)
    found, ids = rows_of_all(tmp_path / "in.npz", size, 2)
    assert np.array_equal(found[0], expected.indptr)
    assert np.array_equal(found[1], expected.indices)
    assert ids.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(JetpyError, match=r"common_nodes is missing: the file has no types"):
        rows_of_all(tmp_path / "in.npz", size, None)


def error_of_all(paths: list[Path]) -> str:
    """Return the error that all processes raise, each with a path."""

    def work(comm: Communicator) -> str:
        with pytest.raises(JetpyError) as failed:
            jetpy.distributed.read_mesh(comm, paths[comm.rank])
        return str(failed.value)

    messages = set(run_on_threads(len(paths), work))
    assert len(messages) == 1
    return messages.pop()


@pytest.mark.parametrize("share", [0.001, 0.05, 0.3, 0.7])
@pytest.mark.parametrize("form", ["msh, binary", "msh, text", "msh, with parts", "xdmf", "npz"])
def test_truncated_file_is_one_error(form: str, share: float, tmp_path: Path) -> None:
    if form == "npz":
        path = file = tmp_path / "in.npz"
        np.savez(path, eptr=np.arange(0, 400, 4), eind=np.arange(396))
    else:
        path = file = WRITERS[form](tmp_path / "in.msh", mixed_mesh())
    if form == "xdmf":
        file = path.with_suffix(".h5")
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    message = error_of_all([path] * 3)
    assert message.startswith(f"process 0: {path}: ")


def test_wrong_cells_are_named(tmp_path: Path) -> None:
    path = tmp_path / "in.msh"
    path.write_text(gmsh_files.PLAIN.replace("6 4 5 10 9", "6 4 5 99 9"))
    message = f"process 1: {path}: cell 5 has node 99; the nodes of the mesh are 1..10"
    assert error_of_all([path] * 2) == message
    path.write_text(gmsh_files.PLAIN.replace("6 4 5 10 9", "6 4 five 10 9"))
    assert error_of_all([path] * 2) == f"process 1: {path}: a word is not a number"
    np.savez(tmp_path / "in.npz", eptr=[0, 2, 4], eind=[0, 1, 2, -3])
    message = r"process 1: .*in.npz: .*: eind\[1\], in row 0, is -3; nodes must be"
    assert re.match(message, error_of_all([tmp_path / "in.npz"] * 2))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"eptr": [0, 2]}, "the archive has no array eind"),
        ({"indptr": [0], "indices": []}, "the archive has no array eptr"),
        ({"eptr": [0, 3], "eind": [1, 2]}, "eptr must be integers that begin with 0 and end"),
        ({"eptr": [0.0, 2.0], "eind": [1, 2]}, "eptr must be integers that begin with 0 and end"),
        ({"eptr": [0, 1], "eind": 1}, "eptr must be integers that begin with 0 and end"),
        ({"eptr": [], "eind": [1, 2]}, "eptr must be integers that begin with 0 and end"),
        ({"eptr": [0, 3, 1, 3], "eind": [1, 2, 3]}, "eptr must begin with 0, must not decrease"),
        ({"eptr": [0, -2, 3], "eind": [1, 2, 3]}, "eptr must begin with 0, must not decrease"),
        ({"eptr": [0, 1, 3], "eind": [1.0, 2, 3]}, "eind must be a one-dimensional array of int"),
    ],
)
def test_wrong_arrays_are_one_error(arrays: dict[str, Any], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", **arrays)
    assert message in error_of_all([tmp_path / "in.npz"] * 2)


def test_different_files_are_one_error(tmp_path: Path) -> None:
    first = write_msh(tmp_path / "first.msh", flat_mesh(), binary=True)
    other = write_msh(tmp_path / "other.msh", mixed_mesh(), binary=True)
    message = error_of_all([first, first, other])
    assert message.endswith(": process 2 reads another mesh than process 0")
    assert "other.msh: cannot be read" in error_of_all([first, tmp_path / "no-other.msh"])


def test_package_for_xdmf_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    item = '<DataItem Format="HDF" Dimensions="4 3">in.h5:/d</DataItem>'
    (tmp_path / "in.xdmf").write_text(
        '<Xdmf Version="3.0"><Domain><Grid>'
        f'<Geometry GeometryType="XYZ">{item}</Geometry>'
        f'<Topology TopologyType="Triangle">{item}</Topology></Grid></Domain></Xdmf>'
    )
    monkeypatch.setitem(sys.modules, "h5py", None)
    message = error_of_all([tmp_path / "in.xdmf"] * 2)
    assert "h5py: pip install h5py" in message


def test_polyhedra_are_refused(tmp_path: Path) -> None:
    faces = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    mesh = meshio.Mesh(np.random.default_rng(0).random((4, 3)), [("polyhedron4", [faces])])
    mesh.write(tmp_path / "in.vtu")
    message = error_of_all([tmp_path / "in.vtu"] * 2)
    assert message.endswith("in.vtu: several processes do not read polyhedra")
