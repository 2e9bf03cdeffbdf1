"""Files of Kokkos, found where PyKokkos looks for them."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from jetpy.errors import BackendError

CONFIG = ("include/kokkos/KokkosCore_config.h", "include/KokkosCore_config.h")
CORE_LIBRARY = ("lib/libkokkoscore.so", "lib64/libkokkoscore.so")
NVCC_WRAPPER = ("bin/nvcc_wrapper",)
"""Possible names of a file below the folder where Kokkos is installed."""


def check_not_hidden(package: str) -> None:
    """Check that Python does not take a folder, such as a clone, for an installed package.

    An editable install is not in the folder of installed packages, so Python prefers such a folder
    in its search path, mostly in the working directory.

    Raises
    ------
    BackendError
        If it does; the message names the folder.
    """
    spec = find_spec(package)
    if spec is not None and spec.origin is None and spec.submodule_search_locations is not None:
        folder = Path(next(iter(spec.submodule_search_locations)))
        raise BackendError(
            f"the folder {folder} hides the package {package}; run jetpy in another folder than "
            f"{folder.parent}, or install PyKokkos without -e"
        )


def find_file(names: tuple[str, ...]) -> Path | None:
    """Return the first existing file with one of these names; None if there is none."""
    files = (folder / name for folder in _folders() for name in names)
    return next((file for file in files if file.exists()), None)


def needed_file(names: tuple[str, ...]) -> Path:
    """Return the first existing file with one of these names.

    Raises
    ------
    BackendError
        If there is none.
    """
    file = find_file(names)
    if file is None:
        folders = " or ".join(map(str, _folders()))
        raise BackendError(f"Kokkos has no file {names[0]} below {folders}; run `jetpy doctor`")
    return file


def _folders() -> list[Path]:
    """Return the folders where Kokkos may be installed.

    That is the folder with the Python package kokkos, then the environment of this Python. The
    environment variable PK_KOKKOS_LIB_PATH, if set, is the folder of the libraries instead.
    """
    chosen = os.environ.get("PK_KOKKOS_LIB_PATH")
    if chosen:
        return [Path(chosen).parent]
    package = find_spec("kokkos")
    if package is None or package.origin is None:
        return [Path(sys.prefix)]
    return [Path(package.origin).parents[1], Path(sys.prefix)]
