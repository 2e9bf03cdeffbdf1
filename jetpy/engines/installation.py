"""Examines the installation of Kokkos on this machine, usable or not.

Packages are imported in a separate process (``python -m jetpy.engines.installation``), because a
broken package may end the process.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jetpy.engines.child_processes import answer_of
from jetpy.engines.cuda.installation import examine_apart
from jetpy.engines.diagnosis import Installation, Version, read_config, version_in
from jetpy.engines.kokkos.paths import CONFIG, CORE_LIBRARY, NVCC_WRAPPER, find_file


def examine() -> Installation | None:
    """Describe the installation of Kokkos; None if this Python has none."""
    package = find_spec("kokkos")
    if package is None or package.origin is None:
        return None
    config = find_file(CONFIG)
    read = read_config(config.read_text()) if config else None
    cuda = read is not None and "CUDA" in read.spaces
    imported, of_cuda = _import_apart(), examine_apart()
    return Installation(
        config=read,
        shared=find_file(CORE_LIBRARY) is not None,
        import_error=imported["error"],
        has_int8=imported["has_int8"],
        views=frozenset(imported["views"]),
        missing=tuple(_missing(cuda)),
        gxx=_version_of("g++", "-dumpfullversion"),
        nvcc=_version_of("nvcc", "--version"),
        cupy=of_cuda.cupy,
        cupy_error=of_cuda.cupy_error,
        cupy_cuda=of_cuda.cupy_cuda,
    )


def _path() -> str:
    """Return the PATH for compiling kernels."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _missing(cuda: bool) -> Iterator[str]:
    for program in ("g++", *(["nvcc"] if cuda else [])):
        if shutil.which(program, path=_path()) is None:
            yield program
    if cuda and find_file(NVCC_WRAPPER) is None:
        yield "nvcc_wrapper (which Kokkos installs)"
    if find_spec("pybind11") is None:
        yield "pybind11 (a Python package)"


def _version_of(program: str, option: str) -> Version:
    path = shutil.which(program, path=_path())
    if path is None:
        return ()
    done = subprocess.run([path, option], capture_output=True, text=True, check=False)
    return version_in(done.stdout)


NOTHING: dict[str, Any] = {"error": "", "has_int8": True, "views": []}


def _import_apart() -> dict[str, Any]:
    """Import the package kokkos in a separate process, and return its description."""
    answer, reason = answer_of(__name__)
    return {**NOTHING, **({"error": f"the process {reason}"} if answer is None else answer)}


def _imported() -> dict[str, Any]:
    """Import the package kokkos and describe it."""
    answer: dict[str, Any] = {}
    try:
        library = importlib.import_module("kokkos.libpykokkos")
        answer["views"] = [name for name in dir(library) if name.startswith("KokkosView_")]
        answer["has_int8"] = hasattr(importlib.import_module("kokkos"), "int8")
    except (Exception, SystemExit) as error:
        answer["error"] = f"{error!r}"
    return answer


if __name__ == "__main__":
    print(json.dumps(_imported()))
