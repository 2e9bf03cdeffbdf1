"""Distributed reading of graph files: each process reads its share."""

from __future__ import annotations

import os
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.distributed import parhip
from jetpy.distributed.block import Block, as_block
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import check_agreement, collective_call, run_collectively
from jetpy.errors import FileFormatError, cannot_read
from jetpy.io import folder, read_graph
from jetpy.io.archive import map_array
from jetpy.io.compression import split_name
from jetpy.io.metis import Header, Lines, read_header, read_lines

BLOCK = 1 << 20  # bytes
NAMES = "indptr", "indices", "edge_weights", "vertex_weights"


def read_block(comm: Communicator, path: str | os.PathLike[str]) -> Block:
    """Return this process's share of a graph in a file. Collective.

    See `jetpy.distributed.files.read` for the shares and formats.

    Raises
    ------
    JetpyError
        In all processes, if the file cannot be read, or does not match its format.
    """
    with collective_call(comm, "read"):
        name = run_collectively(comm, lambda: Path(path))
        check_agreement(comm, file=name.name)
        _, suffix, compression = split_name(name)
        if not compression and suffix in (".graph", ".metis"):
            return _metis(comm, name)
        return run_collectively(comm, lambda: _of_arrays(comm, _arrays_of(name)))


def _arrays_of(path: Path) -> dict[str, Any]:
    """Return the arrays of a graph, memory-mapped if possible."""
    _, suffix, compression = split_name(path)
    if path.is_dir():
        return folder.arrays_of(path, _mapped_file)
    if not compression and suffix in parhip.SUFFIXES:
        return parhip.arrays_of(path)
    if suffix == ".npz" and not compression:
        mapped = map_archive(path)
        if set(NAMES[:2]) <= mapped.keys() <= set(NAMES):
            return mapped
    graph = read_graph(path)
    arrays: dict[str, Any] = {name: getattr(graph, name) for name in NAMES}
    if graph.constraint_weights is not None:
        arrays["vertex_weights"] = graph.constraint_weights
    arrays["vertex_sizes"] = graph.vertex_sizes
    return arrays


def share_of(indptr: npt.NDArray[Any], rank: int, size: int) -> tuple[int, int]:
    """Return the first vertex of a process's share, and the first vertex after it.

    The shares have about equal numbers of vertices and directed edges together.

    >>> share_of(np.array([0, 6, 6, 7, 8]), 0, 2), share_of(np.array([0, 6, 6, 7, 8]), 1, 2)
    ((0, 1), (1, 4))
    """
    n = len(indptr) - 1
    bounds = []
    for part in (rank, rank + 1):
        wanted = part * (n + int(indptr[-1])) // size
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            if middle + int(indptr[middle]) < wanted:
                low = middle + 1
            else:
                high = middle
        bounds.append(low)
    return bounds[0], n if rank == size - 1 else bounds[1]


def _of_arrays(comm: Communicator, arrays: dict[str, Any]) -> Block:
    indptr = arrays["indptr"]
    if len(indptr) < 1:
        raise FileFormatError("indptr is empty")
    first, end = share_of(indptr, comm.rank, comm.size)
    own = np.asarray(indptr[first : end + 1], np.int64)
    edges = slice(int(own[0]), int(own[-1]))
    weights = arrays.get("edge_weights")
    vertex_weights, sizes = arrays.get("vertex_weights"), arrays.get("vertex_sizes")
    return as_block(
        (
            own - own[0],
            np.asarray(arrays["indices"][edges]),
            None if weights is None else np.asarray(weights[edges]),
            None if vertex_weights is None else np.asarray(vertex_weights[first:end]),
            None if sizes is None else np.asarray(sizes[first:end]),
        )
    )


def _mapped_file(file: Path) -> Any:
    try:
        return map_array(file)
    except (OSError, FileFormatError) as error:
        raise FileFormatError(f"{file}: {error}") from error


def map_archive(path: Path) -> dict[str, Any]:
    """Return the memory-mapped arrays of an uncompressed archive; none if this is impossible."""
    arrays = {}
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
            for member in archive.infolist():
                if member.compress_type != zipfile.ZIP_STORED:
                    return {}
                arrays[member.filename.removesuffix(".npy")] = _mapped(path, stream, member)
    except (OSError, FileFormatError, zipfile.BadZipFile):
        return {}  # the functions that read all of the file report the reason
    return arrays


def _mapped(path: Path, stream: BinaryIO, member: zipfile.ZipInfo) -> Any:
    stream.seek(member.header_offset + 26)
    lengths = np.frombuffer(stream.read(4), "<u2")
    stream.seek(member.header_offset + 30 + int(lengths.sum()))
    return map_array(path, stream.tell())


def _metis(comm: Communicator, path: Path) -> Block:
    """Return the rows of the lines that begin in this process's share of the bytes.

    Surplus empty lines at the end are dropped.
    """
    header, lines = run_collectively(comm, lambda: _lines(path, comm.rank, comm.size))
    counts = comm.allgather_objects(len(lines.counts))
    most = max(0, header.n - sum(counts[: comm.rank]))

    def check() -> Block:
        if sum(counts) < header.n:
            raise FileFormatError(
                f"{path}: the file ends after {sum(counts)} of {header.n} vertex lines"
            )
        own = lines.counts[:most]
        if lines.counts[most:].any():
            raise FileFormatError(
                f"{path}: the file has more vertex lines than the {header.n} that its header "
                "announces"
            )
        entries = int(own.sum(dtype=np.int64))
        return as_block(
            (
                np.concatenate(([0], np.cumsum(own, dtype=np.int64))),
                lines.neighbours,
                lines.edge_weights[:entries] if header.edge_weights else None,
                lines.weights_of_graph(most),
                lines.sizes[:most] if header.sizes else None,
            )
        )

    return run_collectively(comm, check)


def _lines(path: Path, rank: int, size: int) -> tuple[Header, Lines]:
    try:
        with path.open("rb") as stream:
            header = read_header(stream)
            body, end = stream.tell(), path.stat().st_size
            first, last = (
                _next_line(stream, body + (end - body) * part // size, body)
                for part in (rank, rank + 1)
            )
            stream.seek(first)
            content = stream.read((end if rank == size - 1 else last) - first)
    except OSError as error:
        raise cannot_read(path, error) from error
    try:
        return header, read_lines(BytesIO(content), header, header.n)
    except FileFormatError:
        line = _lines_before(path, first) + 1
    try:  # for the message
        return header, read_lines(BytesIO(content), header, header.n, line=line)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error


def _lines_before(path: Path, offset: int) -> int:
    """Return the number of lines that end before an offset of a file."""
    with path.open("rb") as stream:
        blocks = iter(lambda: stream.read(min(BLOCK, offset - stream.tell())), b"")
        return sum(block.count(b"\n") for block in blocks)


def _next_line(stream: BinaryIO, place: int, body: int) -> int:
    """Return the offset of the first line that begins at `place` or later."""
    if place <= body:
        return body
    stream.seek(place - 1)
    stream.readline()
    return stream.tell()
