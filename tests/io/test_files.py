"""Reading and writing by suffix: all formats, compressions and file errors."""

from __future__ import annotations

import io
import os
import re
import resource
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from jetpy.errors import FileFormatError, GraphError, JetpyError
from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.io import FORMATS, read_graph, write_graph, write_parts
from jetpy.io.atomic import atomic_write
from jetpy.io.compression import COMPRESSIONS, open_output, split_name
from tests.children import run_python
from tests.graphs import SMALL_GRAPHS, assert_same_graph, from_edges, path, random_graph

HOLD_VERTEX_WEIGHTS = (".graph", ".metis", ".npz", ".parhip", ".bgf")


def unweighted_vertices(graph: Graph) -> Graph:
    ones = np.ones(graph.n, np.int32)
    return Graph(graph.indptr, graph.indices, graph.edge_weights, ones, graph.name)


@pytest.mark.parametrize("name", SMALL_GRAPHS)
@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_is_written_and_read_back(tmp_path: Path, name: str, suffix: str) -> None:
    graph = SMALL_GRAPHS[name]()
    if suffix not in HOLD_VERTEX_WEIGHTS:
        graph = unweighted_vertices(graph)
    write_graph(tmp_path / f"some.thing{suffix}", graph)
    found = read_graph(tmp_path / f"some.thing{suffix}")
    assert_same_graph(found, graph)
    assert found.name == "some.thing"


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("suffix", [".graph", ".mtx", ".npz", ".parhip", ".txt"])
def test_every_compression_is_read_and_damage_is_refused(
    tmp_path: Path, suffix: str, compression: str
) -> None:
    if compression == ".zst":
        pytest.importorskip("zstandard", reason="the optional package zstandard is missing")
    graph = random_graph(300, 4000, 1)
    plain, packed = tmp_path / f"a{suffix}", tmp_path / f"a{suffix}{compression}"
    write_graph(plain, graph)
    write_graph(packed, graph)
    assert packed.stat().st_size < plain.stat().st_size
    assert_same_graph(read_graph(packed), graph)
    whole = packed.read_bytes()
    broken = tmp_path / f"broken{suffix}{compression}"
    for damaged in (whole[: len(whole) // 2], whole[:-1], b"rubbish" + whole, b"rubbish"):
        broken.write_bytes(damaged)
        with pytest.raises(FileFormatError, match=r"broken.*: (damaged or cut short|.*cut short)"):
            read_graph(broken)


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("suffix", [".graph", ".mtx", ".npz", ".npy", ".txt"])
def test_compressed_file_without_its_suffix_is_refused(
    tmp_path: Path, suffix: str, compression: str
) -> None:
    packed, misnamed = tmp_path / f"a{suffix}{compression}", tmp_path / f"b{suffix}"
    write_graph(packed, path(9))
    misnamed.write_bytes(packed.read_bytes())
    words = f"b{suffix}: this file is compressed, but its name does not end in {compression}"
    with pytest.raises(FileFormatError, match=words):
        read_graph(misnamed)


def test_missing_zstandard_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "a.graph.zst").write_bytes(b"")
    with pytest.raises(JetpyError, match="pip install zstandard"):
        read_graph(tmp_path / "a.graph.zst")
    with pytest.raises(JetpyError, match="pip install zstandard"):
        write_graph(tmp_path / "b.graph.zst", path(3))
    assert [p.name for p in tmp_path.iterdir()] == ["a.graph.zst"]


def test_split_name() -> None:
    assert split_name("x/a.b.GRAPH.XZ") == ("a.b", ".graph", ".xz")
    assert split_name("a.mtx") == ("a", ".mtx", "")
    assert split_name("a.gz") == ("a", "", ".gz")
    assert split_name("a") == ("a", "", "")


@pytest.mark.parametrize("name", ["a", "a.gz", "a.json", "a.graph.rar", ".graph"])
def test_unknown_suffix_is_refused_with_a_list(tmp_path: Path, name: str) -> None:
    for action in (
        lambda: read_graph(tmp_path / name),
        lambda: write_graph(tmp_path / name, path(2)),
    ):
        with pytest.raises(
            FileFormatError, match=r"the formats are \.graph, .*\.csv, each also with"
        ):
            action()
    assert not list(tmp_path.iterdir())


def test_progress_rises_to_one(tmp_path: Path) -> None:
    for name in ("a.graph", "a.txt.gz", "a.mtx"):
        write_graph(tmp_path / name, random_graph(400, 40_000, 1))
        seen: list[float] = []
        read_graph(tmp_path / name, progress=seen.append)
        assert seen == sorted(seen)
        assert seen[-1] == 1.0
        assert len(seen) <= 110


def test_progress_is_reported_while_reading(tmp_path: Path) -> None:
    write_graph(tmp_path / "grid.graph", grid(400, 400))  # 4 MB
    seen: list[float] = []
    read_graph(tmp_path / "grid.graph", progress=seen.append)
    assert len({fraction for fraction in seen if 0 < fraction < 1}) >= 2


def test_file_errors_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.graph").mkdir()
    with pytest.raises(JetpyError, match=r"missing\.graph: cannot be read: No such file"):
        read_graph(tmp_path / "missing.graph")
    with pytest.raises(JetpyError, match=r"folder\.graph: indptr\.npy is missing"):
        read_graph(tmp_path / "folder.graph")
    with pytest.raises(JetpyError, match=r"folder\.graph: cannot be written: Is a directory"):
        write_graph(tmp_path / "folder.graph", path(2))
    with pytest.raises(JetpyError, match=r"b\.graph: cannot be written: No such file"):
        write_graph(tmp_path / "no folder" / "b.graph", path(2))


def test_permissions_are_explained(tmp_path: Path) -> None:
    write_graph(tmp_path / "a.graph", path(2))
    (tmp_path / "a.graph").chmod(0)
    if os.access(tmp_path / "a.graph", os.R_OK):
        pytest.skip("this user may read and write everything")
    with pytest.raises(JetpyError, match="cannot be read: Permission denied"):
        read_graph(tmp_path / "a.graph")
    tmp_path.chmod(0o500)
    with pytest.raises(JetpyError, match="cannot be written: Permission denied"):
        write_graph(tmp_path / "b.graph", path(2))


def test_error_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.graph"
    file.write_text("2 1\n2\nx\n")
    with pytest.raises(FileFormatError, match=r"a\.graph: line 3: 'x' is not an integer"):
        read_graph(file)
    file.write_text("2 1\n2\n\n")
    with pytest.raises(
        FileFormatError, match=r"a\.graph: line 1: .*; the first problem is: edge \(1, 2\)"
    ):
        read_graph(file)


def test_formats_without_vertex_weights_refuse_them(tmp_path: Path) -> None:
    for name in ("a.txt", "a.mtx", "a.npy"):
        with pytest.raises(GraphError, match="cannot store vertex weights"):
            write_graph(tmp_path / name, from_edges(2, [(0, 1)], None, [1, 2]))
    assert not list(tmp_path.iterdir())


def test_dense_matrices_refuse_edges_of_weight_0(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="cannot store edges of weight 0, because 0 means no edge"):
        write_graph(tmp_path / "a.npy", from_edges(3, [(0, 1), (1, 2)], [1, 0]))
    assert not list(tmp_path.iterdir())


class TestAtomicWrite:
    def test_failed_block_keeps_the_old_file(self, tmp_path: Path) -> None:
        file = tmp_path / "a"
        file.write_bytes(b"old")

        def interrupted(error: type[BaseException]) -> None:
            with atomic_write(file) as stream:
                stream.write(b"new")
                raise error

        for error in (ValueError, KeyboardInterrupt, SystemExit):
            with pytest.raises(error):
                interrupted(error)
            assert file.read_bytes() == b"old"
            assert os.listdir(tmp_path) == ["a"]

    def test_program_that_exits_while_writing_leaves_no_file(self, tmp_path: Path) -> None:
        """A forked process does not remove the temporary file of its parent."""
        code = """
import os, sys
from jetpy.io.atomic import atomic_write
writing = atomic_write("a")
writing.__enter__().write(b"x")
if os.fork() == 0:
    sys.exit()
os.wait()
print(len(os.listdir()))
"""
        done = run_python(code, cwd=tmp_path)
        assert (done.stdout, done.stderr) == ("1\n", "")
        assert not list(tmp_path.iterdir())

    def test_full_disk_leaves_no_file(self, tmp_path: Path, small_files: None) -> None:
        graph = random_graph(300, 30_000, 1)
        for name in ("a.graph", "a.npz", "a.txt.gz", "a.mtx", "a.csv"):
            with pytest.raises(JetpyError, match=f"{name}: cannot be written: File too large"):
                write_graph(tmp_path / name, graph)
            assert not list(tmp_path.iterdir())
        with pytest.raises(JetpyError, match="cannot be written"):
            write_parts(tmp_path / "parts", np.arange(100_000, dtype=np.int32))
        assert not list(tmp_path.iterdir())

    @pytest.fixture
    def small_files(self) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        yield
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    def test_devices_are_not_replaced(self) -> None:
        if not os.path.exists("/dev/full"):
            pytest.skip("this system has no /dev/full")
        with pytest.raises(JetpyError, match="No space left"), atomic_write("/dev/full") as stream:
            stream.write(b"x")
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode)

    def test_symbolic_links_and_permissions_are_kept(self, tmp_path: Path) -> None:
        file, link = tmp_path / "file", tmp_path / "link"
        file.write_bytes(b"old")
        file.chmod(0o640)
        link.symlink_to(file)
        with atomic_write(link) as stream:
            stream.write(b"new")
        assert link.is_symlink()
        assert file.read_bytes() == b"new"
        assert file.stat().st_mode & 0o777 == 0o640

    def test_new_files_get_the_usual_permissions(self, tmp_path: Path) -> None:
        (tmp_path / "usual").write_bytes(b"")
        with atomic_write(tmp_path / "new"):
            pass
        assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.graph", "3 2\n2\n1 3\n2\n"),
        ("b.graph", "% a comment\n3 2\n2\n1 3\n2\n"),
        ("c.txt", "0 1\n1 2\n"),
        ("d.txt", "# vertices 3\n0 1\n1 2\n"),
        ("e.csv", "source,target\n0,1\n1,2\n"),
        ("f.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"),
        ("g.graph.xz", "3 2\n2\n1 3\n2\n"),
    ],
)
def test_byte_order_mark_is_ignored(tmp_path: Path, name: str, content: str) -> None:
    with open_output(tmp_path / name) as stream:
        stream.write(content.encode("utf-8-sig"))
    assert_same_graph(read_graph(tmp_path / name), path(3))


