"""Distributed writing of parts to one file: each process writes its range."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jetpy.distributed.block import integers
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import check_agreement, collective_call, run_collectively
from jetpy.distributed.piece import Blocks
from jetpy.errors import FileFormatError, GraphError, JetpyError
from jetpy.io.atomic import atomic_write, cannot_write, removed_at_exit
from jetpy.io.compression import split_name
from jetpy.io.parts import check_parts_name

HEADER = 128
"""Size in bytes of the header of a ``.npy`` file."""


def write_parts(
    comm: Communicator,
    path: str | os.PathLike[str],
    parts: npt.ArrayLike,
    first: int,
    n: int,
) -> None:
    """Write the parts of owned vertices, whose global ids start at `first`. Collective.

    The file has the parts of `n` vertices. It appears when it is complete.

    Raises
    ------
    JetpyError
        In all processes, if the file cannot be written, or the blocks of parts are not consecutive.
    """
    with collective_call(comm, "write_parts"), ExitStack() as stack:
        name = run_collectively(comm, lambda: Path(path).name)
        check_agreement(comm, file=name, n=n)
        run_collectively(comm, lambda: check_target(path))
        own = run_collectively(comm, lambda: integers(parts, "parts").astype(np.int32))
        blocks = Blocks.of(comm, len(own))
        run_collectively(comm, lambda: _check_block(blocks, first, n))
        content, start = _content(path, own, first, n)
        if start is None:
            lengths = comm.allgather_objects(len(content))
            start = sum(lengths[: comm.rank])
        writer = stack.enter_context(ExitStack())

        def create() -> str | None:
            return writer.enter_context(atomic_write(path)).name if comm.rank == 0 else None

        temporary, *_ = comm.allgather_objects(run_collectively(comm, create))
        stack.enter_context(removed_at_exit(temporary))
        run_collectively(comm, lambda: _write(path, temporary, content, start))
        run_collectively(comm, writer.close)


def _check_block(blocks: Blocks, first: int, n: int) -> None:
    """Check that the block of a process begins where the one before ends, and n is their total.

    Raises
    ------
    GraphError
        If they do not.
    """
    if (blocks.first, blocks.n) != (first, n):
        raise GraphError(
            f"first is {first}, and n is {n}; they must be {blocks.first} and {blocks.n}, the "
            "numbers of parts in the processes before this one, and in all"
        )


def check_target(path: str | os.PathLike[str]) -> None:
    """Check that several processes can write parts to a path.

    Raises
    ------
    FileFormatError
        If the suffix is that of a format that cannot be written in ranges.
    JetpyError
        If the path exists but is not a regular file, or its folder does not exist.
    """
    check_parts_name(path)
    _, suffix, compression = split_name(path)
    if compression or suffix in (".npz", ".csv", ".json"):
        raise FileFormatError(
            f"{path}: a run with several processes writes .npy or text; use .npy, or another "
            "name, for example mesh.part, for text"
        )
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise JetpyError(
            f"{path} is not a regular file; a run with several processes writes only regular files"
        )
    if not target.parent.is_dir():
        raise JetpyError(f"{path}: the folder {target.parent} does not exist")


def _content(
    path: str | os.PathLike[str], parts: npt.NDArray[np.int32], first: int, n: int
) -> tuple[bytes, int | None]:
    """Return the bytes of this process, and their offset in the file if already known."""
    if split_name(path)[1] != ".npy":
        return b"".join(b"%d\n" % part for part in parts.tolist()), None
    content = parts.astype("<i4").tobytes()
    if first == 0:
        content = _header(n) + content
    return content, 0 if first == 0 else HEADER + 4 * first


def _header(n: int) -> bytes:
    described = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({n},), }}".encode()
    return (
        b"\x93NUMPY\x01\x00"
        + (HEADER - 10).to_bytes(2, "little")
        + described.ljust(HEADER - 11)
        + b"\n"
    )


def _write(path: str | os.PathLike[str], temporary: str, content: bytes, start: int) -> None:
    """Write bytes from an offset on to the temporary file that replaces `path` later."""
    try:
        with open(temporary, "r+b") as stream:
            stream.seek(start)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise cannot_write(path, error) from error
