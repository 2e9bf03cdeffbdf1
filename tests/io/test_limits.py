"""Sizes that a file cannot justify are refused before memory is allocated."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from jetpy.errors import FileFormatError
from jetpy.incremental.modifiers import read_modifiers
from jetpy.io import limits, read_graph, read_parts
from jetpy.io.distances import read_distances
from tests.children import run_python
from tests.graphs import assert_same_graph, from_edges, isolated
from tests.io.contents import saved

BANNER = "%%MatrixMarket matrix coordinate pattern symmetric\n"


def claiming(shape: str, **arrays: object) -> bytes:
    """Return an archive whose arrays have a false shape in their headers."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in arrays.items():
            text = saved(np.save, np.asarray(array))
            claim = re.sub(rb"'shape': \(.*?\), }", f"'shape': {shape}, }}".encode(), text)
            archive.writestr(f"{name}.npy", claim[: len(text) - len(claim)] + text[128:])
    return content.getvalue()


def matrix(kind: str) -> bytes:
    entries = ([1, 1], ([0, 1], [1, 0]))
    coo = sp.coo_array(entries, shape=(10**9, 10**9))
    if kind == "dia":
        coo = sp.dia_array(([[1], [1]], [1, -1]), shape=(10**9, 10**9))
    return saved(sp.save_npz, coo)


REFUSED: dict[str, tuple[bytes, str]] = {
    "a.txt": (b"0 2000000000\n", "line 1: vertex 2000000000 is too large for a graph with 1 edges"),
    "b.txt": (b"0 1\n\n7 2000000000 5\n".replace(b" 5", b""), "the first line must be '# vertices"),
    "c.csv": (
        b"source,target\n1199999999,5\n",
        "line 2: vertex 1199999999 is too large for a graph",
    ),
    "d.tsv": (b"0\t10000000\n", "vertex 10000000 is too large for a graph"),
    "e.mtx": (
        f"{BANNER}2000000000 2000000000 1\n2 1\n".encode(),
        "line 2: 2000000000 rows are too many for 1 entries; .* '% vertices 2000",
    ),
    "f.mtx": (
        f"{BANNER}2000000000 2000000000 0\n".encode(),
        "line 2: 2000000000 rows are too many for 0",
    ),
    "g.mtx": (f"{BANNER}% vertices 7\n20000000 20000000 0\n".encode(), "line 3: 20000000 rows"),
    "h.graph": (b"2000000000 1\n2\n1\n", "ends after 2 of 2000000000 vertex lines"),
    "i.npz": (matrix("coo"), "1000000000 rows are too many for 2 entries; .* as csr"),
    "j.npz": (matrix("dia"), "1000000000 rows are too many for 2 entries"),
    "k.npz": (
        claiming("(2000000000,)", indptr=[0], indices=[]),
        "more than a file of this size can contain",
    ),
    "l.npz": (
        claiming("(30,)", indptr=[0], indices=[]),
        "should have 240 bytes, but there are onl",
    ),
    "m.npz": (claiming("(-1,)", indptr=[0], indices=[]), r"an array cannot have shape \(-1,\)"),
    "n.npz": (claiming("(0,10**9)", indptr=[0], indices=[]), "this is not a NumPy array"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unjustified_number_of_vertices_is_refused(tmp_path: Path, name: str) -> None:
    content, words = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError, match=words):
        read_graph(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", b"# vertices 50\n0 1\n"),
        ("b.txt", b"0 19\n"),
        ("c.txt", b"0 1\n0 2\n0 39\n"),
        ("d.mtx", f"{BANNER}% vertices 50\n50 50 1\n2 1\n".encode()),
        ("e.mtx", f"{BANNER}20 20 1\n2 1\n".encode()),
        ("f.graph", b"50 0\n" + b"\n" * 50),
        ("g.npz", saved(np.savez, indptr=np.zeros(51, int), indices=np.zeros(0, int))),
        ("h.npz", saved(sp.save_npz, sp.csr_array((50, 50), dtype=int))),
    ],
)
def test_justified_or_declared_number_of_vertices_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    monkeypatch.setattr(limits, "VERTICES", 20)
    (tmp_path / name).write_bytes(content)
    assert read_graph(tmp_path / name).n in (20, 40, 50)


