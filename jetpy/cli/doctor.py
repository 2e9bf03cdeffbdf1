"""``jetpy doctor``: what works on this machine, and what to do about the rest."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetpy.cli.command import Command
from jetpy.cli.progress import progress_bars
from jetpy.errors import BackendError

if TYPE_CHECKING:
    from jetpy.backends.base import Backend

PACKAGES = ("jetpy", "numba", "numpy", "scipy", "pymetis", "pykokkos", "pykokkos-base", "cupy")
TRIAL_SIZE = 1 << 16


@click.command("doctor", cls=Command)
def doctor_command() -> None:
    """Say which back ends work here, and what others lack.

    Lists versions and the machine too, and fails where no back end works.
    """
    from jetpy.backends import BACKENDS, get_backend
    from jetpy.cli.tables import columns, facts, stdout_console

    with progress_bars() as bars:
        found: dict[str, tuple[bool, str]] = {}
        for name in BACKENDS:
            bars.busy(f"Trying {name}")
            found[name] = _try_backend(name)
    rows = [(name, "works" if ok else "-", words) for name, (ok, words) in found.items()]
    works = any(ok for ok, _ in found.values())
    chosen = get_backend("auto").name if works else "nothing"
    console = stdout_console()
    console.print(columns(("back end", "", "how, or why not"), rows, left=3))
    console.print(facts([("auto takes", chosen), *_machine(), *_versions()]))
    if not works:
        raise BackendError("no back end works")


def _try_backend(name: str) -> tuple[bool, str]:
    """Return whether a back end works, and how it runs or why it does not."""
    from jetpy.backends import get_backend
    from jetpy.cli.tables import count

    try:
        backend = get_backend(name)
        _run_kernel(backend)
    except BackendError as error:
        return False, str(error)
    words = count(backend.threads, "thread")
    return True, f"{words}, threading layer {_threading_layer()}" if name == "numba" else words


def _run_kernel(backend: Backend) -> None:
    """Run one kernel on an array large enough for all threads."""
    import numpy as np

    from jetpy.workloads import projection

    identity = backend.from_host(np.arange(TRIAL_SIZE, dtype=np.int32))
    parts = backend.empty(TRIAL_SIZE)
    backend.parallel_for(
        TRIAL_SIZE, projection.project, coarse_of=identity, coarse_parts=identity, parts=parts
    )
    if not np.array_equal(backend.to_host(parts), backend.to_host(identity)):
        raise BackendError("a kernel computed wrong values")


def _threading_layer() -> str:
    """Name Numba's threading layer, known once it has run something in parallel."""
    numba = importlib.import_module("numba")
    try:
        return str(numba.threading_layer())
    except ValueError:
        return "none (one thread)"


def _versions() -> list[tuple[str, str]]:
    rows = [("python", platform.python_version())]
    for package in PACKAGES:
        try:
            [distribution, *_] = packages_distributions().get(package, [package])
            rows.append((package, version(distribution)))
        except PackageNotFoundError:
            rows.append((package, "not installed"))
    return rows


def _machine() -> list[tuple[str, str]]:
    from jetpy.backends.threads import available_threads
    from jetpy.cache import cache_dir

    return [
        ("system", f"{platform.system()} {platform.machine()}"),
        ("threads available", f"{available_threads()}"),
        ("GPU", _gpus()),
        ("cache folder", f"{cache_dir()} ({_state(cache_dir())})"),
    ]


def _gpus() -> str:
    """Name the NVIDIA GPUs that the driver reports."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return "no NVIDIA driver"
    query = [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    return (answer.stdout if answer.returncode == 0 else answer.stdout + answer.stderr).strip()


def _state(folder: Path) -> str:
    """Say whether files can be made in a folder, and how much it holds."""
    if not folder.exists():
        return "not there yet"
    if not os.access(folder, os.W_OK | os.X_OK):
        return "NOT WRITABLE; set JETPY_CACHE_DIR to another folder"
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return f"{size / 1e6:.1f} MB"
