"""Graphs as plain arrays: ParHiP's binary format, and folders of .npy files."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest

import jetpy.distributed
from jetpy.errors import FileFormatError
from jetpy.graph.csr import Graph
from jetpy.io import archive, read_graph, write_graph
from tests.graphs import assert_same_graph, path, random_graph

GRAPH = random_graph(30, 80, 1, weighted=True)


def in_folder(folder: Path, graph: Graph, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        np.save(folder / f"{name}.npy", getattr(graph, name))
    return folder


def test_folder_of_arrays_is_read(tmp_path: Path) -> None:
    names = "indptr", "indices", "edge_weights", "vertex_weights"
    fractions: list[float] = []
    found = read_graph(in_folder(tmp_path / "mesh.a", GRAPH, *names), progress=fractions.append)
    assert_same_graph(found, GRAPH)
    assert (found.name, fractions[-1]) == ("mesh.a", 1)
    plain = read_graph(in_folder(tmp_path / "b", GRAPH, *names[:2]))
    assert np.array_equal(plain.indices, GRAPH.indices)
    assert plain.total_edge_weight == GRAPH.m


def test_bad_folder_is_refused(tmp_path: Path) -> None:
    folder = in_folder(tmp_path / "a", GRAPH, "indices")
    with pytest.raises(FileFormatError, match=r"a: indptr\.npy is missing"):
        read_graph(folder)
    np.save(folder / "indptr.npy", GRAPH.indptr[:-1])
    with pytest.raises(FileFormatError, match="a: indptr ends with"):
        read_graph(folder)
    np.save(folder / "indptr.npy", np.array([None]))
    with pytest.raises(
        FileFormatError, match=r"indptr\.npy: jetpy does not load arrays of Python objects"
    ):
        read_graph(folder)


@pytest.mark.parametrize("narrow", [0, 4, 8, 16, 32, 60])
def test_parhip_of_any_width_is_read(tmp_path: Path, narrow: int) -> None:
    """Bits of the first number select the arrays with 32 bits."""
    places, ids, vertices, edges = ("<u4" if narrow & bit else "<u8" for bit in (4, 8, 16, 32))
    width, n = np.dtype(ids).itemsize, GRAPH.n
    start = 24 + (n + 1) * np.dtype(places).itemsize
    file = tmp_path / "a.parhip"
    with file.open("wb") as stream:
        np.array([narrow, n, 2 * GRAPH.m], "<u8").tofile(stream)
        (start + width * GRAPH.indptr.astype(np.int64)).astype(places).tofile(stream)
        GRAPH.indices.astype(ids).tofile(stream)
        GRAPH.vertex_weights.astype(vertices).tofile(stream)
        GRAPH.edge_weights.astype(edges).tofile(stream)
    assert_same_graph(read_graph(file), GRAPH)
    block = jetpy.distributed.read(None, file)
    assert np.array_equal(block.indptr, GRAPH.indptr)
    assert np.array_equal(block.edge_weights, GRAPH.edge_weights)


@pytest.mark.parametrize("graph", [GRAPH, path(5)], ids=["weights", "no weights"])
def test_parhip_is_read_as_blocks(tmp_path: Path, graph: Graph) -> None:
    file = tmp_path / "a.bgf"
    write_graph(file, graph)
    block = jetpy.distributed.read(None, file)
    for name in ("indptr", "indices", "edge_weights", "vertex_weights"):
        assert np.array_equal(getattr(block, name), getattr(graph, name)), name


@pytest.mark.parametrize(
    ("header", "rest", "message"),
    [
        ([3, 2], [], "a.parhip: this is not ParHiP's binary format"),
        ([64, 2, 2], [], "this is not ParHiP's binary format"),
        ([3, 5, 8], [1], "a.parhip: indptr should have 48 bytes, but there are only 8"),
        ([3, 1 << 60, 8], [1], "but there are only 8"),
        ([3, 2, 2], [48, 56, 64, 1], "indices should have 16 bytes, but there are only 8"),
        (
            [3, 2, 2],
            [48, 57, 64, 1, 0],
            "the neighbours of vertex 1 begin in the middle of a number",
        ),
        ([3, 2, 2], [48, 56, 56, 1, 0], "indptr ends with 1, but there are 2 indices"),
    ],
)
def test_bad_parhip_is_refused(
    tmp_path: Path, header: list[int], rest: list[int], message: str
) -> None:
    file = tmp_path / "a.parhip"
    np.array([*header, *rest], "<u8").tofile(file)
    with pytest.raises(FileFormatError, match=message):
        read_graph(file)


def test_one_thread_at_a_time_parses_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "a.npy", np.arange(5))
    read, lock, overlaps = archive._HEADERS[1, 0], Lock(), []

    def slow(stream: Any) -> Any:
        overlaps.append(not lock.acquire(blocking=False))
        time.sleep(0.01)
        lock.release()
        return read(stream)

    monkeypatch.setitem(archive._HEADERS, (1, 0), slow)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: archive.map_array(tmp_path / "a.npy"), range(8)))
    assert all(array.tolist() == [0, 1, 2, 3, 4] for array in found)
    assert overlaps == [False] * 8


@pytest.mark.parametrize(
    "array",
    [np.zeros(0), np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))],
)
def test_mapped_array_is_the_saved_one(tmp_path: Path, array: Any) -> None:
    np.save(tmp_path / "a.npy", array)
    found = archive.map_array(tmp_path / "a.npy")
    assert (found.tolist(), found.dtype, found.shape) == (array.tolist(), array.dtype, array.shape)


def test_mapped_array_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(100))
    (tmp_path / "b.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-8])
    with pytest.raises(FileFormatError, match="cut short"):
        archive.map_array(tmp_path / "b.npy")
