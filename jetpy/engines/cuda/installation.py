"""Examines the installation of CUDA on this machine: driver, GPUs, CuPy, NVRTC, headers.

``python -m jetpy.engines.cuda.installation`` does that in a separate process, because a broken
package may end the process, and prints the result as JSON.
"""

from __future__ import annotations

import ctypes
import importlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from jetpy.engines.child_processes import answer_of
from jetpy.engines.cuda import nvrtc
from jetpy.engines.diagnosis import Version
from jetpy.errors import BackendError


@dataclass(frozen=True)
class Installation:
    """The installed parts of CUDA.

    Attributes
    ----------
    driver : tuple of int
        Version of CUDA that the driver supports; empty if there is no driver.
    cupy : str
        Version of CuPy; empty if it is not installed.
    cupy_error : str
        Reason why CuPy cannot be imported; empty if it can.
    cupy_cuda : tuple of int
        Version of CUDA that CuPy was built for.
    capabilities : tuple of int
        Compute capability of each GPU: 90 for 9.0.
    gpu_error : str
        Reason why the GPUs cannot be used.
    nvrtc : tuple of int
        Version of CUDA of NVRTC; empty if it is not installed.
    architectures : tuple of int
        Architectures for which NVRTC compiles.
    headers : bool
        Whether the headers of the CUDA runtime, which CuPy needs, are found; True if `examine` has
        not looked for them.
    """

    driver: Version = ()
    cupy: str = ""
    cupy_error: str = ""
    cupy_cuda: Version = ()
    capabilities: tuple[int, ...] = ()
    gpu_error: str = ""
    nvrtc: Version = ()
    architectures: tuple[int, ...] = ()
    headers: bool = True


def examine(*, all_of_it: bool = False) -> Installation:
    """Describe the installation; without a driver, the rest only if `all_of_it`.

    CuPy is imported and NVRTC loaded for that.
    """
    found: dict[str, Any] = {"driver": _driver()}
    if not found["driver"] and not all_of_it:
        return Installation()
    if find_spec("cupy") is not None:
        found |= _cupy()
    majors = found["cupy_cuda"][:1] if found.get("cupy_cuda") else nvrtc.MAJORS
    with suppress(BackendError):
        compiler = nvrtc.load(majors)
        found |= {"nvrtc": compiler.version, "architectures": compiler.architectures}
    if all_of_it and found.get("cupy"):
        found["headers"] = _headers()
    return Installation(**found)


def examine_apart() -> Installation:
    """Describe the whole installation, examined in a separate process."""
    answer, reason = answer_of(__name__)
    if answer is None:
        return Installation(driver=_driver(), cupy_error=f"the process {reason}")
    whole: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in answer.items()}
    return Installation(**whole)


def _driver() -> Version:
    """Return the version of CUDA that the driver supports, without initialising the driver."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        number = ctypes.c_int()
        if library.cuDriverGetVersion(ctypes.byref(number)) != 0:
            return ()
    except (OSError, AttributeError):
        return ()
    return _version(number.value)


def _version(number: int) -> Version:
    """Return the version for a version number of CUDA's API.

    >>> _version(12040)
    (12, 4)
    """
    return number // 1000, number // 10 % 100


def _cupy() -> dict[str, Any]:
    """Import CuPy; describe it and the GPUs that it finds."""
    try:
        cupy = importlib.import_module("cupy")
        runtime = cupy.cuda.runtime
        found = {"cupy": cupy.__version__, "cupy_cuda": _version(runtime.runtimeGetVersion())}
    except (Exception, SystemExit) as error:
        return {"cupy_error": f"{error!r}"}
    try:
        found["capabilities"] = tuple(
            int(cupy.cuda.Device(number).compute_capability)
            for number in range(runtime.getDeviceCount())
        )
    except RuntimeError as error:
        found["gpu_error"] = f"{error}"
    return found


def _headers() -> bool:
    """Return whether CuPy finds the headers of the CUDA runtime."""
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
        return pathfinder.find_nvidia_header_directory("cudart") is not None
    except (Exception, SystemExit):
        return True  # another version of CuPy, with a different search


if __name__ == "__main__":
    print(json.dumps(asdict(examine(all_of_it=True))))
