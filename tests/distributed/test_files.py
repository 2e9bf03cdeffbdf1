"""Blocks of files and generators, joined again, and parts written in ranges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
import jetpy.distributed
from jetpy.distributed.block import Block
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.generators import scattered
from jetpy.distributed.reading import share_of
from jetpy.errors import FileFormatError, JetpyError
from jetpy.graph.csr import Graph
from tests.distributed.threads import run_on_threads
from tests.graphs import from_edges
from tests.strategies import weighted_graphs

SIZES = 1, 2, 3, 5


def join_blocks(blocks: list[Block]) -> Graph:
    degrees = np.concatenate([np.diff(block.indptr) for block in blocks])
    return Graph(
        np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32),
        *(
            np.concatenate([getattr(block, name) for block in blocks]).astype(np.int32)
            for name in ("indices", "edge_weights", "vertex_weights")
        ),
    )


def assert_same(found: Graph, expected: Graph) -> None:
    for name in ("indptr", "indices", "edge_weights", "vertex_weights"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def as_folder(path: Path, graph: Graph) -> Path:
    path.mkdir()
    for name in ("indptr", "indices", "edge_weights", "vertex_weights"):
        np.save(path / f"{name}.npy", getattr(graph, name))
    return path


def as_file(suffix: str) -> Callable[[Path, Graph], Path]:
    def write(path: Path, graph: Graph) -> Path:
        file = path.with_suffix(suffix)
        jetpy.write_graph(file, graph)
        return file

    return write


def as_parhip(path: Path, graph: Graph) -> Path:
    """Write weights with 32 bits and everything else with 64."""
    file = path.with_suffix(".parhip")
    jetpy.write_graph(file, jetpy.as_graph((graph.indptr, graph.indices)))
    with file.open("r+b") as stream:
        np.array([16 + 32], "<u8").tofile(stream)
        stream.seek(0, 2)
        graph.vertex_weights.astype("<u4").tofile(stream)
        graph.edge_weights.astype("<u4").tofile(stream)
    return file


WRITERS = {
    "folder": as_folder,
    "npz": as_file(".npz"),
    "metis": as_file(".graph"),
    "compressed metis": as_file(".graph.gz"),
    "matrix market": as_file(".mtx"),
    "parhip": as_parhip,
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", WRITERS)
def test_blocks_join_to_the_graph(form: str, size: int, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    grid = jetpy.generators.grid(9, 7)
    u, v = grid.sources(0, grid.n).astype(np.int64), grid.indices
    vertex_weights = None if form == "matrix market" else random.integers(1, 9, grid.n)
    graph = jetpy.as_graph((grid.indptr, v, (u * v) % 5 + 1, vertex_weights))
    path = WRITERS[form](tmp_path / "mesh", graph)
    blocks = run_on_threads(size, lambda comm: jetpy.distributed.read(comm, path))
    assert_same(join_blocks(blocks), graph)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", [".npz", ".graph", ".graph.gz", "folder"])
def test_blocks_have_several_weights(form: str, size: int, tmp_path: Path) -> None:
    weights = np.random.default_rng(1).integers(0, 9, (63, 3))
    graph = jetpy.as_graph(jetpy.generators.grid(9, 7), vertex_weights=weights)
    path = (as_folder if form == "folder" else as_file(form))(tmp_path / "mesh", graph)
    if form == "folder":
        np.save(path / "vertex_weights.npy", weights)
    blocks = run_on_threads(size, lambda comm: jetpy.distributed.read(comm, path))
    assert {block.kinds for block in blocks if block.n} == {3}
    found = np.concatenate([block.vertex_weights for block in blocks if block.n])
    assert np.array_equal(found, weights)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", [".graph", ".graph.gz"])
def test_blocks_have_vertex_sizes(form: str, size: int, tmp_path: Path) -> None:
    sizes = np.arange(63) % 5
    graph = jetpy.as_graph(jetpy.generators.grid(9, 7), vertex_sizes=sizes)
    path = as_file(form)(tmp_path / "mesh", graph)
    blocks = run_on_threads(size, lambda comm: jetpy.distributed.read(comm, path))
    found = [block.vertex_sizes for block in blocks if block.vertex_sizes is not None]
    assert np.array_equal(np.concatenate(found), sizes)


@settings(max_examples=30)
@given(graph=weighted_graphs(0, 12), size=st.integers(1, 6))
def test_blocks_of_metis_files_join_to_the_graph(
    graph: Graph, size: int, tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.mktemp("metis") / "any.graph"
    jetpy.write_graph(path, graph)
    blocks = run_on_threads(size, lambda comm: jetpy.distributed.read(comm, path))
    assert_same(join_blocks(blocks), graph)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 7))
def test_blocks_have_nearly_equal_size(degrees: list[int], size: int) -> None:
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    shares = [share_of(indptr, rank, size) for rank in range(size)]
    assert [first for first, _ in shares] == [0, *(end for _, end in shares[:-1])]
    assert shares[-1][1] == len(degrees)
    average = (len(degrees) + sum(degrees)) / size
    for first, end in shares:
        assert end - first + indptr[end] - indptr[first] <= average + 11


@pytest.mark.parametrize("size", SIZES)
def test_blocks_of_generators_join_to_the_graph(size: int) -> None:
    made = join_blocks(run_on_threads(size, lambda comm: jetpy.distributed.cube(comm, 5, 4, 3)))
    assert_same(made, jetpy.generators.cube(5, 4, 3))
    made = join_blocks(run_on_threads(size, lambda comm: jetpy.distributed.grid(comm, 2, 9)))
    assert_same(made, jetpy.generators.grid(2, 9))
    made = join_blocks(run_on_threads(size, lambda comm: jetpy.distributed.rmat(comm, 7, 6, 3)))
    assert_same(made, join_blocks([jetpy.distributed.rmat(None, 7, 6, 3)]))
    jetpy.as_graph((made.indptr, made.indices))
    assert made.m > 400


@pytest.mark.parametrize("scale", [1, 5, 12])
def test_scattered_ids_are_a_permutation(scale: int) -> None:
    vertices = np.arange(1 << scale)
    assert np.array_equal(np.sort(scattered(vertices, scale)), vertices)


@pytest.mark.parametrize("name", ["mesh.part", "mesh.npy"])
@pytest.mark.parametrize("size", SIZES)
def test_ranks_write_parts_into_one_file(name: str, size: int, tmp_path: Path) -> None:
    parts = np.arange(101, dtype=np.int32) * 7 % 23

    def write(comm: Communicator) -> None:
        first, end = (101 * rank // size for rank in (comm.rank, comm.rank + 1))
        path = tmp_path / name
        jetpy.distributed.write_parts(comm, path, parts[first:end], first, 101)

    run_on_threads(size, write)
    assert np.array_equal(jetpy.read_parts(tmp_path / name), parts)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"3 2\n2\n1 3\n", "ends after 2 of 3 vertex lines"),
        (b"3 2\n2\n1 3\n2\n1\n", "more vertex lines than the 3"),
        (b"3 2\n2\n1 x\n2\n", "not an integer"),
        (b"three\n", "the header is 'three'; it must be"),
    ],
)
def test_bad_metis_file_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.graph"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        run_on_threads(2, lambda comm: jetpy.distributed.read(comm, path))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("line", [3, 8, 98])
def test_wrong_line_of_a_metis_file_is_named(line: int, size: int, tmp_path: Path) -> None:
    rows = ["% a comment", "97 0", *[""] * 97]
    rows[line - 1] = "x"
    path = tmp_path / "bad.graph"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(FileFormatError, match=rf"bad\.graph: line {line}: 'x' is not an integer$"):
        run_on_threads(size, lambda comm: jetpy.distributed.read(comm, path))


def test_bad_file_is_refused(tmp_path: Path) -> None:
    short, none = tmp_path / "short.parhip", tmp_path / "none.parhip"
    np.array([3, 5, 8], "<u8").tofile(short)
    folder = tmp_path / "folder"
    folder.mkdir()
    for path, message in (
        (short, "the file has 24 bytes, but indptr of 5 vertices would end at byte 72"),
        (none, "No such file"),
        (folder, "indptr.npy is missing"),
    ):
        with pytest.raises(JetpyError, match=message):
            jetpy.distributed.read(None, path)
    one = from_edges(2, [(0, 1)])
    with pytest.raises(JetpyError, match=r"several processes writes \.npy"):
        jetpy.distributed.partition(
            None, (one.indptr, one.indices), 2, backend="cpu", threads=1
        ).save(tmp_path / "parts.csv")
