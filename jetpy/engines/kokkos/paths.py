"""Location of Kokkos according to PyKokkos, corrected if another package's folder misleads it."""

from __future__ import annotations

import sys
from pathlib import Path

from jetpy.errors import BackendError


def kokkos_paths(space: str) -> tuple[Path, Path, Path]:
    """Return Kokkos's folders of libraries and headers, and the compiler program.

    Raises
    ------
    BackendError
        If PyKokkos does not find them.
    """
    import pykokkos as pk
    from pykokkos.core.cpp_setup import CppSetup
    from pykokkos.runtime import runtime_singleton

    compiler = runtime_singleton.runtime.compiler.get_compiler()
    try:
        libraries, headers, program = CppSetup("", []).get_kokkos_paths(
            getattr(pk.ExecutionSpace, space), compiler
        )
    except RuntimeError as error:
        raise BackendError(f"PyKokkos does not find the libraries of Kokkos: {error}") from error
    return libraries_of(libraries, Path(sys.prefix)), headers, program


def libraries_of(said: Path, prefix: Path) -> Path:
    """Return the folder of Kokkos's libraries, given the folder that PyKokkos found.

    PyKokkos accepts any folder ``lib`` next to the installed packages, and some packages bring one.
    """
    folders = (said, prefix / "lib", prefix / "lib64")
    return next((folder for folder in folders if any(folder.glob("libkokkoscore.*"))), said)
