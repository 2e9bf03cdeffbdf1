"""Known problems of Kokkos installations, and their fixes.

Each check is for one known cause of failed compilations or, worse, of wrong results;
`docs/kokkos.md` describes how to build an installation that passes them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

Version = tuple[int, ...]
"""Components of a version; empty if unknown."""

ELEMENTS = ("int32", "int64", "float64")
"""Element types of the kernels' arrays."""


def version_text(version: Version) -> str:
    """Return a version with dots.

    >>> version_text((4, 7, 0))
    '4.7.0'
    """
    return ".".join(map(str, version))


def version_in(text: str) -> Version:
    """Return the first version in a text: two or more numbers separated by dots.

    >>> version_in("Cuda compilation tools, release 13.0, V13.0.48")
    (13, 0)
    """
    match = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(map(int, match[0].split("."))) if match else ()


@dataclass(frozen=True)
class Config:
    """The options with which Kokkos was built.

    Attributes
    ----------
    version : tuple of int
    standard : int
        C++ standard: 17, 20, ...
    spaces : tuple of str
        Execution spaces, such as CUDA, OPENMP and SERIAL.
    architectures : tuple of str
    options : frozenset of str
        All enabled options, as in ``KOKKOS_ENABLE_<option>``.
    """

    version: Version
    standard: int
    spaces: tuple[str, ...]
    architectures: tuple[str, ...]
    options: frozenset[str]

    @property
    def views_are_mdspans(self) -> bool:
        """Whether views are built on mdspan."""
        return "IMPL_MDSPAN" in self.options and "IMPL_VIEW_LEGACY" not in self.options


SPACES = ("CUDA", "HIP", "SYCL", "OPENMP", "THREADS", "HPX", "SERIAL")


