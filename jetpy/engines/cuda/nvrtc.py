"""NVRTC, NVIDIA's compiler as a library, which compiles CUDA C to a cubin for one architecture.

It needs only its wheel: no GPU, driver, toolkit or CuPy. Other threads run while it compiles.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from jetpy.errors import BackendError, OptionError

MAJORS = (13, 12)
"""Major versions of CUDA that have wheels; the first that is found is the default."""
WHEELS = {13: "nvidia/cu13/lib", 12: "nvidia/cuda_nvrtc/lib"}
"""Location of the library in its wheels, below a folder of packages."""
TOOLKITS = ("CUDA_PATH", "CUDA_HOME")
"""Environment variables with the folder of a CUDA toolkit."""
OPTIONS = ("--std=c++17", "--fmad=false")
"""Products and sums are rounded separately, as on CPUs."""

_ARCHITECTURE = re.compile(r"sm_(\d+)")


class NVRTC:
    """The loaded library.

    Attributes
    ----------
    version : tuple of int
        Major and minor version of CUDA.
    architectures : tuple of int
        Supported architectures, ascending: 90 for sm_90.
    """

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._do("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = major.value, minor.value
        count = ctypes.c_int()
        self._do("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self._do("nvrtcGetSupportedArchs", numbers)
        self.architectures = tuple(sorted(numbers))

    def compile(self, source: str, name: str, architecture: str) -> bytes:
        """Compile a source to a cubin; messages call the source `name`.

        Raises
        ------
        BackendError
            With the compiler's message, if it does not compile.
        """
        options = [f"--gpu-architecture={architecture}", *OPTIONS]
        program = ctypes.c_void_p()
        texts = source.encode(), name.encode()
        self._do("nvrtcCreateProgram", ctypes.byref(program), *texts, 0, None, None)
        try:
            given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            if self._library.nvrtcCompileProgram(program, len(options), given) != 0:
                raise BackendError(self._fetch(program, "ProgramLog").decode().strip("\0\n"))
            return self._fetch(program, "CUBIN")
        finally:
            self._do("nvrtcDestroyProgram", ctypes.byref(program))

    def _fetch(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._do(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._do(f"nvrtcGet{what}", program, buffer)
        return buffer.raw

    def _do(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code != 0:
            words = self._library.nvrtcGetErrorString(code).decode()
            raise BackendError(f"NVRTC failed: {function}: {words}")

    def checked(self, architecture: str) -> str:
        """Return an architecture, such as sm_90, after checks.

        Raises
        ------
        OptionError
            If it is malformed.
        BackendError
            If NVRTC does not support it.
        """
        found = _ARCHITECTURE.fullmatch(architecture)
        if found is None:
            raise OptionError(f"{architecture} is not a GPU architecture; give one like sm_90")
        if int(found[1]) not in self.architectures:
            known = ", ".join(f"sm_{number}" for number in self.architectures)
            version = ".".join(map(str, self.version))
            raise BackendError(
                f"NVRTC {version} does not support {architecture}; choose one of {known}"
            )
        return architecture


def architecture_for(capability: int, architectures: Sequence[int]) -> str | None:
    """Return the best architecture for GPUs of a compute capability (90 for 9.0), or None.

    Code for an older architecture of the same generation also runs on them.

    >>> architecture_for(103, (75, 90, 100, 120)), architecture_for(70, (75, 80))
    ('sm_100', None)
    """
    same = [a for a in architectures if a // 10 == capability // 10 and a <= capability]
    return f"sm_{max(same)}" if same else None


@cache
def load(majors: tuple[int, ...] = MAJORS) -> NVRTC:
    """Load NVRTC for the first of some major versions of CUDA for which it is installed.

    Raises
    ------
    BackendError
        If it is installed for none of them.
    """
    for major in majors:
        for path in _places(major):
            try:
                return NVRTC(path)
            except (OSError, AttributeError):
                continue
    raise BackendError(
        f"NVRTC for CUDA {' or '.join(map(str, majors))} is not installed: pip install "
        "nvidia-cuda-nvrtc"
    )


def _places(major: int) -> Iterator[str]:
    """Yield possible paths of the library: in its wheel, in a toolkit, on the loader's path."""
    name = f"libnvrtc.so.{major}"
    folders = [Path(folder, WHEELS[major]) for folder in sys.path]
    folders += [Path(os.environ[v], "lib64") for v in TOOLKITS if v in os.environ]
    yield from (str(folder / name) for folder in folders if (folder / name).exists())
    yield name