class TestMatrixMarket:
    @pytest.mark.filterwarnings("ignore:.*spmatrix:DeprecationWarning")  # SciPy 1.18: of the type
    def test_files_equal_those_of_scipy(self, tmp_path: Path) -> None:
        graph = unweighted_vertices(SMALL_GRAPHS["weighted_random"]())
        matrix = sp.csr_array((graph.edge_weights, graph.indices, graph.indptr))
        for field in ("integer", "real"):
            for symmetry in ("general", "symmetric"):
                scipy.io.mmwrite(tmp_path / "a.mtx", matrix, field=field, symmetry=symmetry)
                assert_same_graph(read_graph(tmp_path / "a.mtx"), graph)
        write_graph(tmp_path / "b.mtx", graph)
        assert (scipy.io.mmread(tmp_path / "b.mtx") != matrix).nnz == 0

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("", "line 1: must be '%%MatrixMarket matrix coordinate'"),
            ("3 3 1\n1 2\n", "line 1: must be '%%MatrixMarket"),
            ("%%MatrixMarket matrix array real general\n1 1\n1\n", "line 1: must be"),
            (
                "%%MatrixMarket matrix coordinate complex general\n1 1 0\n",
                "of a complex general",
            ),
            (
                "%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n",
                "of a real skew",
            ),
            ("{int} general\n", "the file ends before the line 'rows columns entries'"),
            ("{int} general\n%c\n\n3 3\n", "line 4: must be 'rows columns entries', not '3 3'"),
            ("{int} general\n2 3 1\n1 2 1\n", "line 2: the matrix must be square, not 2 by 3"),
            ("{int} general\n2147483648 2147483648 0\n", "line 2: .* too many"),
            ("{int} general\n3 3 2147483648\n1 2 1\n", "line 2: .* too many"),
            (
                "{int} general\n3 3 2\n1 2 1\n",
                "line 2: .* announces 2 entries, .* the file lists 1",
            ),
            (
                "{int} general\n3 3 1\n1 2 1\n2 1 1\n",
                "line 2: .* announces 1 entries, .* the file lists 2",
            ),
            ("{int} general\n3 3 1\n1 x 1\n", "line 3: 'x' is not an integer"),
            ("{int} general\n3 3 1\n1 2\n", "line 3: the line has 2 numbers; it must have 3"),
            (
                "{int} general\n3 3 1\n%\n1 4 1\n",
                r"line 4: 4 is not a vertex; ids must be in 1\.\.3",
            ),
            ("{int} general\n3 3 1\n0 1 1\n", "line 3: 0 is not a vertex"),
            ("{int} general\n3 3 1\n1 2 9999999999\n", "line 3: '9999999999' does not fit.*scale"),
            (
                "{int} general\n3 3 1\n9999999999 2 1\n",
                r"line 3: '9999999999' does not fit in 32 bits; ids must be in 1\.\.3$",
            ),
            (
                "{int} general\n3 3 1\n1 2 4\n",
                r"edge \(1, 2\) on line 3 is listed, but not its reverse, edge \(2, 1\); repair",
            ),
            (
                "{int} general\n3 3 3\n1 2 4\n2 1 -2\n3 1 1\n",
                r"edge \(2, 1\) on line 4 has weight -2",
            ),
            (
                "{int} general\n3 3 3\n1 2 4\n2 1 4\n1 2 4\n",
                r"edge \(1, 2\) on lines 3 and 5 is listed more than once",
            ),
            ("{int} symmetric\n3 3 1\n3 3 4\n", r"edge \(3, 3\) on line 3 is a self-loop; rep"),
            ("{int} symmetric\n3 3 2\n2 1 4\n1 2 4\n", "on lines 3 and 4 is listed more than"),
            ("{int} symmetric\n3 3 1\n2 1 -1\n", "line 3 has weight -1, but weights must be int"),
            ("{real}\n3 3 1\n2 1 0.5\n", "line 3 has weight 0.5, which is not a whole"),
            ("{real}\n3 3 1\n2 1 1e99\n", "line 3 has weight 1e.99, which overflows"),
            ("{real}\n3 3 1\n2 1 nan\n", r"line 3: 'nan' is not a number; pattern=True \(--pat"),
            (
                "{real}\n3 3 2\n2 1 0.5\n3 1 -1\n",
                r"edge \(3, 1\) on line 4 has weight -1\.0, .*; pattern=True .* weights$",
            ),
            ("{real}\n3 3 1\n2 1.5 1\n", "line 3: 1.5 is not a vertex"),
        ],
    )
    def test_bad_file_is_refused(self, tmp_path: Path, content: str, words: str) -> None:
        content = content.replace("{int}", "%%MatrixMarket matrix coordinate integer")
        content = content.replace("{real}", "%%MatrixMarket matrix coordinate real symmetric")
        (tmp_path / "a.mtx").write_text(content)
        with pytest.raises(FileFormatError, match=words):
            read_graph(tmp_path / "a.mtx")

    @pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.int64, np.float32])
    def test_every_field_that_scipy_writes_is_read(self, tmp_path: Path, dtype: type) -> None:
        matrix = sp.coo_array(np.array([[0, 3, 0], [3, 0, 5], [0, 5, 0]], dtype))
        scipy.io.mmwrite(tmp_path / "a.mtx", matrix)
        assert_same_graph(read_graph(tmp_path / "a.mtx"), from_edges(3, [(0, 1), (1, 2)], [3, 5]))

    @pytest.mark.filterwarnings("ignore:.*spmatrix:DeprecationWarning")  # SciPy 1.18: of the type
    @pytest.mark.parametrize(
        "content",
        [
            " \t%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n",
            "%%MatrixMarket matrix coordinate pattern symmetric\n  % x\n\t%\n \n 3 3 2\n2 1\n3 2\n",
            "%MatrixMarket matrix coordinate double symmetric\n3 3 2\n2 1 1\n3 2 0.1D1\n",
            "%%MatrixMarket matrix coordinate unsigned-integer general \n3 3 4\n"
            "1 2 1\n2 1 1\n2 3 1\n3 2 1\n",
        ],
    )
    def test_what_scipy_reads_is_read(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "a.mtx").write_text(content)
        scipy.io.mmread(tmp_path / "a.mtx")
        assert_same_graph(read_graph(tmp_path / "a.mtx"), path(3))

    @pytest.mark.parametrize(
        "values",
        ["nan inf", "-.1D+01 4.d0", "+INF -NaN", "1.5-100 1Q3", "nan(0x8) -Infinity"],
    )
    @pytest.mark.parametrize("pattern", [True, "symmetric"])
    def test_any_number_is_an_entry_of_a_pattern(
        self, tmp_path: Path, values: str, pattern: Any
    ) -> None:
        first, second = values.split()
        (tmp_path / "a.mtx").write_text(
            "%%MatrixMarket matrix coordinate real symmetric\n"
            f"3 3 3\n1 1 4\n2 1 {first}\n3 2 {second}\n"
        )
        assert_same_graph(read_graph(tmp_path / "a.mtx", pattern=pattern), path(3))

    @pytest.mark.parametrize("word", ["x", "1e", "0x1", "nano", "1_0", "--1", "1.2.3", "*****"])
    def test_a_word_is_not_an_entry_of_a_pattern(self, tmp_path: Path, word: str) -> None:
        (tmp_path / "a.mtx").write_text(
            f"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 {word}\n"
        )
        with pytest.raises(FileFormatError, match=rf"line 3: '{re.escape(word)}' is not a number"):
            read_graph(tmp_path / "a.mtx", pattern=True)

    def test_repair(self, tmp_path: Path) -> None:
        (tmp_path / "a.mtx").write_text(
            "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n2 2\n"
        )
        assert_same_graph(read_graph(tmp_path / "a.mtx", repair=True), path(3))


