"""Finds PyKokkos and starts Kokkos in this process, once and with a fixed number of threads."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from jetpy.engines import gpu
from jetpy.engines.gpu import LOST
from jetpy.engines.kokkos.paths import check_not_hidden
from jetpy.engines.threads import available_threads, limit_spinning, openmp_is_lost
from jetpy.errors import BackendError

_threads: int | None = None
"""Number of threads of Kokkos; None before it starts."""
_device: int | None = None
"""Index of the GPU of Kokkos; None until it is requested."""


def check_space(space: str) -> None:
    """Check that a fork has not taken away an execution space.

    Raises
    ------
    BackendError
        If the space is the GPU, or OpenMP in a Kokkos without the space Serial.
    """
    if space == "Cuda":
        gpu.check_after_fork()
    if space == "OpenMP" and openmp_is_lost() and not _has("Serial"):
        raise BackendError(f"OpenMP cannot be used in a process {LOST.format('it')}")


def check_present(space: str, device: int | None = None) -> None:
    """Check that a back end's requirements are installed, without starting anything.

    Parameters
    ----------
    space : {'Cuda', 'OpenMP', 'Serial'}
        Kokkos execution space.
    device : int, optional
        Index of a GPU.

    Raises
    ------
    BackendError
        If a requirement is missing; the message names it.
    OptionError
        If there is no such GPU.
    """
    for package in ("pykokkos", "kokkos"):
        if find_spec(package) is None:
            raise BackendError(
                f"PyKokkos is not installed: this Python ({sys.executable}) has no package "
                f"{package!r}. Build it from source as docs/kokkos.md describes"
            )
        check_not_hidden(package)
    check_space(space)
    if space == "Cuda":
        _check_gpu(device)
    limit_spinning()
    if not _has(space):
        raise BackendError(
            f"PyKokkos on this machine was built without the {space} back end of Kokkos"
        )


def _has(space: str) -> bool:
    """Return whether Kokkos was built with an execution space."""
    return bool(_import("kokkos").get_device_available(space))


def _check_gpu(device: int | None) -> None:
    if find_spec("cupy") is None:
        raise BackendError("kokkos-cuda needs CuPy: pip install cupy-cuda12x (or cupy-cuda13x)")
    cupy = _import("cupy")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise BackendError(f"CUDA finds no usable GPU: {error}") from error
    if count == 0:
        raise BackendError("CUDA finds no usable GPU")
    gpu.check_device(device or 0, count)


def start(threads: int | None, device: int | None = None) -> int:
    """Start Kokkos unless it runs; return its number of CPU threads.

    Kokkos takes its threads and its GPU at the start and keeps them until the process ends. After a
    fork that loses OpenMP's threads, it has one thread.

    Parameters
    ----------
    threads : int, optional
        CPU threads; by default the threads of a running Kokkos, else all available ones.
    device : int, optional
        Index of the GPU to start with; by default Kokkos chooses.

    Raises
    ------
    BackendError
        If PyKokkos cannot be imported, or Kokkos already runs with a different number of threads,
        or Kokkos had not started before a fork lost OpenMP's threads: it would hang.
    """
    global _threads
    if openmp_is_lost():
        if _threads is None:
            raise BackendError(f"Kokkos cannot start in a process {LOST.format('OpenMP')}")
        return 1
    if _threads is None:
        if _import("kokkos").is_initialized() and threads is not None:
            raise BackendError(
                "other code in this process has already started Kokkos; leave out the number of "
                "threads, or call jetpy before that code"
            )
        count = threads or available_threads()
        with _settings(count, device):
            _import("pykokkos")
        _threads = count
    if threads not in (None, _threads):
        raise BackendError(
            f"Kokkos runs with {_threads} threads in this process and cannot change to {threads}; "
            "use the same number of threads in the whole process"
        )
    return _threads


def device_of_kokkos(device: int | None) -> int:
    """Return the index of the GPU that a running Kokkos uses.

    Raises
    ------
    BackendError
        If it is not `device`.
    """
    global _device
    if _device is None:
        _device = int(_import("cupy").cuda.runtime.getDevice())
    if device not in (None, _device):
        raise BackendError(
            f"Kokkos runs on GPU {_device} in this process and cannot change to {device}; use one "
            "GPU per process, or the back end cuda"
        )
    return _device


def _import(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except (Exception, SystemExit) as error:
        raise BackendError(f"{package} is installed but cannot be imported: {error!r}") from error


@contextmanager
def _settings(threads: int, device: int | None) -> Iterator[None]:
    """Set the environment variables and the command line that Kokkos reads at its start."""
    os.environ.setdefault("OMP_PROC_BIND", "false")
    chosen = {"KOKKOS_NUM_THREADS": f"{threads}"}
    if device is not None:
        chosen["KOKKOS_DEVICE_ID"] = f"{device}"
    arguments, before = sys.argv, {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    sys.argv = arguments[:1]
    try:
        yield
    finally:
        sys.argv = arguments
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
