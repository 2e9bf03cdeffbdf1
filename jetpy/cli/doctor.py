"""``jetpy doctor``: what works on this machine, and what to do about the rest."""

from __future__ import annotations

import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetpy.bars import progress_bars
from jetpy.cli.command import Command
from jetpy.errors import BackendError
from jetpy.guides import guide
from jetpy.names import DISTRIBUTION

if TYPE_CHECKING:
    from jetpy.backends.cuda.installation import Installation as Cuda
    from jetpy.backends.diagnosis import Installation
    from jetpy.backends.selfcheck import Outcome

PACKAGES = (DISTRIBUTION, "numba", "numpy", "scipy", "pymetis", "pykokkos", "cupy")


@click.command("doctor", cls=Command)
def doctor_command() -> None:
    """Say which back ends work here, and what is wrong with the others.

    Each back end runs kernels whose results are known; the first time, they are compiled for up
    to a minute. Lists versions and the machine too. Fails where no back end works, or where one
    computes something wrong.
    """
    from jetpy.backends import AUTO, BACKENDS
    from jetpy.backends.cuda import diagnosis as of_cuda
    from jetpy.backends.cuda.installation import examine_apart
    from jetpy.backends.diagnosis import problems
    from jetpy.backends.installation import examine
    from jetpy.backends.selfcheck import check_apart
    from jetpy.cli.tables import columns, facts, stdout_console

    cache = _cache()  # before the self-checks mend what is damaged
    outcomes: dict[str, Outcome] = {}
    with progress_bars() as bars:
        for name in BACKENDS:
            bars.busy(f"Checking {name}")
            outcomes[name] = check_apart(name)
        bars.busy("Looking for CUDA")
        cuda = examine_apart()
        bars.busy("Looking for Kokkos")
        kokkos = examine()
    rows = [(name, *_verdict(outcome)) for name, outcome in outcomes.items()]
    usable = [name for name, outcome in outcomes.items() if not outcome.missing]
    chosen = next((name for name in AUTO if name in usable), "nothing")
    console = stdout_console()
    console.print(columns(("back end", "", "how, or why not"), rows, left=3))
    found = [("auto takes", chosen), *_machine(), *cache, ("CUDA", _cuda(cuda))]
    console.print(facts([*found, *_kokkos(kokkos), *_versions()]))
    wrong = problems(kokkos) if kokkos is not None else []
    for problem in [*(of_cuda.problems(cuda) if cuda.driver else []), *wrong]:
        console.print(f"\nWRONG: {problem.what}\nMEND:  {problem.mend}")
    if wrong or kokkos is None:
        console.print(f"\nHow to get the kokkos back ends: {guide('kokkos')}")
    broken = [name for name, outcome in outcomes.items() if outcome.wrong]
    if broken:
        raise BackendError(f"do not use {' and '.join(broken)}: the self-check went wrong")
    if not usable:
        raise BackendError("no back end works")


def _verdict(outcome: Outcome) -> tuple[str, str]:
    """Return whether a back end works, and how it runs or why it does not."""
    from jetpy.summary import count

    if outcome.missing:
        return "-", outcome.missing
    if outcome.wrong:
        return "WRONG", "\n".join(outcome.wrong)
    return "works", count(outcome.threads, "thread")


def _cuda(found: Cuda) -> str:
    """Describe an installation of CUDA."""
    from jetpy.backends.diagnosis import version_text

    versions = {"driver": found.driver, "CuPy's": found.cupy_cuda, "NVRTC": found.nvrtc}
    words = [f"{who} {version_text(v)}" if v else f"no {who}" for who, v in versions.items()]
    if found.architectures:
        words[-1] += f" (sm_{found.architectures[0]} to sm_{found.architectures[-1]})"
    return ", ".join(words)


def _kokkos(found: Installation | None) -> list[tuple[str, str]]:
    """Describe an installation of Kokkos, if there is one."""
    from jetpy.backends.diagnosis import version_text

    if found is None:
        return [("Kokkos", "not installed for this Python")]
    words = "headers not found"
    if found.config is not None:
        config = found.config
        words = ", ".join(
            [
                version_text(config.version),
                f"C++{config.standard}",
                " ".join((*config.spaces, *config.architectures)),
                "views on mdspan" if config.views_are_mdspans else "views without mdspan",
                "shared libraries" if found.shared else "no shared libraries",
            ]
        )
    compilers = [
        f"{name} {version_text(number)}" if number else f"no {name}"
        for name, number in (("g++", found.gxx), ("nvcc", found.nvcc))
    ]
    return [("Kokkos", words), ("compilers", ", ".join(compilers))]


def _versions() -> list[tuple[str, str]]:
    rows = [("python", platform.python_version())]
    for package in PACKAGES:
        try:
            [distribution, *_] = packages_distributions().get(package, [package])
            rows.append((package, version(distribution)))
        except PackageNotFoundError:
            rows.append((package, "not installed"))
    return rows


def _machine() -> list[tuple[str, str]]:
    from jetpy.backends.threads import available_threads

    return [
        ("system", f"{platform.system()} {platform.machine()}"),
        ("threads available", f"{available_threads()}"),
        ("GPU", _gpus()),
    ]


def _gpus() -> str:
    """Name the NVIDIA GPUs that the driver reports."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return "no NVIDIA driver"
    query = [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    return (answer.stdout if answer.returncode == 0 else answer.stdout + answer.stderr).strip()


def _cache() -> list[tuple[str, str]]:
    """Say where compiled kernels are kept, and whether they can be used."""
    from jetpy.cache import MOVE, cache_dirs, check_trusted, is_writable

    first, last = cache_dirs()[0], cache_dirs()[-1]
    try:
        for folder in dict.fromkeys([first, last]):
            check_trusted(folder, Path())
    except BackendError as error:
        return [("cache folder", f"{first}: NOT USED, {error}")]
    rows = [("cache folder", f"{first} ({_contents(first)})")]
    if first != last:
        rows[0] = ("cache folder", f"{first}, read-only ({_contents(first)})")
        rows.append(("for new kernels", f"{last} ({_contents(last)})"))
    if not is_writable(last):
        rows.append(("NOT WRITABLE", f"{last}: each run compiles new kernels again; {MOVE}"))
    return rows


def _contents(folder: Path) -> str:
    """Count the kernels in a cache folder, and those that do not count."""
    from jetpy.backends import cuda
    from jetpy.backends.kokkos.build import BINARY, is_built
    from jetpy.backends.numba_engine import SUFFIX
    from jetpy.cache import intact_content
    from jetpy.summary import count

    files = [*folder.glob(f"numba/*/*{SUFFIX}"), *folder.glob(f"cuda/*/*{cuda.SUFFIX}")]
    intact = [intact_content(path) is not None for path in files]
    intact += [is_built(path.parent) for path in folder.glob(f"kokkos/*/{BINARY}")]
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    words = f"{count(len(intact), 'kernel')}, {size / 1e6:.1f} MB"
    damaged = intact.count(False)
    return f"{words}; {damaged} DAMAGED, to be compiled again when needed" if damaged else words
