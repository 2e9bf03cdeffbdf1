"""NVRTC, NVIDIA's compiler as a library: CUDA C in, a cubin for one architecture out.

It needs no GPU, no driver, no toolkit and no CuPy: its wheel is enough. Other threads run while it
compiles.
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
"""Of CUDA, for which there are wheels; the first that is found is taken where nothing else asks."""
WHEELS = {13: "nvidia/cu13/lib", 12: "nvidia/cuda_nvrtc/lib"}
"""Where its wheels keep it, below a folder of packages."""
TOOLKITS = ("CUDA_PATH", "CUDA_HOME")
"""Environment variables that name the folder of a toolkit."""
OPTIONS = ("--std=c++17", "--fmad=false")
"""No product and sum are rounded as one, which CPUs do not do either."""

_ARCHITECTURE = re.compile(r"sm_(\d+)")


class NVRTC:
    """The library, loaded.

    Attributes
    ----------
    version : tuple of int
        Of CUDA: major and minor number.
    architectures : tuple of int
        Those that it compiles for, ascending: 90 for sm_90.
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
        """Compile a source, called `name` in messages, to a cubin.

        Raises
        ------
        BackendError
            With the compiler's words, if it does not compile.
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
        """Return an architecture as NVRTC calls it.

        Raises
        ------
        OptionError
            If it is not called as architectures are.
        BackendError
            If NVRTC does not compile for it.
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
    """Return which of some architectures is for GPUs of a compute capability (90 for 9.0), if any.

    Code for an older one of the same generation runs on them, too.

    >>> architecture_for(103, (75, 90, 100, 120)), architecture_for(70, (75, 80))
    ('sm_100', None)
    """
    same = [a for a in architectures if a // 10 == capability // 10 and a <= capability]
    return f"sm_{max(same)}" if same else None


@cache
def load(majors: tuple[int, ...] = MAJORS) -> NVRTC:
    """Load NVRTC for the first of some major versions of CUDA that it is there for.

    Raises
    ------
    BackendError
        If it is there for none.
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
    """Where the library may be: in its wheel, in a toolkit, or where the loader looks."""
    name = f"libnvrtc.so.{major}"
    folders = [Path(folder, WHEELS[major]) for folder in sys.path]
    folders += [Path(os.environ[v], "lib64") for v in TOOLKITS if v in os.environ]
    yield from (str(folder / name) for folder in folders if (folder / name).exists())
    yield name
