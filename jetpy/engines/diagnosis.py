"""Known problems of Kokkos installations, and their fixes.

Each check is for one known cause of failed compilations or, worse, of wrong results;
`docs/kokkos.md` describes how to build an installation that passes them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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


def problems(found: Installation) -> Iterator[Problem]:
    """Yield all known problems of an installation."""
    config = found.config
    if not found.has_int8:
        yield Problem(
            "pykokkos-base is too old for PyKokkos: its package kokkos has no type int8",
            "Uninstall it (pip uninstall pykokkos-base) and build its main branch from source, "
            "because the version on PyPI is too old.",
        )
    if found.import_error:
        yield Problem(
            f"the Python package kokkos cannot be imported: {found.import_error}",
            "Rebuild pykokkos-base with this Python and the Kokkos that is now installed.",
        )
    if config is None:
        yield Problem(
            "the headers of Kokkos (KokkosCore_config.h) are not installed",
            "Install Kokkos into the environment of this Python, with "
            "-DCMAKE_INSTALL_INCLUDEDIR=include/kokkos.",
        )
    else:
        yield from _problems_of_build(found, config)
    missing = _missing_views(found)
    if missing:
        yield Problem(
            f"pykokkos-base was built without {', '.join(missing)}",
            "Rebuild pykokkos-base with -DENABLE_LAYOUTS=ON and the Kokkos that is now installed.",
        )
    if found.missing:
        yield Problem(
            f"compiling kernels needs {', '.join(found.missing)}, which jetpy does not find",
            "Install what is missing (pip install pybind11; g++ and the CUDA toolkit from "
            "your system) and put the programs on PATH.",
        )
    if found.cuda:
        yield from _problems_of_cupy(found)


def _problems_of_build(found: Installation, config: Config) -> Iterator[Problem]:
    """Yield the problems of the options with which Kokkos was built."""
    is_for_cuda_13 = found.cuda and found.nvcc >= (13,)
    has_mdspans = config.standard >= 20 and config.views_are_mdspans
    if not found.shared:
        yield Problem(
            "Kokkos has no shared libraries (libkokkoscore.so), which kernels need for linking",
            "Rebuild Kokkos with -DBUILD_SHARED_LIBS=ON, then pykokkos-base.",
        )
    if is_for_cuda_13 and has_mdspans:
        yield Problem(
            f"Kokkos was built as C++{config.standard} with views on mdspan for CUDA "
            f"{version_text(found.nvcc)}: host and GPU disagree on the layout of kernel arguments, "
            "so scans read garbage",
            "Rebuild Kokkos with -DCMAKE_CXX_STANDARD=17 -DKokkos_ENABLE_IMPL_MDSPAN=OFF, then "
            "pykokkos-base.",
        )
    if found.gxx[:1] == (12,) and has_mdspans:
        yield Problem(
            f"Kokkos was built as C++{config.standard} with views on mdspan: kernels compiled by "
            f"g++ {version_text(found.gxx)} crash",
            "Rebuild Kokkos with -DKokkos_ENABLE_IMPL_MDSPAN=OFF, then pykokkos-base.",
        )
    if is_for_cuda_13 and config.version < (4, 7):
        kokkos, cuda = version_text(config.version), version_text(found.nvcc)
        yield Problem(
            f"Kokkos {kokkos} does not support CUDA {cuda}",
            "Build Kokkos 4.7.01 or a later 4.7, then pykokkos-base; or use CUDA 12.",
        )
    if "CUDA_UVM" in config.options:
        yield Problem(
            "Kokkos keeps arrays in unified memory (KOKKOS_ENABLE_CUDA_UVM), but jetpy keeps them "
            "in GPU memory",
            "Rebuild Kokkos without -DKokkos_ENABLE_CUDA_UVM=ON, then pykokkos-base.",
        )


def _missing_views(found: Installation) -> list[str]:
    """Return the views that pykokkos-base lacks, if its views are known."""
    if found.import_error or not found.has_int8:
        return []
    kinds = ["HostSpace_LayoutRight", *(["CudaSpace_LayoutLeft"] if found.cuda else [])]
    needed = [f"KokkosView_{element}_{kind}_1" for kind in kinds for element in ELEMENTS]
    return [name for name in needed if name not in found.views]


def _problems_of_cupy(found: Installation) -> Iterator[Problem]:
    major = found.nvcc[0] if found.nvcc else 12
    if found.cupy_error and not found.cupy:
        yield Problem(
            f"CuPy cannot be imported: {found.cupy_error}",
            f"Reinstall it for your CUDA: pip install --force-reinstall cupy-cuda{major}x.",
        )
    elif not found.cupy:
        yield Problem(
            "CuPy is not installed; jetpy needs it for arrays on the GPU",
            f"pip install cupy-cuda{major}x.",
        )
    if found.nvcc and found.cupy_cuda and major != found.cupy_cuda[0]:
        yield Problem(
            f"CuPy {found.cupy} is built for CUDA {version_text(found.cupy_cuda)}, but nvcc, which "
            f"compiles the kernels, is from CUDA {version_text(found.nvcc)}",
            f"Uninstall this CuPy, then pip install cupy-cuda{major}x; or put the nvcc of the "
            "other version on PATH.",
        )
