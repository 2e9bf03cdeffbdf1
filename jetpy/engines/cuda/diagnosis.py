"""Known problems of the back end `cuda`, and their fixes."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from jetpy.engines.cuda import WHEELS
from jetpy.engines.cuda.installation import Installation
from jetpy.engines.cuda.nvrtc import architecture_for
from jetpy.engines.diagnosis import Problem, version_text


def problems(installation: Installation) -> list[Problem]:
    """Return all problems that disable the back end, in the order in which to fix them."""
    found = (check(installation) for check in CHECKS)
    return [problem for problem in found if problem is not None]


def _install(major: int) -> str:
    return f"pip install {shlex.join(WHEELS[major])}"


def _major(found: Installation) -> int:
    """Return the major version of CUDA that fits CuPy, or else the driver."""
    version = found.cupy_cuda or found.driver
    return 12 if version and version[0] < 13 else 13


def _no_driver(found: Installation) -> Problem | None:
    if found.driver:
        return None
    return Problem(
        "this machine has no NVIDIA driver (libcuda.so.1)",
        "If the machine has an NVIDIA GPU, install its driver; otherwise use cpu.",
    )


def _no_cupy(found: Installation) -> Problem | None:
    if found.cupy or found.cupy_error:
        return None
    return Problem("CuPy is not installed", f"{_install(_major(found))}.")


def _broken_cupy(found: Installation) -> Problem | None:
    if not found.cupy_error:
        return None
    major = _major(found)
    return Problem(
        f"CuPy cannot be imported: {found.cupy_error}",
        f"pip uninstall cupy cupy-cuda12x cupy-cuda13x, then {_install(major)}.",
    )


def _old_driver(found: Installation) -> Problem | None:
    if not (found.driver and found.cupy_cuda) or found.driver[0] >= found.cupy_cuda[0]:
        return None
    return Problem(
        f"the driver supports CUDA {version_text(found.driver)}, but CuPy {found.cupy} needs CUDA "
        f"{version_text(found.cupy_cuda)}",
        f"Install a newer driver; or pip uninstall cupy-cuda{found.cupy_cuda[0]}x, then "
        f"{_install(found.driver[0])}.",
    )


def _no_gpu(found: Installation) -> Problem | None:
    if not found.driver or not found.cupy or found.capabilities:
        return None
    why = f": {found.gpu_error}" if found.gpu_error else ""
    return Problem(
        f"CUDA finds no usable GPU{why}",
        "Check that nvidia-smi lists a GPU and that CUDA_VISIBLE_DEVICES does not hide it.",
    )


def _no_nvrtc(found: Installation) -> Problem | None:
    if found.nvrtc:
        return None
    major = _major(found)
    return Problem(f"NVRTC for CUDA {major} is not installed", f"{_install(major)}.")


def _no_headers(found: Installation) -> Problem | None:
    if found.headers:
        return None
    return Problem(
        "the headers of the CUDA runtime, which CuPy needs for compiling, are not installed",
        f"{_install(_major(found))}.",
    )


def _unknown_gpu(found: Installation) -> Problem | None:
    if not found.capabilities or not found.architectures:
        return None
    known = found.architectures
    unknown = [c for c in found.capabilities if architecture_for(c, known) is None]
    if not unknown:
        return None
    if unknown[0] > known[0]:
        fix = "pip install --upgrade nvidia-cuda-nvrtc"
    else:
        fix = f"pip uninstall cupy-cuda{_major(found)}x, then {_install(12)}"
    return Problem(
        f"NVRTC {version_text(found.nvrtc)} does not support this GPU (sm_{unknown[0]})",
        f"{fix}.",
    )


CHECKS: tuple[Callable[[Installation], Problem | None], ...] = (
    _no_driver,
    _broken_cupy,
    _no_cupy,
    _old_driver,
    _no_gpu,
    _no_nvrtc,
    _no_headers,
    _unknown_gpu,
)
