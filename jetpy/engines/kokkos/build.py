"""Compiles workunits in groups.

Most of the time goes into headers, so kernels compiled together share a translation unit and a
library. Each still has its own folder with the kernel's source. After compilation the folder also
has a folder `binary` with a link to the library and the library's checksum, which appears
atomically. So an interrupted compilation, or several processes that compile one kernel, never leave
a partial library. A damaged library counts as missing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from jetpy.engines.kokkos.cpp import compile_together, translate
from jetpy.engines.workers import Entry, Group
from jetpy.errors import BackendError

FUNCTION = f"{__name__}:build"
BINARY, LIBRARY, CHECKSUM = "binary", "kernel.so", "sha256"
FEWEST = 8
"""Minimum kernels per process: g++ takes 5 s for headers and 0.2 s for a kernel, nvcc 12 and 0.3
s."""
_SWITCHES = {"PK_FUSION", "PK_RESTRICT", "PK_LOOP_FUSE", "PK_MEM_FUSE", "DEBUG"}
"""Environment variables that change the code that PyKokkos generates."""


_checksums: dict[tuple[int, ...], bytes] = {}
"""Checksums of libraries, by device, inode, time of modification and size."""


def is_built(folder: Path) -> bool:
    """Return whether a kernel's folder has its compiled library, undamaged."""
    binary = folder / BINARY
    try:
        return (binary / CHECKSUM).read_bytes() == _checksum(binary / LIBRARY)
    except OSError:
        return False


def _checksum(library: Path) -> bytes:
    """Return a checksum of a library, which is read once for all kernels that share it."""
    status = library.stat()
    file = status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size
    if file not in _checksums:
        _checksums[file] = hashlib.sha256(library.read_bytes()).hexdigest().encode()
    return _checksums[file]


def build_environment() -> dict[str, str]:
    """Return the environment for `build`.

    Raises
    ------
    BackendError
        If a program for compiling is missing.
    """
    environment = {k: v for k, v in os.environ.items() if k not in _SWITCHES}
    programs = str(Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join([programs, environment.get("PATH", os.defpath)])
    environment |= {"KOKKOS_NUM_THREADS": "1", "OMP_PROC_BIND": "false"}
    compiler = shutil.which("g++", path=environment["PATH"])
    missing = [] if compiler else ["g++"]
    if importlib.util.find_spec("pybind11") is None:
        missing.append("pybind11 (a Python package)")
    if missing:
        raise BackendError(
            f"PyKokkos needs {', '.join(missing)} to compile kernels, which jetpy does not find"
        )
    return environment


def in_groups(kernels: list[Entry], jobs: int) -> list[Group]:
    """Distribute kernels over at most `jobs` groups, each compiled together.

    >>> [len(group) for group in in_groups([("evict",)] * 50, 4)]
    [13, 13, 12, 12]
    """
    count = max(1, min(jobs, len(kernels) // FEWEST))
    return [kernels[first::count] for first in range(count)]


def build(*kernels: Entry) -> None:
    """Compile kernels together.

    Parameters
    ----------
    kernels : tuple of str
        Execution space, the same for all; folder; name of the workunit. Its source is
        ``folder/workunit.py``, and ``folder/binary`` is created.

    Raises
    ------
    BackendError
        With the message of PyKokkos or of the C++ compiler, if it fails.
    """
    os.umask(os.umask(0o022) | 0o022)  # only the owner may write to code that is loaded
    space = kernels[0][0]
    folders = [Path(folder) for _, folder, _ in kernels]
    with TemporaryDirectory(prefix="build-", dir=folders[0]) as name:
        scratch = Path(name)
        translations = [translate(space, Path(f, f"{workunit}.py")) for _, f, workunit in kernels]
        library = compile_together(space, translations, scratch)
        for folder in folders:
            binary = scratch / folder.name
            binary.mkdir()
            _link(library, binary / LIBRARY)
            (binary / CHECKSUM).write_bytes(_checksum(library))
            if not is_built(folder):
                shutil.rmtree(folder / BINARY, ignore_errors=True)
            try:
                binary.rename(folder / BINARY)
            except OSError:
                if not is_built(folder):
                    raise


def _link(file: Path, to: Path) -> None:
    """Make a hard link to a file, or copy it if the file system has no hard links."""
    try:
        to.hardlink_to(file)
    except OSError:
        shutil.copy(file, to)