def test_200000_isolated_vertices_need_no_declaration(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 199999\n")
    assert_same_graph(read_graph(tmp_path / "a.txt"), from_edges(200_000, [(0, 199_999)]))
    (tmp_path / "b.mtx").write_text(f"{BANNER}200000 200000 0\n")
    assert_same_graph(read_graph(tmp_path / "b.mtx"), isolated(200_000))


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("a.graph", b" "),
        ("b.graph", b"\n"),
        ("c.txt", b"0 1\n"),
        ("d.mtx", b"%" + b" " * 99 + b"\n"),
        ("e.npz", b"\0"),
        ("p.part", b"0\n"),
        ("p.json", b"[0,"),
        ("m.txt", b"+v\n---\n"),
    ],
)
def test_extreme_compression_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, piece: bytes, packer: str
) -> None:
    monkeypatch.setattr(limits, "UNPACKED", 1000)
    read = {"p": read_parts, "m": read_modifiers}.get(name[0], read_graph)
    head = {"a": b"3 2\n", "b": b"300000 2\n", "d": BANNER.encode()}.get(name[0], b"")
    path = tmp_path / f"{name}{packer}"
    path.write_bytes(PACKERS[packer](head + piece * (400_000 // len(piece))))
    with pytest.raises(FileFormatError, match=r"unpacks to more than 100 times its .* unpack it"):
        read(path)


def test_extremely_compressed_archive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    arrays = {"indptr": np.zeros(100_001, int), "indices": np.zeros(0, int)}
    np.savez_compressed(path, **arrays)
    assert read_graph(path).n == 100_000
    monkeypatch.setattr(limits, "UNPACKED", 1000)
    with pytest.raises(
        FileFormatError, match="needs 800008 bytes, which is more than a file of this size"
    ):
        read_graph(path)
    np.savez(path, **arrays)
    assert read_graph(path).n == 100_000


@pytest.mark.parametrize("shape", ["(40000, 40000)", "(2, 9)", "(1,)", "()", "(-2, 2)"])
def test_shape_in_the_header_of_distances_is_not_trusted(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "d.npy"
    with path.open("wb") as stream:
        header = {"descr": "<i8", "fortran_order": False, "shape": eval(shape)}
        np.lib.format.write_array_header_1_0(stream, header)
        stream.write(bytes(32))
    with pytest.raises(FileFormatError, match="this is not a matrix of integers"):
        read_distances(str(path))


def test_long_modifier_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "changes.txt"
    path.write_text("# " + "x" * 10_000 + "\n+v\n")
    assert len(list(read_modifiers(path))) == 1
    path.write_text("+v\n+e" + " 1" * 10_000 + "\n")
    with pytest.raises(FileFormatError, match="line 2: longer than 4,096 bytes"):
        read_modifiers(path)


BOUNDED = """
import resource, sys
from pathlib import Path
from jetpy.errors import JetpyError
from jetpy.io import read_graph
resource.setrlimit(resource.RLIMIT_AS, 2 * (1_500_000_000,))
try:
    read_graph(sys.argv[1])
except JetpyError as error:
    print(f"{type(error).__name__}: {error}")
[peak] = [line for line in Path("/proc/self/status").open() if line.startswith("VmHWM")]
print(peak.split()[1])  # ru_maxrss would include what the parent used
"""
MEGABYTE = 1 << 20


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", b"# vertices 2000000000\n0 1\n", "JetpyError: .* not enough memory"),
        ("b.mtx", f"{BANNER}% vertices 900000000\n900000000 900000000 0\n".encode(), "not enough"),
        (
            "c.graph.gz",
            gzip.compress(b"1 0\n") + gzip.compress(b" " * MEGABYTE) * 1500,
            "unpacks to more than 100 times",
        ),
        ("d.txt.gz", gzip.compress(b"0" * MEGABYTE) * 1500, "line 1: longer than 2,097,152 bytes"),
    ],
    ids=["numbers", "vertices", "bomb", "line"],
)
def test_refusal_needs_little_memory(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    message, kilobytes = run_python(BOUNDED, str(tmp_path / name)).stdout.splitlines()
    assert re.search(words, message)
    assert int(kilobytes) < 400_000
