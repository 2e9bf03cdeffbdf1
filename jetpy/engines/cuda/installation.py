"""Finds out what there is of CUDA on this machine: driver, GPUs, CuPy, NVRTC, headers.

``python -m jetpy.engines.cuda.installation`` does that in a process of its own, which a broken
package may end, and prints it as JSON.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from jetpy.engines.cuda import nvrtc
from jetpy.engines.diagnosis import Version
from jetpy.errors import BackendError


@dataclass(frozen=True)
class Installation:
    """What there is of CUDA.

    Attributes
    ----------
    driver : tuple of int
        Version of CUDA that the driver is for; empty where there is no driver.
    cupy : str
        Version of CuPy; empty without.
    cupy_error : str
        Why it cannot be imported.
    cupy_cuda : tuple of int
        Version of CUDA that it was made for.
    capabilities : tuple of int
        Compute capability of each GPU: 90 for 9.0.
    gpu_error : str
        Why the GPUs cannot be used.
    nvrtc : tuple of int
        Version of CUDA of NVRTC; empty without.
    architectures : tuple of int
        Those that it compiles for.
    headers : bool
        Whether the headers of CUDA's run-time library are found, which CuPy needs; not looked for
        where not all is told.
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
    """Describe the installation; without a driver nothing else matters, unless all is to be told.

    CuPy is imported for that, and NVRTC loaded.
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
    """Describe the installation, from another process."""
    done = subprocess.run(
        [sys.executable, "-m", __name__], capture_output=True, text=True, check=False
    )
    try:
        told = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = done.stderr.strip().splitlines()[-1:]
        words = ": ".join([f"the process ended with code {done.returncode}", *last])
        return Installation(driver=_driver(), cupy_error=words)
    whole: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in told.items()}
    return Installation(**whole)


def _driver() -> Version:
    """Return the version of CUDA that the driver is for, which is not started for that."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        number = ctypes.c_int()
        if library.cuDriverGetVersion(ctypes.byref(number)) != 0:
            return ()
    except (OSError, AttributeError):
        return ()
    return _version(number.value)


def _version(number: int) -> Version:
    """Return CUDA's number of a version as a version.

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
    """Whether CuPy finds the headers of CUDA's run-time library."""
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
        return pathfinder.find_nvidia_header_directory("cudart") is not None
    except (Exception, SystemExit):
        return True  # another CuPy, which looks for them in other ways


if __name__ == "__main__":
    print(json.dumps(asdict(examine(all_of_it=True))))