class TestNpz:
    @pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
    def test_sparse_matrices_saved_by_scipy_are_read(self, tmp_path: Path, kind: str) -> None:
        graph = unweighted_vertices(SMALL_GRAPHS["weighted_random"]())
        matrix = sp.csr_array((graph.edge_weights, graph.indices, graph.indptr))
        sp.save_npz(tmp_path / "a.npz", matrix.asformat(kind))
        assert_same_graph(read_graph(tmp_path / "a.npz"), graph)

    def test_arrays_of_other_types_are_read(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", indptr=[0, 1, 2], indices=[1, 0], data=[3.0, 3.0])
        assert_same_graph(read_graph(tmp_path / "a.npz"), from_edges(2, [(0, 1)], [3]))
        np.savez_compressed(
            tmp_path / "b.npz", indptr=np.array([0, 1, 2], np.uint8), indices=[1, 0]
        )
        assert_same_graph(read_graph(tmp_path / "b.npz"), path(2))

    def test_bad_archive_is_refused(self, tmp_path: Path) -> None:
        def refused(words: str, content: bytes) -> None:
            (tmp_path / "a.npz").write_bytes(content)
            with pytest.raises(FileFormatError, match=words):
                read_graph(tmp_path / "a.npz")

        def archive(**arrays: object) -> bytes:
            stream = io.BytesIO()
            np.savez(stream, **arrays)  # type: ignore[arg-type]
            return stream.getvalue()

        good = archive(indptr=[0, 1, 2], indices=[1, 0])
        refused("not an .npz archive, or it is cut short", b"")
        refused("not an .npz archive, or it is cut short", b"rubbish")
        refused("not an .npz archive, or it is cut short", good[:-30])
        refused("archive cannot be read: Bad CRC-32", good.replace(b"\1\0\0\0", b"\7\0\0\0", 1))
        refused("the archive has no array indices, only indptr, x", archive(indptr=[0], x=[1]))
        refused("cannot be read: .*allow_pickle", archive(indptr=np.array([{}]), indices=[0]))
        refused("cannot be read", archive(format=np.array(b"zzz"), data=[1]))
        refused("1 is not a vertex", archive(indptr=[0, 1], indices=[1]))


def test_write_graph_accepts_matrices(tmp_path: Path) -> None:
    graph = random_graph(12, 30, 1)
    matrix = sp.csr_array((graph.edge_weights, graph.indices, graph.indptr))
    write_graph(tmp_path / "it.graph", matrix)
    assert_same_graph(read_graph(tmp_path / "it.graph"), graph)
    with pytest.raises(GraphError, match="square"):
        write_graph(tmp_path / "other.graph", np.ones((2, 5)))
    assert not (tmp_path / "other.graph").exists()
