"""Diagnosis of Kokkos installations that are known to be wrong."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import Any

import pytest

from jetpy import workloads
from jetpy.engines import diagnosis
from jetpy.engines.diagnosis import (
    ELEMENTS,
    Config,
    Installation,
    problems,
    read_config,
    version_in,
)
from jetpy.kernel_language import View
from jetpy.kernel_language.reading import read_module

HEADER = """
#if !defined(KOKKOS_MACROS_HPP) || defined(KOKKOS_CORE_CONFIG_H)
#error "Do not include KokkosCore_config.h directly"
#else
#define KOKKOS_CORE_CONFIG_H
#endif

// KOKKOS_VERSION % 100 is the patch level
#define KOKKOS_VERSION {version}
#define KOKKOS_VERSION_MAJOR {major}
/* #undef KOKKOS_ENABLE_HIP */
#define KOKKOS_ENABLE_{standard}
/* #undef KOKKOS_ENABLE_CXX23 */
#define KOKKOS_ENABLE_CUDA_LAMBDA  // deprecated
#define KOKKOS_ENABLE_DEPRECATED_CODE_4
/* #undef KOKKOS_ARCH_AMPERE80 */
{more}
"""


def header(version: int = 40701, standard: str = "CXX17", *enabled: str, more: str = "") -> str:
    lines = [f"#define KOKKOS_ENABLE_{option}" for option in enabled]
    return HEADER.format(
        version=version, major=version // 10000, standard=standard, more="\n".join([*lines, more])
    )


def config(version: int = 40701, standard: str = "CXX17", *enabled: str) -> Config:
    return read_config(header(version, standard, "CUDA", "OPENMP", "SERIAL", *enabled))


VIEWS = frozenset(
    f"KokkosView_{element}_{kind}_1"
    for element in ("int32", "int64", "float64")
    for kind in ("HostSpace_LayoutRight", "HostSpace_LayoutLeft", "CudaSpace_LayoutLeft")
)
SOUND = Installation(
    config(),
    views=VIEWS,
    gxx=(13, 3, 0),
    nvcc=(13, 0),
    cupy="14.0.0",
    cupy_cuda=(13, 0),
)
MDSPAN_20 = config(40701, "CXX20", "IMPL_MDSPAN")
NO_CUDA = read_config(header(40701, "CXX17", "OPENMP", "SERIAL"))

WRONG: dict[str, tuple[Installation, str, str]] = {
    "old base": (
        replace(SOUND, has_int8=False, views=frozenset()),
        "pykokkos-base is too old .* int8",
        "pip uninstall pykokkos-base.* main branch",
    ),
    "import": (
        replace(SOUND, import_error="ImportError('undefined symbol')", views=frozenset()),
        "kokkos cannot be imported: ImportError.'undefined symbol'",
        "Rebuild pykokkos-base with this Python",
    ),
    "headers": (replace(SOUND, config=None), "headers .* are not installed", "INCLUDEDIR"),
    "static": (replace(SOUND, shared=False), "no shared libraries", "BUILD_SHARED_LIBS=ON"),
    "C++20 for CUDA 13": (
        replace(SOUND, config=MDSPAN_20),
        r"C\+\+20 with views on mdspan for CUDA 13.0: host and GPU disagree",
        "CMAKE_CXX_STANDARD=17 -DKokkos_ENABLE_IMPL_MDSPAN=OFF",
    ),
    "C++20 by g++ 12": (
        replace(SOUND, config=MDSPAN_20, gxx=(12, 2, 0), nvcc=(12, 4), cupy_cuda=(12, 9)),
        r"C\+\+20 with views on mdspan: kernels compiled by g\+\+ 12.2.0 crash",
        "IMPL_MDSPAN=OFF",
    ),
    "Kokkos before CUDA 13": (
        replace(SOUND, config=config(40601)),
        "Kokkos 4.6.1 does not support CUDA 13.0",
        "Kokkos 4.7.01",
    ),
    "unified memory": (
        replace(SOUND, config=config(40701, "CXX17", "CUDA_UVM")),
        "unified memory .KOKKOS_ENABLE_CUDA_UVM",
        "without -DKokkos_ENABLE_CUDA_UVM=ON",
    ),
    "layouts": (
        replace(SOUND, views=frozenset(v for v in VIEWS if "Cuda" not in v)),
        "without KokkosView_int32_CudaSpace_LayoutLeft_1, KokkosView_int64_CudaSpace_LayoutLeft_1, "
        "KokkosView_float64_CudaSpace_LayoutLeft_1$",
        "ENABLE_LAYOUTS=ON",
    ),
    "types": (
        replace(SOUND, config=NO_CUDA, views=frozenset(v for v in VIEWS if "int32" not in v)),
        "without KokkosView_int32_HostSpace_LayoutRight_1$",
        "Rebuild pykokkos-base",
    ),
    "programs": (
        replace(SOUND, missing=("g++", "nvcc")),
        r"compiling kernels needs g\+\+, nvcc",
        "pip install pybind11",
    ),
    "no CuPy": (
        replace(SOUND, cupy="", cupy_cuda=()),
        "CuPy is not installed",
        "pip install cupy-cuda13x",
    ),
    "broken CuPy": (
        replace(SOUND, cupy="", cupy_cuda=(), cupy_error="ImportError('libcudart')"),
        "CuPy cannot be imported: ImportError.'libcudart'",
        "--force-reinstall cupy-cuda13x",
    ),
    "CuPy for CUDA 12": (
        replace(SOUND, cupy_cuda=(12, 9)),
        "CuPy 14.0.0 is built for CUDA 12.9, but nvcc, which compiles the kernels, is from CUDA "
        "13.0",
        "pip install cupy-cuda13x",
    ),
}

RIGHT: dict[str, Installation] = {
    "sound": SOUND,
    "CUDA 12": replace(SOUND, nvcc=(12, 6), cupy_cuda=(12, 9)),
    "C++20 with views of old": replace(
        SOUND, config=config(40701, "CXX20", "IMPL_MDSPAN", "IMPL_VIEW_LEGACY")
    ),
    "C++20 without mdspan": replace(SOUND, config=config(40701, "CXX20")),
    "C++20 by others": replace(SOUND, config=MDSPAN_20, nvcc=(12, 4), cupy_cuda=(12, 9)),
    "CPU": Installation(
        NO_CUDA, views=frozenset(v for v in VIEWS if "Cuda" not in v), gxx=(12, 2, 0)
    ),
    "old Kokkos on the CPU": Installation(
        read_config(header(40500, "CXX17", "OPENMP")), views=VIEWS, nvcc=(13, 0)
    ),
    "nothing known of compilers": replace(SOUND, gxx=(), nvcc=()),
}


@pytest.mark.parametrize("name", WRONG)
def test_problem_and_its_fix_are_named(name: str) -> None:
    installation, what, fix = WRONG[name]
    [problem] = problems(installation)
    assert re.search(what, problem.what), problem.what
    assert re.search(fix, problem.fix), problem.fix
    assert problem.fix.endswith(".")


@pytest.mark.parametrize("name", RIGHT)
def test_working_installation_has_no_problem(name: str) -> None:
    assert list(problems(RIGHT[name])) == []


def line_of(problems: Any) -> int:
    """Return the line that yields the first problem."""
    next(problems)
    inner = problems.gi_yieldfrom or problems
    return int(inner.gi_frame.f_lineno)


def test_every_problem_has_a_case() -> None:
    lines = {line_of(problems(case[0])) for case in WRONG.values()}
    assert len(lines) == inspect.getsource(diagnosis).count("yield Problem(")


def test_all_problems_are_reported() -> None:
    installation = replace(SOUND, config=MDSPAN_20, missing=("g++",), cupy="", cupy_cuda=())
    assert len(list(problems(installation))) == 3


def test_kernels_need_no_other_views() -> None:
    kinds = {
        kind.element
        for module in workloads.MODULES
        for definition in read_module(module).values()
        for kind in definition.parameters.values()
        if isinstance(kind, View)
    }
    assert kinds <= set(ELEMENTS)


def test_configuration_header_is_read() -> None:
    more = "#define KOKKOS_ARCH_HOPPER\n#define KOKKOS_ARCH_HOPPER90\n #define KOKKOS_ENABLE_SERIAL"
    read = read_config(header(40700, "CXX20", "CUDA", more=more))
    assert read.version == (4, 7, 0)
    assert read.standard == 20
    assert read.spaces == ("CUDA", "SERIAL")
    assert read.architectures == ("HOPPER90",)
    assert {"CUDA_LAMBDA", "DEPRECATED_CODE_4"} <= read.options
    assert "HIP" not in read.options
    assert read_config("") == Config((0, 0, 0), 0, (), (), frozenset())


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("12.2.0\n", (12, 2, 0)),
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", (12, 2, 0)),
        ("nvcc: NVIDIA (R) Cuda\nCuda compilation tools, release 13.0, V13.0.48", (13, 0)),
        ("no version", ()),
        ("", ()),
    ],
)
def test_version_is_found_in_output(text: str, version: tuple[int, ...]) -> None:
    assert version_in(text) == version
