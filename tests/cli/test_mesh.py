"""`jetpy mesh`: mesh files that it reads and writes."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.errors import FileFormatError, JetpyError
from jetpy.meshes import files, openfoam
from tests.cli.conftest import Run
from tests.meshes import gmsh_files
from tests.meshes.test_dual import hexahedra

ENGINE = ("--backend", "cpu", "--threads", "2")
HEADER = 'FoamFile\n{{\n  version 2.0;\n  format {};\n  arch "LSB;label={};scalar=64";\n}}\n'


@pytest.fixture
def mesh() -> Any:
    meshio = pytest.importorskip("meshio")
    cells, points = hexahedra(4, 3, 3), np.stack(np.meshgrid(*map(np.arange, (5, 4, 4))), -1)
    quads = cells[:4, :4]
    return meshio.Mesh(
        points.reshape(-1, 3).astype(float), [("quad", quads), ("hexahedron", cells)]
    )


@pytest.mark.parametrize("suffix", [".vtu", ".vtk", ".xdmf", ".msh"])
def test_mesh_output_has_a_part_per_cell(run: Run, mesh: Any, tmp_path: Path, suffix: str) -> None:
    tmp_path = tmp_path / "work"
    tmp_path.mkdir()
    meshio = pytest.importorskip("meshio")
    if suffix == ".xdmf":
        pytest.importorskip("h5py")
    source, target = tmp_path / "in.vtu", tmp_path / f"out{suffix}"
    mesh.write(source)
    words = run("mesh", source, "-k", "3", *ENGINE, "-o", target, "--json", "-").stdout
    report = json.loads(words)
    graph = jetpy.dual_graph([("hexahedron", mesh.cells[1].data)])
    expected = jetpy.partition(graph, 3, backend="cpu", threads=2)
    assert (report["graph"], report["cut"]) == ("in", expected.cut)
    found = meshio.read(target)
    quads, cubes = (
        np.concatenate(
            [
                own
                for own, at in zip(found.cell_data["part"], found.cells, strict=True)
                if at.type == kind
            ]
        )
        for kind in ("quad", "hexahedron")
    )
    of = np.concatenate([at.data for at in found.cells if at.type == "hexahedron"])
    assert {tuple(nodes): part for nodes, part in zip(of.tolist(), cubes, strict=True)} == {
        tuple(nodes): part
        for nodes, part in zip(mesh.cells[1].data.tolist(), expected.parts, strict=True)
    }
    assert sorted(quads) == sorted(expected.parts[:4])
    assert sorted(path.stem for path in tmp_path.iterdir() if path.suffix != ".h5") == ["in", "out"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("suffix", [".part", ".txt.gz", ".npy", ".npz", ".csv", ".json"])
def test_parts_file_has_a_part_per_cell(run: Run, mesh: Any, tmp_path: Path, suffix: str) -> None:
    source, target = tmp_path / "in.vtu", tmp_path / f"out{suffix}"
    mesh.write(source)
    words = run("mesh", source, "-k", "3", *ENGINE, "-o", target).stdout
    assert words.startswith("graph               in: 36 vertices, ")
    assert words.endswith(f"\nwrote {target}\n")
    graph = jetpy.dual_graph([("hexahedron", mesh.cells[1].data)])
    expected = jetpy.partition(graph, 3, backend="cpu", threads=2)
    parts = jetpy.read_parts(target)
    assert parts.tolist() == [*expected.parts[:4], *expected.parts]
    for command in ("evaluate", "report"):
        output = ("-o", "page.html") if command == "report" else ()
        report = json.loads(run(command, source, target, *output, "--json", "-").stdout)
        assert (report["graph"], report["n"], report["cut"]) == ("in", 36, expected.cut)


def test_summary_without_output_suggests_an_option(run: Run, mesh: Any, tmp_path: Path) -> None:
    mesh.write(tmp_path / "in.vtu")
    words = run("mesh", "in.vtu", "-k", "3", *ENGINE).stdout
    assert words.splitlines()[-1].startswith("no output file; use -o out.vtu")


@pytest.mark.parametrize("command", [("evaluate",), ("report", "-o", "page.html")])
def test_parts_of_other_cells_are_refused(
    run: Run, mesh: Any, tmp_path: Path, command: tuple[str, ...]
) -> None:
    mesh.write(tmp_path / "in.vtu")
    mesh.write(tmp_path / "out.vtu")
    jetpy.write_parts("top.part", [0] * 36)
    refused = run(*command, "in.vtu", "top.part", code=1).stderr
    assert "top.part: the file has 36 part ids, but the mesh has 40 cells; cells of" in refused
    refused = run(*command, "in.vtu", "out.vtu", code=1).stderr
    assert "out.vtu: this is a mesh, not a file of parts; jetpy mesh -o out.part" in refused


def test_errors_of_meshio_are_explained(run: Run, mesh: Any, tmp_path: Path) -> None:
    source = tmp_path / "in.vtu"
    mesh.write(source)
    wrong = run("mesh", source, "-k", "2", "-o", tmp_path / "out.spam", code=1)
    assert "meshio does not write files with this suffix" in wrong.stderr
    noise = tmp_path / "noise.vtu"
    noise.write_text("nothing")
    assert "meshio cannot read this mesh" in run("mesh", noise, "-k", "2", code=1).stderr
    assert "not an OpenFOAM case" in run("mesh", ".", "-k", "2", code=2).stderr
    mesh.cells[1].data = mesh.cells[1].data[:, :7]
    with pytest.raises(FileFormatError, match="meshio cannot write this mesh"):
        files.write_mesh(tmp_path / "out.vtk", mesh, np.zeros(40, np.int32))
    assert not list(tmp_path.glob("out*"))
    words = run("mesh", noise, "-k", "2", "-o", "out.stl", code=1).stderr
    assert "files with this suffix cannot store the part of each cell" in words


def test_mesh_without_readable_cells_is_refused(run: Run, tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    source = tmp_path / "in.vtu"
    corners = np.indices((2, 2, 2)).reshape(3, 8).T.astype(float)
    meshio.Mesh(corners, [("hexahedron", [range(8)])]).write(source, binary=False)
    text = source.read_text()
    assert text.count("\n12\n") == 1
    source.write_text(text.replace("\n12\n", "\n11\n"))
    assert "meshio finds no cells" in run("mesh", source, "-k", "2", code=1).stderr


def groups_of(path: Path) -> dict[str, list[tuple[int, ...]]]:
    """Return the nodes of the cells in each physical group, by name."""
    mesh = pytest.importorskip("meshio").read(path)
    return {
        name: sorted(
            tuple(sorted(nodes))
            for block, cells in zip(mesh.cells, own, strict=True)
            for nodes in block.data[cells].tolist()
        )
        for name, own in mesh.cell_sets.items()
        if name in mesh.field_data
    }


@pytest.mark.parametrize("version", ["2.2", "4.1"])
def test_gmsh_output_keeps_materials_and_adds_parts(run: Run, tmp_path: Path, version: str) -> None:
    meshio = pytest.importorskip("meshio")
    source, target, again = (tmp_path / name for name in ("two.msh", "parts.msh", "again.msh"))
    source.write_text(gmsh_files.MATERIALS)
    before = groups_of(source)
    if version == "2.2":
        files.read_mesh(source).write(source, file_format="gmsh22")
    run("mesh", source, "-k", "4", *ENGINE, "-o", target, "--quiet")
    found = groups_of(target)
    squares = sorted(before["steel"] + before["air"])
    assert {name: found.pop(name) for name in before} == before
    assert sorted(found) == ["part 0", "part 1", "part 2", "part 3"]
    assert sorted(nodes for cells in found.values() for nodes in cells) == squares
    written = meshio.read(target)
    for block, parts, *own in zip(
        written.cells, written.cell_data["part"], *written.cell_sets.values(), strict=True
    ):
        assert len(parts) == len(block.data)
        names = [name for name, cells in zip(written.cell_sets, own, strict=True) if len(cells)]
        assert block.type == "line" or f"part {parts[0]:.0f}" in names
    run("mesh", target, "-k", "2", *ENGINE, "-o", again, "--quiet")
    found = groups_of(again)
    assert {name: found.pop(name) for name in before} == before
    assert sorted(map(len, found.values())) == [2, 2]


@pytest.mark.parametrize("suffix", [".vtu", ".vtk"])
def test_vtk_output_keeps_materials(run: Run, tmp_path: Path, suffix: str) -> None:
    meshio = pytest.importorskip("meshio")
    source, target = tmp_path / "two.msh", tmp_path / f"out{suffix}"
    source.write_text(gmsh_files.MATERIALS)
    run("mesh", source, "-k", "2", *ENGINE, "-o", target, "--quiet")
    data = meshio.read(target).cell_data
    assert [own.tolist() for own in data["gmsh:physical"]] == [[3, 3], [1, 1, 2, 2]]
    assert sorted(data) == ["bottom-steel-air", "gmsh:geometrical", "gmsh:physical", "part"]


MEDIT = """MeshVersionFormatted 2
Dimension 2
Vertices
6
0 0 1
1 0 1
2 0 2
0 1 3
1 1 3
2 1 2
Edges
3
1 2 11
2 3 12
3 6 13
Corners
1
1
Triangles
4
1 2 5 7
1 5 4 7
2 3 6 7
2 6 5 {}
End
"""


def test_format_with_one_number_per_cell_keeps_the_labels_of_boundaries(
    run: Run, tmp_path: Path
) -> None:
    meshio = pytest.importorskip("meshio")
    source, target, parts = (tmp_path / name for name in ("in.mesh", "out.mesh", "out.part"))
    source.write_text(MEDIT.format(7))
    words = run("mesh", source, "-k", "2", *ENGINE, "-o", target).stderr
    assert "in.mesh: the section Corners is not kept" in words
    assert "out.mesh: the parts replace medit:ref = 7 of all cells" in words
    run("mesh", source, "-k", "2", *ENGINE, "-o", parts, "--quiet")
    found = meshio.read(target)
    of_edges, of_triangles = found.cell_data["medit:ref"]
    assert of_edges.tolist() == [11, 12, 13]
    assert of_triangles.tolist() == jetpy.read_parts(parts)[3:].tolist()
    assert found.point_data["medit:ref"].tolist() == [1, 1, 2, 3, 3, 2]


def test_format_with_one_number_per_cell_without_labels_stores_parts(
    run: Run, mesh: Any, tmp_path: Path
) -> None:
    meshio = pytest.importorskip("meshio")
    mesh.write(tmp_path / "in.vtu")
    for name in ("out.mesh", "out.part"):
        run("mesh", "in.vtu", "-k", "2", *ENGINE, "-o", name, "--quiet")
    found = np.concatenate(meshio.read("out.mesh").cell_data["medit:ref"])
    assert found.tolist() == jetpy.read_parts("out.part").tolist()


def test_parts_do_not_replace_materials(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.mesh").write_text(MEDIT.format(8))
    (tmp_path / "in.msh").write_text(gmsh_files.PLAIN)
    words = run("mesh", "in.mesh", "-k", "2", "-o", "out.mesh", code=1).stderr
    assert "the parts would replace the medit:ref of the cells (7, 8); use .vtu or .msh" in words
    words = run("mesh", "in.msh", "-k", "2", "-o", "out.vol", code=1).stderr
    assert "out.vol: this format has one integer per cell, and cells have several" in words
    (tmp_path / "in.msh").write_text(gmsh_files.MATERIALS)
    words = run("mesh", "in.msh", "-k", "2", "-o", "out.mesh", code=1).stderr
    assert "the parts would replace the gmsh:physical of the cells (1, 2)" in words
    for name in ("out.msh", "out.vtu", "out.part"):  # the remedies
        run("mesh", "in.mesh", "-k", "2", *ENGINE, "-o", name, "--quiet")


@pytest.mark.parametrize(("suffix", "package"), [(".xdmf", "h5py"), (".med", "h5py")])
def test_missing_package_is_reported_before_reading(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    noise = tmp_path / "in.vtu"
    noise.write_text("not looked at")
    words = run("mesh", noise, "-k", "2", "-o", tmp_path / f"out{suffix}", code=1).stderr
    assert words.endswith(f"need {package}: pip install {package}\n")
    (tmp_path / "in.med").write_text("not looked at")
    words = run("mesh", tmp_path / "in.med", "-k", "2", code=1).stderr
    assert words.endswith("without the package h5py: pip install h5py\n")


def test_output_of_meshio_becomes_a_warning(run: Run, tmp_path: Path, capfd: Any) -> None:
    pytest.importorskip("meshio")
    source, target = tmp_path / "in.mesh", tmp_path / "out.vtu"
    source.write_text(MEDIT.format(7).replace("Corners", "Ridges"))
    capfd.readouterr()
    result = run("mesh", source, "-k", "2", *ENGINE, "-o", target)
    expected = f"{source}: meshio: Meshio doesn't know keyword Ridges. Skipping."
    assert expected in result.stderr.splitlines()
    assert run("mesh", source, "-k", "2", *ENGINE, "-o", target, "--quiet").output == ""
    assert capfd.readouterr() == ("", "")


def test_causes_of_meshio_are_passed_on_with_a_remedy(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("meshio")
    (tmp_path / "in.mesh").write_text(MEDIT.format(7).replace("Corners", "Spam"))
    words = run("mesh", "in.mesh", "-k", "2", code=1).stderr
    expected = "Unknown keyword 'Spam'.; save the mesh as .vtu or .msh (MSH 4.1) instead\n"
    assert words.endswith(f"in.mesh: meshio cannot read this mesh: {expected}")


def test_med_output_joins_blocks_of_one_type(run: Run, tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    pytest.importorskip("h5py")
    (tmp_path / "in.msh").write_text(gmsh_files.MATERIALS)
    for name in ("out.med", "out.part"):
        run("mesh", "in.msh", "-k", "2", *ENGINE, "-o", name, "--quiet")
    found = meshio.read("out.med")
    assert sorted(block.type for block in found.cells) == ["line", "quad"]
    quads = [block.type for block in found.cells].index("quad")
    assert found.cell_data["part"][quads].tolist() == jetpy.read_parts("out.part")[2:].tolist()


def test_cells_have_weights_of_the_mesh_or_of_files(run: Run, mesh: Any, tmp_path: Path) -> None:
    heavy = np.where(np.arange(36) < 9, 5, 1)
    more = np.stack([heavy, np.arange(36) % 4], 1)
    none = np.ones(4, np.int64)
    mesh.cell_data = {"work": [none, heavy], "half": [none / 2, heavy / 2], "words": [none, heavy]}
    mesh.write("in.vtu")
    np.savetxt("work.txt", np.concatenate([none, heavy]), fmt="%d")
    np.savetxt("more.txt", np.concatenate([none[:, None].repeat(2, 1), more]), fmt="%d")
    graph = jetpy.dual_graph(mesh)
    expected = jetpy.partition(graph, 3, vertex_weights=heavy, backend="cpu", threads=2)
    for given in (["work"], ["work.txt"], ["half", "--scale"]):
        words = run("mesh", "in.vtu", "-k", 3, "--cell-weights", *given, *ENGINE, "--json", "-")
        assert json.loads(words.stdout)["cut"] == expected.cut
    expected = jetpy.partition(
        graph, 3, vertex_weights=more, imbalance=[0.1, 0.2], backend="cpu", threads=2
    )
    words = run(
        *("mesh", "in.vtu", "-k", 3, "--cell-weights", "more.txt", *ENGINE),
        *("--imbalance", "0.1,0.2", "-o", "out.part", "--json", "-"),
    ).stdout
    assert jetpy.read_parts("out.part")[4:].tolist() == expected.parts.tolist()
    columns = "--cell-weights", "work", "--cell-weights", "half"
    run("mesh", "in.vtu", "-k", 3, *columns, *ENGINE, "--scale", "--imbalance", 0.2, "--quiet")
    run("mesh", "in.vtu", "-k", 3, *columns, *ENGINE, code=1)
    words = run("mesh", "in.vtu", "-k", 3, "--cell-weights", "spam", code=2).stderr
    assert "'spam' is neither cell data of the mesh (half, words, work) nor a file" in words
    np.savetxt("few.txt", heavy, fmt="%d")
    words = run("mesh", "in.vtu", "-k", 3, "--cell-weights", "few.txt", code=1).stderr
    assert "a weight for each of the 40 cells, boundary cells included" in words


def test_bad_weights_are_those_of_cells(run: Run, mesh: Any, tmp_path: Path) -> None:
    """The first 4 cells are boundary cells, whose weights in the mesh do not count."""
    values = np.ones(36, np.int64)
    values[5] = -1
    mesh.cell_data = {"work": [-np.ones(4, np.int64), values]}
    mesh.write("in.vtu")
    np.savetxt("one.txt", np.concatenate([np.ones(4), values]), fmt="%d")
    np.savetxt("two.txt", np.stack([np.ones(40), np.concatenate([np.ones(4), values])], 1))
    np.savetxt("many.txt", np.full((40, 2), 2**30))
    np.savetxt("half.txt", np.full(40, 0.5))
    for given, expected in (
        ("work", "cell 9 has weight -1, but weights must be integers from 0 on"),
        ("one.txt", "cell 9 on line 10 has weight -1, but weights must be integers from 0 on"),
        ("two.txt", "weight 1 of cell 9 on line 10 is -1; it must be an integer in"),
        ("many.txt", "the cell weights overflow: the sum of weight 0 over all cells is 2**31"),
        ("half.txt", "cell 0 on line 1 has weight 0.5, which is not a whole number; scale=True"),
        ("work --cell-weights work", "weight 0 of cell 9 is -1; it must be an integer in"),
        ("work --cell-weights work --scale", "weight 0 of cell 9 is -1; it must be from 0 on"),
    ):
        words = run("mesh", "in.vtu", "-k", 3, "--cell-weights", *given.split(), code=1).stderr
        assert expected in words
        assert "vertex" not in words


def test_ghost_cells_need_a_gmsh_file(run: Run, mesh: Any, tmp_path: Path) -> None:
    mesh.write("in.vtu")
    words = run("mesh", "in.vtu", "-k", 2, "--ghosts", "-o", "out.vtu", code=1).stderr
    assert "out.vtu: only .msh files have ghost cells" in words
    assert "--ghosts needs -o" in run("mesh", "in.vtu", "-k", 2, "--ghosts", code=2).stderr
    run("mesh", "in.vtu", "-k", 2, "--ghosts", *ENGINE, "-o", "out.msh", "--quiet")
    assert b"$GhostElements" in Path("out.msh").read_bytes()


def test_missing_meshio_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "meshio", None)
    with pytest.raises(JetpyError, match="pip install meshio"):
        files.read_mesh(tmp_path / "in.vtu")


def case(tmp_path: Path, form: str, bits: int = 32) -> Path:
    """Write an OpenFOAM case of six cells in a row; faces between cells come first."""
    folder = tmp_path / openfoam.POLY_MESH
    folder.mkdir(parents=True)
    labels = {"owner": [0, 1, 2, 3, 4, 0, 5, 5], "neighbour": [1, 2, 3, 4, 5]}
    for name, values in labels.items():
        head = HEADER.format(form.partition(".")[0], bits).encode()
        if form == "binary":
            body = b"(" + np.array(values, f"<i{bits // 8}").tobytes() + b")"
        else:
            body = ("(\n" + "\n".join(map(str, values)) + "\n)\n").encode()
        content = head + f"// * * * //\n\n\n{len(values)}\n".encode() + body
        if form == "ascii.gz":
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("form", "bits"), [("ascii", 32), ("ascii.gz", 32), ("binary", 32), ("binary", 64)]
)
def test_openfoam_case_is_partitioned(run: Run, tmp_path: Path, form: str, bits: int) -> None:
    folder = case(tmp_path, form, bits)
    assert openfoam.read_case(folder).degrees.tolist() == [1, 2, 2, 2, 2, 1]
    run("mesh", folder, "-k", "2", "--quiet", *ENGINE)
    text = (folder / openfoam.DECOMPOSITION).read_text()
    assert 'class       labelList;\n    location    "constant";' in text
    assert "object      cellDecomposition;" in text
    count, _, *parts, end = text.rpartition("}\n\n")[2].split()
    assert (count, end) == ("6", ")")
    assert parts in (["0"] * 3 + ["1"] * 3, ["1"] * 3 + ["0"] * 3)
    run("mesh", folder, "-k", "2", *ENGINE, "-o", folder / "own.part", "--quiet")
    assert jetpy.read_parts(folder / "own.part").tolist() == list(map(int, parts))
    assert f"{folder.name}: 6 vertices" in run("mesh", folder, "-k", "2", *ENGINE).stdout
    run("mesh", folder, "-k", "2", *ENGINE, "-o", folder / "mine")
    assert "object      mine;" in (folder / "mine").read_text()
    words = run("mesh", folder, "-k", "2", "--common-nodes", "2", code=2).stderr
    assert "--common-nodes applies to mesh files" in words


def test_comments_within_openfoam_lists_are_skipped(tmp_path: Path) -> None:
    folder = case(tmp_path, "ascii")
    file = folder / openfoam.POLY_MESH / "owner"
    labels = "8\n( // ( 7\n0 1 /* 9 )\n9 */ 2 3\n// 5 )\n4 0 5 // last\n5\n)\n"
    head = HEADER.format("ascii", 32)
    header = head.replace("{", '{\n  // format binary; }\n  note "http://(x)";', 1)
    file.write_text(f"/* 1\n( */ // 2(\n{header}/* 3 ( */\n{labels}")
    assert openfoam.read_case(folder).degrees.tolist() == [1, 2, 2, 2, 2, 1]
    file.write_text(f"{head}\n8{{0}}\n")
    assert openfoam.read_labels(folder, "owner").tolist() == [0] * 8
    file.write_text(f"{head}\n{10**12}{{0}}\n")
    with pytest.raises(FileFormatError, match="1000000000000 equal labels are too many"):
        openfoam.read_case(folder)


@pytest.mark.usefixtures("undrawn")
def test_openfoam_parts_are_evaluated(run: Run, tmp_path: Path) -> None:
    folder = case(tmp_path / "case", "ascii")
    run("mesh", folder, "-k", "2", *ENGINE, "--quiet")
    Path("own.part").write_text("0\n0\n1\n1\n2\n2\n")
    for command in ("evaluate",), ("report", "-o", "page.html"):
        words = run(*command, folder, "own.part", "--json", "-").stdout
        assert json.loads(words)["cut"] == 2
        words = run(*command, folder, folder / openfoam.DECOMPOSITION, "--json", "-").stdout
        assert json.loads(words)["cut"] == 1
    Path("negative.txt").write_text(6 * "-1\n")
    run("mesh", folder, "-k", "2", *ENGINE, "--cell-weights", "negative.txt", code=1)
    words = run("mesh", folder, "-k", "2", "--cell-weights", "own", code=2).stderr
    assert "'own' is not a file" in words
    text = (folder / openfoam.DECOMPOSITION).read_text()
    shorter = re.sub(r"6\n\(\n\d\n", "5\n(\n", text)
    Path("short").write_text(shorter)
    words = run("evaluate", folder, "short", code=1).stderr
    assert "short: the file has 5 part ids, but the mesh has 6 cells" in words
    Path("wrong").write_text(shorter.replace("5\n(\n", "6\n(\n-1\n"))
    assert "part -1 is not in 0.." in run("evaluate", folder, "wrong", code=1).stderr


def test_regions_of_openfoam_are_partitioned(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "case"
    for name in ("fluid", "solid"):
        mesh = case(tmp_path / name, "ascii") / openfoam.POLY_MESH
        target = folder / "constant" / name / "polyMesh"
        target.parent.mkdir(parents=True)
        mesh.rename(target)
    words = run("mesh", folder, "-k", "2", code=2).stderr
    named = "an OpenFOAM case of regions only (fluid, solid); choose one by --region fluid"
    assert f"{named}, or use --all-regions" in words
    assert named in run("evaluate", folder, "mesh.part", code=2).stderr
    words = run("mesh", folder, "-k", "2", "--region", "spam", code=2).stderr
    assert "has no region spam; its regions are fluid, solid" in words
    run("mesh", folder, "-k", "2", *ENGINE, "--region", "fluid", "--quiet")
    decompositions = [openfoam.decomposition(folder, name) for name in ("fluid", "solid")]
    assert [path.is_file() for path in decompositions] == [True, False]
    first = decompositions[0].read_text()
    assert 'location    "constant/fluid";' in first
    report = run("mesh", folder, "-k", "2", *ENGINE, "--all-regions", "--json", "-").stdout
    assert {name: own["cut"] for name, own in json.loads(report)["regions"].items()} == {
        **{"fluid": 1, "solid": 1}
    }
    assert decompositions[0].read_text() == first
    words = run("evaluate", folder, decompositions[1], "--region", "solid", "--json", "-").stdout
    assert json.loads(words)["graph"] == "solid"
    words = run("mesh", folder, "-k", "2", *ENGINE, "--all-regions").stdout
    assert [line for line in words.splitlines() if line.startswith(("graph", "wrote"))] == [
        line
        for name, path in zip(("fluid", "solid"), decompositions, strict=True)
        for line in (f"graph               {name}: 6 vertices, 5 edges", f"wrote {path}")
    ]


BAD_COMBINATIONS = {
    "in.vtu -k 2 --region a": "--region applies to OpenFOAM cases, not to in.vtu",
    "in.vtu -k 2 --all-regions": "--all-regions applies to OpenFOAM cases, not to in.vtu",
    "case -k 2 --ghosts -o out.msh": "--ghosts applies to .msh files, not to OpenFOAM cases",
    "case -k 2 --all-regions --region a": "--all-regions cannot be combined with --region",
    "case -k 2 --all-regions -o x": "--all-regions cannot be combined with -o",
    "case -k 2 --all-regions": "case has no regions: no constant/NAME/polyMesh",
}


@pytest.mark.parametrize("words", BAD_COMBINATIONS)
def test_wrong_combinations_are_refused(run: Run, tmp_path: Path, words: str) -> None:
    (tmp_path / "in.vtu").write_text("not looked at")
    case(tmp_path / "case", "ascii")
    assert BAD_COMBINATIONS[words] in run("mesh", *words.split(), code=2).stderr


def with_points(folder: Path, form: str) -> Path:
    """Add points to the case: square faces of a row of unit cubes, the last face twice."""
    points = np.array([(x, y, z) for x in range(7) for y, z in ((0, 0), (1, 0), (1, 1), (0, 1))])
    faces = [[4 * x + i for i in range(4)] for x in (1, 2, 3, 4, 5, 0, 6, 6)]
    head = HEADER.format(form, 32)
    if form == "binary":
        starts, labels = np.arange(0, 4 * len(faces) + 1, 4), np.ravel(faces)
        bodies = {
            "points": b"%d\n(%b)" % (len(points), points.astype("<f8").tobytes()),
            "faces": b"%d\n(%b)\n%d\n(%b)"
            % (
                len(starts),
                starts.astype("<i4").tobytes(),
                len(labels),
                labels.astype("<i4").tobytes(),
            ),
        }
    else:
        lists = {
            "points": [f"({x} {y} {z}.0)" for x, y, z in points],
            "faces": [f"{len(face)}({' '.join(map(str, face))})" for face in faces],
        }
        bodies = {
            name: f"{len(lines)}\n(\n{chr(10).join(lines)}\n)\n// **** //\n".encode()
            for name, lines in lists.items()
        }
    for name, body in bodies.items():
        (folder / openfoam.POLY_MESH / name).write_bytes(head.encode() + body)
    return folder


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("form", ["ascii", "binary"])
def test_openfoam_coordinates_are_centres_of_cells(run: Run, tmp_path: Path, form: str) -> None:
    folder = with_points(case(tmp_path, form), form)
    found = openfoam.read_case(folder).coordinates
    assert found is not None
    expected = [0.5, 1.5, 2.5, 3.5, 4.5, 17 / 3]
    assert np.allclose(found, np.column_stack([expected, [0.5] * 6, [0.5] * 6]))
    run("report", folder, "-k", "2", "-o", tmp_path / "page.html", "--quiet", *ENGINE)
    assert "The quotient graph" not in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("points", "3\n((0 0 0) (1 1 1))", "does not contain 3 points"),
        ("points", "1\n((0 0 x))", "does not contain 1 points"),
        ("faces", "2\n(3(0 1 2) 4(0 1))", "not an OpenFOAM list of faces"),
        ("faces", "1\n(3(0 1 2))", "are inconsistent"),
    ],
)
def test_bad_openfoam_points_are_refused(tmp_path: Path, name: str, body: str, words: str) -> None:
    folder = with_points(case(tmp_path, "ascii"), "ascii")
    (folder / openfoam.POLY_MESH / name).write_text(HEADER.format("ascii", 32) + body)
    graph = openfoam.read_case(folder)
    with pytest.raises(FileFormatError, match=words):
        graph.coordinates  # noqa: B018


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("nothing", "not an OpenFOAM list of labels"),
        (HEADER.format("ascii", 32) + "3\n(0 1)", "announces 3 labels, but has 2"),
        (HEADER.format("ascii", 32) + "2\n(0 x)", "a label is not an integer"),
        (HEADER.format("binary", 32) + "2\n(abc)", "announces 2 labels, but has 1"),
    ],
)
def test_bad_openfoam_labels_are_refused(tmp_path: Path, content: str, words: str) -> None:
    folder = case(tmp_path, "ascii")
    (folder / openfoam.POLY_MESH / "owner").write_text(content)
    with pytest.raises(FileFormatError, match=words):
        openfoam.read_case(folder)
    (folder / openfoam.POLY_MESH / "owner").unlink()
    with pytest.raises(FileFormatError, match="the file does not exist"):
        openfoam.read_case(folder)
    (folder / openfoam.POLY_MESH / "owner.gz").write_bytes(b"spam")
    with pytest.raises(FileFormatError, match=r"owner\.gz"):
        openfoam.read_case(folder)
