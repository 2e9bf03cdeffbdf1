"""Distributed writing of parts to one file: each process writes its range."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import ending_all, run_collectively
from jetpy.errors import FileFormatError, JetpyError
from jetpy.io.compression import split_name
from jetpy.io.parts import check_parts_name

HEADER = 128
"""Size in bytes of the header of a ``.npy`` file."""


def write_parts(
    comm: Communicator,
    path: str | os.PathLike[str],
    parts: npt.NDArray[np.int32],
    first: int,
    n: int,
) -> None:
    """Write the parts of owned vertices, whose global ids start at `first`. Collective.

    The file has the parts of `n` vertices. It appears when it is complete.

    Raises
    ------
    JetpyError
        In all processes, if the file cannot be written.
    """
    final = Path(os.path.realpath(path))
    partial = final.with_name(f".{final.name}.partial")
    with ending_all(comm):
        run_collectively(comm, lambda: check_target(path))
        content, start = _content(final, parts, first, n)
        if start is None:
            lengths = comm.allgather_objects(len(content))
            start = sum(lengths[: comm.rank])
        try:
            run_collectively(comm, lambda: _create(partial) if comm.rank == 0 else None)
            run_collectively(comm, lambda: _write(partial, content, start))
            run_collectively(comm, lambda: os.replace(partial, final) if comm.rank == 0 else None)
        finally:
            if comm.rank == 0:
                partial.unlink(missing_ok=True)


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
    path: Path, parts: npt.NDArray[np.int32], first: int, n: int
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


def _create(path: Path) -> None:
    try:
        path.write_bytes(b"")
    except OSError as error:
        raise JetpyError(f"{path}: {error.strerror}") from error


def _write(path: Path, content: bytes, start: int) -> None:
    try:
        with path.open("r+b") as stream:
            stream.seek(start)
            stream.write(content)
    except OSError as error:
        raise JetpyError(f"{path}: {error.strerror}") from error
