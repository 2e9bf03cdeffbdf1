"""Partitions in files: written by suffix, read back, and refused if damaged."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jetpy.errors import FileFormatError, JetpyError
from jetpy.io import read_parts, write_parts
from jetpy.io.compression import COMPRESSIONS
from jetpy.io.parts import OTHERS, read_groups
from tests.io.contents import saved

NAMES = ("p", "p.part", "p.part.16", "p.txt", "p.npy", "p.npz", "p.csv", "p.json", "P.NPY")
PARTS = np.array([0, 3, 2, 10, 0], np.int32)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("compression", ["", *COMPRESSIONS])
def test_parts_are_written_and_read_back(tmp_path: Path, name: str, compression: str) -> None:
    if compression == ".zst":
        pytest.importorskip("zstandard", reason="the optional package zstandard is missing")
    path = tmp_path / (name + compression)
    for parts in (PARTS, PARTS[:0], np.arange(3000, dtype=np.uint16)):
        write_parts(path, parts)
        found = read_parts(path, len(parts))
        assert found.dtype == np.int32
        assert found.tolist() == parts.tolist()


def test_content_of_written_files(tmp_path: Path) -> None:
    for name in NAMES:
        write_parts(tmp_path / name, PARTS)
    for name in ("p", "p.part", "p.part.16", "p.txt"):
        assert (tmp_path / name).read_text() == "0\n3\n2\n10\n0\n"
    assert np.load(tmp_path / "p.npy").tolist() == PARTS.tolist()
    assert np.load(tmp_path / "p.npz")["parts"].tolist() == PARTS.tolist()
    assert (tmp_path / "p.csv").read_text() == "vertex,part\n0,0\n1,3\n2,2\n3,10\n4,0\n"
    assert (tmp_path / "p.json").read_text() == "[0,3,2,10,0]\n"
    write_parts(tmp_path / "p.json.xz", PARTS)
    assert json.loads(lzma.decompress((tmp_path / "p.json.xz").read_bytes())) == PARTS.tolist()
    write_parts(tmp_path / "p.npy.gz", PARTS)
    assert (
        np.load(io.BytesIO(gzip.decompress((tmp_path / "p.npy.gz").read_bytes()))).tolist()
        == PARTS.tolist()
    )
    write_parts(tmp_path / "p.csv.bz2", PARTS)
    assert bz2.decompress((tmp_path / "p.csv.bz2").read_bytes()).startswith(b"vertex,part\n0,0\n")


@pytest.mark.parametrize("name", ["p", "p.npy", "p.npz", "p.csv", "p.json"])
def test_deleted_vertices_need_partial(tmp_path: Path, name: str) -> None:
    write_parts(tmp_path / name, [1, -1, 0])
    assert read_parts(tmp_path / name, 3, partial=True).tolist() == [1, -1, 0]
    with pytest.raises(FileFormatError, match="part -1"):
        read_parts(tmp_path / name)


def test_parts_are_written_in_several_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jetpy.io.parts.BLOCK", 7)
    parts = np.arange(50, dtype=np.int32) % 13
    for name in NAMES:
        write_parts(tmp_path / name, parts)
        assert read_parts(tmp_path / name).tolist() == parts.tolist()


def test_other_layouts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    for content in (
        "part\n2\n0\n1\n",
        "2\n0\n1\n",
        "vertex,part\n2,1\n0,2\n1,0\n",
        "1 0\n2 1\n0 2\n",
    ):
        path.write_text(content)
        assert read_parts(path, 3).tolist() == [2, 0, 1]
    for name, content in (
        ("p", "1\n0\n"),
        ("p.csv", "vertex,part\n0,1\n1,0\n"),
        ("p.json", "[1, 0]"),
    ):
        (tmp_path / name).write_bytes(content.encode("utf-8-sig"))
        assert read_parts(tmp_path / name).tolist() == [1, 0]


NPY = saved(np.save, PARTS)
NPZ = saved(np.savez, parts=PARTS)
BAD: dict[str, list[tuple[bytes, str]]] = {
    "p": [
        (b"0\n1\n", "2 part ids, but the graph has 5 vertices"),
        (b"0\n" * 9, "9 part ids, but the graph has 5 vertices"),
        (b"0\n\n1\n", "line 2: the line has 0 integers; it must have one part id"),
        (b"0\n1 2\n", "line 2: the line has 2 integers; it must have one part id"),
        (b"0\n-1\n1\n", "line 2: part -1 is negative"),
        (b"0\nx\n1\n", "line 2: 'x' is not an integer"),
        (b"0\n2147483647\n", "vertex 1 is in part 2147483647"),
    ],
    "p.npy": [
        (b"", "this is not a NumPy array"),
        (b"0\n1\n", "this is not a NumPy array"),
        (NPZ, "this is not a NumPy array"),
        (NPY[:-1], "an array should have 20 bytes, but there are only 19"),
        (NPY + b"0", "an array should have 20 bytes, but has more"),
        (NPY.replace(b"(5,)", b"(9,)"), "an array should have 36 bytes, but there are only 20"),
        (NPY.replace(b"(5,)", b"(5 )"), "this is not a NumPy array"),
        (NPY.replace(b"<i4", b"<x4"), "this is not a NumPy array"),
        (saved(np.save, PARTS[:4]), "4 part ids, but the graph has 5 vertices"),
        (saved(np.save, PARTS.astype(float)), "part ids must be integers, not float64"),
        (saved(np.save, PARTS > 2), "part ids must be integers, not bool"),
        (saved(np.save, PARTS.astype(str)), "part ids must be integers"),
        (saved(np.save, PARTS.astype(object)), "jetpy does not load arrays of Python objects"),
        (saved(np.save, PARTS[:, None]), "one-dimensional, not of shape"),
        (saved(np.save, np.int32(3)), "one-dimensional, not of shape"),
        (saved(np.save, PARTS - 1), "vertex 0 is in part -1"),
        (saved(np.save, np.full(5, 2**63, np.uint64)), "vertex 0 is in part 9223372036854775808"),
    ],
    "p.npz": [
        (b"", "not an .npz archive, or it is cut short"),
        (NPY, "not an .npz archive, or it is cut short"),
        (NPZ[:-30], "not an .npz archive, or it is cut short"),
        (saved(np.savez, PARTS), "the archive has no array parts, only arr_0"),
        (
            saved(np.savez, parts=PARTS.astype(object)),
            "jetpy does not load arrays of Python objects",
        ),
        (saved(np.savez, parts=PARTS[None]), "one-dimensional"),
    ],
    "p.csv": [
        (b"vertex,part\n0,1\n1,x\n", "line 3: 'x' is not an integer"),
        (b"vertex,part\n0,1\n2,1\n", "line 3: there is no vertex 2; vertices must be in 0..1"),
        (b"vertex,part\n0,1\n-1,1\n", "line 3: there is no vertex -1; vertices must be in 0..1"),
        (b"vertex,part\n0,1\n0,1\n", "vertex 0 is listed more than once"),
        (b"vertex,part\n0,1,2\n", "line 2: the line has 3 numbers; it must have 1 or 2"),
        (b"vertex,part\n0,-1\n", "vertex 0 is in part -1"),
        (b"vertex,part\n0,1\n", "1 part ids, but the graph has 5 vertices"),
    ],
    "p.json": [
        (b"", "this is not JSON"),
        (b"[0, 1", "this is not JSON"),
        (b"\xff\xfe[]", "this is not JSON"),
        (b"[" * 100_000, "this is not JSON"),
        (b"[" + b"9" * 5000 + b"]", "this is not JSON"),
        (b'{"parts": [0]}', "this is not a list of part ids"),
        (b"[0, 1.0]", "vertex 1 is in part 1.0"),
        (b"[0, true]", "vertex 1 is in part True"),
        (b"[0, null]", "vertex 1 is in part None"),
        (b'[0, "1"]', "vertex 1 is in part '1'"),
        (b"[[0, 1]]", r"vertex 0 is in part \[0, 1\]"),
        (b"[0, -1]", "vertex 1 is in part -1"),
        (b"[0, NaN]", "vertex 1 is in part nan"),
        (b"[0, 12345678901234567890]", "vertex 1 is in part 12345678901234567890"),
        (b"[0, 1]", "2 part ids, but the graph has 5 vertices"),
    ],
}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [(name, content, words) for name, cases in BAD.items() for content, words in cases],
)
def test_bad_file_is_refused(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError, match=words) as caught:
        read_parts(tmp_path / name, n=5)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.txt", "1\n2\n", "the file has 2 groups, but the graph has 3 vertices"),
        ("g.txt", "1\n2\n-1\n1\n", "the file has 4 groups, but the graph has 3 vertices"),
        ("g.txt", "1\n-2\n1\n", "line 2: group -2 is negative"),
        ("g.txt", "1 2\n", "line 1: the line has 2 integers; it must have one group"),
        ("g.json", "[0, -2, 1]", "vertex 1 is in group -2; groups must be in -1..2147483646"),
        ("g.json", "{}", "this is not a list of groups"),
    ],
)
def test_bad_groups_are_called_so(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(FileFormatError, match=f"{name}: {message}"):
        read_groups(path, 3)
    (tmp_path / "good").write_text("7\n-1\n7\n")
    assert read_groups(tmp_path / "good", 3).tolist() == [7, -1, 7]


@pytest.mark.parametrize("suffix", [*OTHERS, ".graph.gz"])
def test_suffix_of_a_graph_format_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mesh{suffix}"
    with pytest.raises(
        FileFormatError, match=r"does not write partitions as .*\.npy, .*for example mesh\.part"
    ):
        write_parts(path, PARTS)
    assert not path.exists()
    path.write_text("0\n")
    with pytest.raises(FileFormatError, match="does not write partitions as"):
        read_parts(path)


@pytest.mark.parametrize("parts", [[[0, 1]], [0.5], [-2], [2**31 - 1], ["a"], 3])
def test_bad_parts_are_not_written(tmp_path: Path, parts: Any) -> None:
    with pytest.raises(JetpyError):
        write_parts(tmp_path / "p", parts)
    assert not list(tmp_path.iterdir())
