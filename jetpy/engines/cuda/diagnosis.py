"""Known problems of the back end `cuda`, and their fixes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from jetpy.engines.cuda import WHEELS
from jetpy.engines.cuda.installation import Installation
from jetpy.engines.cuda.nvrtc import architecture_for
from jetpy.engines.diagnosis import Problem, version_text


def problems(found: Installation) -> Iterator[Problem]:
    """Yield all problems that disable the back end, in the order in which to fix them."""
    driver, built_for = found.driver, found.cupy_cuda
    major = 12 if (built_for or driver or (13,))[0] < 13 else 13
    install = f"{_install(major)}."
    if not driver:
        yield Problem(
            "this machine has no NVIDIA driver (libcuda.so.1)",
            "If the machine has an NVIDIA GPU, install its driver; otherwise use cpu.",
        )
    if found.cupy_error:
        yield Problem(
            f"CuPy cannot be imported: {found.cupy_error}",
            f"pip uninstall cupy cupy-cuda12x cupy-cuda13x, then {install}",
        )
    elif not found.cupy:
        yield Problem("CuPy is not installed", install)
    if driver and built_for and driver[0] < built_for[0]:
        yield Problem(
            f"the driver supports CUDA {version_text(driver)}, but CuPy {found.cupy} needs CUDA "
            f"{version_text(built_for)}",
            f"Install a newer driver; or pip uninstall cupy-cuda{built_for[0]}x, then "
            f"{_install(driver[0])}.",
        )
    if driver and found.cupy and not found.capabilities:
        why = f": {found.gpu_error}" if found.gpu_error else ""
        yield Problem(
            f"CUDA finds no usable GPU{why}",
            "Check that nvidia-smi lists a GPU and that CUDA_VISIBLE_DEVICES does not hide it.",
        )
    if not found.nvrtc:
        yield Problem(f"NVRTC for CUDA {major} is not installed", install)
    if not found.headers:
        yield Problem(
            "the headers of the CUDA runtime, which CuPy needs for compiling, are not installed",
            install,
        )
    known = found.architectures
    unknown = [c for c in found.capabilities if known and architecture_for(c, known) is None]
    if unknown:
        fix = f"pip uninstall cupy-cuda{major}x, then {_install(12)}"
        if unknown[0] > known[0]:
            fix = "pip install --upgrade nvidia-cuda-nvrtc"
        yield Problem(
            f"NVRTC {version_text(found.nvrtc)} does not support this GPU (sm_{unknown[0]})",
            f"{fix}.",
        )


def _install(major: int) -> str:
    return f"pip install {shlex.join(WHEELS[major])}"