def read_config(text: str) -> Config:
    """Read KokkosCore_config.h."""
    defined = dict(re.findall(r"^[ \t]*#define[ \t]+KOKKOS_(\w+)(?:[ \t]+(\d+))?", text, re.M))
    options = {name.removeprefix("ENABLE_") for name in defined if name.startswith("ENABLE_")}
    number = int(defined.get("VERSION") or 0)
    standards = [int(o.removeprefix("CXX")) for o in options if re.fullmatch(r"CXX\d+", o)]
    architectures = [name.removeprefix("ARCH_") for name in defined if name.startswith("ARCH_")]
    return Config(
        (number // 10000, number // 100 % 100, number % 100),
        max(standards, default=0),
        tuple(space for space in SPACES if space in options),
        tuple(
            a for a in architectures if not any(b != a and b.startswith(a) for b in architectures)
        ),
        frozenset(options),
    )


@dataclass(frozen=True)
class Installation:
    """The installed parts of Kokkos and the programs needed to compile for it.

    Attributes
    ----------
    config : Config or None
        None if Kokkos's headers are not found.
    shared : bool
        Whether its libraries are shared libraries.
    import_error : str
        Reason why the Python package kokkos cannot be imported; empty if it can.
    has_int8 : bool
        Whether this package has the type int8, which PyKokkos uses.
    views : frozenset of str
        Names of its view classes.
    missing : tuple of str
        Programs and packages that compiling kernels needs and that are not found.
    gxx, nvcc : Version
        Versions of the compilers.
    cupy : str
        Version of CuPy; empty if it is not installed.
    cupy_error : str
        Reason why CuPy cannot be imported; empty if it can.
    cupy_cuda : Version
        Version of CUDA that CuPy was built for.
    """

    config: Config | None = None
    shared: bool = True
    import_error: str = ""
    has_int8: bool = True
    views: frozenset[str] = field(default_factory=frozenset)
    missing: tuple[str, ...] = ()
    gxx: Version = ()
    nvcc: Version = ()
    cupy: str = ""
    cupy_error: str = ""
    cupy_cuda: Version = ()

    @property
    def cuda(self) -> bool:
        """Whether Kokkos has its CUDA back end."""
        return self.config is not None and "CUDA" in self.config.spaces


@dataclass(frozen=True)
class Problem:
    """A problem, and a sentence that describes its fix."""

    what: str
    fix: str


def problems(installation: Installation) -> list[Problem]:
    """Return all known problems of an installation."""
    results = (check(installation) for check in CHECKS)
    return [problem for problem in results if problem is not None]


def _old_base(found: Installation) -> Problem | None:
    if found.has_int8:
        return None
    return Problem(
        "pykokkos-base is too old for PyKokkos: its package kokkos has no type int8",
        "Uninstall it (pip uninstall pykokkos-base) and build its main branch from source, "
        "because the version on PyPI is too old.",
    )


def _not_importable(found: Installation) -> Problem | None:
    if not found.import_error:
        return None
    return Problem(
        f"the Python package kokkos cannot be imported: {found.import_error}",
        "Rebuild pykokkos-base with this Python and the Kokkos that is now installed.",
    )


def _no_headers(found: Installation) -> Problem | None:
    if found.config is not None:
        return None
    return Problem(
        "the headers of Kokkos (KokkosCore_config.h) are not installed",
        "Install Kokkos into the environment of this Python, with "
        "-DCMAKE_INSTALL_INCLUDEDIR=include/kokkos.",
    )


def _static_libraries(found: Installation) -> Problem | None:
    if found.config is None or found.shared:
        return None
    return Problem(
        "Kokkos has no shared libraries (libkokkoscore.so), which kernels need for linking",
        "Rebuild Kokkos with -DBUILD_SHARED_LIBS=ON, then pykokkos-base.",
    )


def _layouts_on_the_gpu(found: Installation) -> Problem | None:
    config = found.config
    if config is None or not found.cuda or found.nvcc < (13,):
        return None
    if config.standard < 20 or not config.views_are_mdspans:
        return None
    return Problem(
        f"Kokkos was built as C++{config.standard} with views on mdspan for CUDA "
        f"{version_text(found.nvcc)}: host and GPU disagree on the layout of kernel arguments, so "
        "scans read garbage",
        "Rebuild Kokkos with -DCMAKE_CXX_STANDARD=17 -DKokkos_ENABLE_IMPL_MDSPAN=OFF, then "
        "pykokkos-base.",
    )


def _layouts_on_the_cpu(found: Installation) -> Problem | None:
    config = found.config
    if config is None or found.gxx[:1] != (12,):
        return None
    if config.standard < 20 or not config.views_are_mdspans:
        return None
    return Problem(
        f"Kokkos was built as C++{config.standard} with views on mdspan: kernels compiled by g++ "
        f"{version_text(found.gxx)} crash",
        "Rebuild Kokkos with -DKokkos_ENABLE_IMPL_MDSPAN=OFF, then pykokkos-base.",
    )


def _kokkos_before_cuda_13(found: Installation) -> Problem | None:
    config = found.config
    if config is None or not found.cuda or found.nvcc < (13,) or config.version >= (4, 7):
        return None
    return Problem(
        f"Kokkos {version_text(config.version)} does not support CUDA {version_text(found.nvcc)}",
        "Build Kokkos 4.7.01 or a later 4.7, then pykokkos-base; or use CUDA 12.",
    )


def _unified_memory(found: Installation) -> Problem | None:
    if found.config is None or "CUDA_UVM" not in found.config.options:
        return None
    return Problem(
        "Kokkos keeps arrays in unified memory (KOKKOS_ENABLE_CUDA_UVM), but jetpy keeps them in "
        "GPU memory",
        "Rebuild Kokkos without -DKokkos_ENABLE_CUDA_UVM=ON, then pykokkos-base.",
    )


def _missing_views(found: Installation) -> Problem | None:
    if found.import_error or not found.has_int8:
        return None  # the views are unknown
    kinds = ["HostSpace_LayoutRight", *(["CudaSpace_LayoutLeft"] if found.cuda else [])]
    needed = [f"KokkosView_{element}_{kind}_1" for kind in kinds for element in ELEMENTS]
    missing = [name for name in needed if name not in found.views]
    if not missing:
        return None
    return Problem(
        f"pykokkos-base was built without {', '.join(missing)}",
        "Rebuild pykokkos-base with -DENABLE_LAYOUTS=ON and the Kokkos that is now installed.",
    )


def _missing_programs(found: Installation) -> Problem | None:
    if not found.missing:
        return None
    return Problem(
        f"compiling kernels needs {', '.join(found.missing)}, which jetpy does not find",
        "Install what is missing (pip install pybind11; g++ and the CUDA toolkit from "
        "your system) and put the programs on PATH.",
    )


def _no_cupy(found: Installation) -> Problem | None:
    if not found.cuda or found.cupy:
        return None
    major = found.nvcc[0] if found.nvcc else 12
    if found.cupy_error:
        return Problem(
            f"CuPy cannot be imported: {found.cupy_error}",
            f"Reinstall it for your CUDA: pip install --force-reinstall cupy-cuda{major}x.",
        )
    return Problem(
        "CuPy is not installed; jetpy needs it for arrays on the GPU",
        f"pip install cupy-cuda{major}x.",
    )


def _other_cuda(found: Installation) -> Problem | None:
    if not (found.cuda and found.nvcc and found.cupy_cuda) or found.nvcc[0] == found.cupy_cuda[0]:
        return None
    return Problem(
        f"CuPy {found.cupy} is built for CUDA {version_text(found.cupy_cuda)}, but nvcc, which "
        f"compiles the kernels, is from CUDA {version_text(found.nvcc)}",
        f"Uninstall this CuPy, then pip install cupy-cuda{found.nvcc[0]}x; or put the nvcc of the "
        "other version on PATH.",
    )


CHECKS: tuple[Callable[[Installation], Problem | None], ...] = (
    _old_base,
    _not_importable,
    _no_headers,
    _static_libraries,
    _layouts_on_the_gpu,
    _layouts_on_the_cpu,
    _kokkos_before_cuda_13,
    _unified_memory,
    _missing_views,
    _missing_programs,
    _no_cupy,
    _other_cuda,
)
