"""Report of the back ends that work on this machine, the problems of others, and their fixes."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from jetpy.choices import DISTRIBUTION
from jetpy.device import selfcheck
from jetpy.device.backends import AUTO, BACKENDS
from jetpy.device.selfcheck import Outcome
from jetpy.engines import cuda, installation
from jetpy.engines.cache import cache_dirs, check_trusted, intact_content, is_writable
from jetpy.engines.cpu import SUFFIX
from jetpy.engines.cpu.library import level_in_use
from jetpy.engines.cuda import diagnosis as of_cuda
from jetpy.engines.cuda import installation as cuda_installation
from jetpy.engines.cuda.installation import Installation as Cuda
from jetpy.engines.diagnosis import Installation, Problem, problems, version_text
from jetpy.engines.kokkos.build import BINARY, is_built
from jetpy.engines.threads import available_threads
from jetpy.errors import BackendError

PACKAGES = (DISTRIBUTION, "llvmlite", "numpy", "scipy", "pymetis", "pykokkos", "cupy")


@dataclass(frozen=True)
class CacheFolder:
    """A folder of compiled kernels.

    Attributes
    ----------
    path : str
    files : int
        Number of kernel files, damaged ones included.
    damaged : int
    bytes : int
        Size of all files.
    """

    path: str
    files: int
    damaged: int
    bytes: int


@dataclass(frozen=True)
class Cache:
    """The cache folders for compiled kernels.

    Attributes
    ----------
    folders : sequence of CacheFolder
        In search order; new kernels are written to the last.
    writable : bool
        Whether the last folder is writable.
    refused : str
        Reason why jetpy does not use the folders; empty if it does.
    """

    folders: Sequence[CacheFolder]
    writable: bool = True
    refused: str = ""


@dataclass(frozen=True)
class DoctorReport:
    """The results of a check of this machine.

    Attributes
    ----------
    outcomes : dict
        Outcome of the self-check of each back end, by name.
    cuda : jetpy.engines.cuda.installation.Installation
    kokkos : jetpy.engines.diagnosis.Installation or None
        None if PyKokkos is not installed.
    library : str or None
        Processor level of the compiled kernels that came with jetpy, such as x86-64-v3; None if
        none are used.
    cache : Cache
        State before the self-checks.
    processor : str
    threads : int
        Number of processors that this process may use.
    gpus : sequence of str
        Name, memory and driver of each GPU as reported by nvidia-smi, or its error.
    packages : dict
        Version of each package; empty if it is not installed.
    """

    outcomes: Mapping[str, Outcome]
    cuda: Cuda
    kokkos: Installation | None
    library: str | None
    cache: Cache
    processor: str
    threads: int
    gpus: Sequence[str]
    packages: Mapping[str, str]

    @property
    def auto(self) -> str | None:
        """The back end that ``auto`` uses for large graphs; None if none works."""
        return next((name for name in AUTO if not self.outcomes[name].missing), None)

    @property
    def none_works(self) -> bool:
        """Whether every back end is missing."""
        return all(outcome.missing for outcome in self.outcomes.values())

    @property
    def wrong(self) -> list[str]:
        """Back ends that compute wrong results."""
        return [name for name, outcome in self.outcomes.items() if outcome.wrong]

    @property
    def problems(self) -> list[Problem]:
        """Known problems of the installations, with fixes."""
        known = of_cuda.problems(self.cuda) if self.cuda.driver else []
        return [*known, *(problems(self.kokkos) if self.kokkos is not None else [])]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as a dict for JSON, with the fields of ``jetpy doctor --json``."""
        return {
            "version": self.packages[DISTRIBUTION],
            "auto": self.auto,
            "back_ends": {
                name: {"works": not (outcome.missing or outcome.wrong), **asdict(outcome)}
                for name, outcome in self.outcomes.items()
            },
            "system": f"{platform.system()} {platform.machine()}",
            "processor": self.processor,
            "threads": self.threads,
            "gpus": list(self.gpus),
            "cache": asdict(self.cache),
            "cuda": {
                "driver": version_text(self.cuda.driver),
                "cupy": self.cuda.cupy,
                "nvrtc": version_text(self.cuda.nvrtc),
                "architectures": list(self.cuda.architectures),
            },
            "kokkos": None if self.kokkos is None else _kokkos(self.kokkos),
            "packages": dict(self.packages),
            "problems": [asdict(problem) for problem in self.problems],
        }


def run_doctor(tell: Callable[[str], None] = lambda doing: None) -> DoctorReport:
    """Run the self-check of every back end, and examine the installed packages.

    Parameters
    ----------
    tell : callable, optional
        Called with a description of each step before it.
    """
    cache = _cache()  # before the self-checks fix damaged files
    tell("Checking the back ends, in a process for each")
    with ThreadPoolExecutor() as pool:
        checks = {name: pool.submit(selfcheck.check_apart, name) for name in BACKENDS}
        cuda_found = pool.submit(cuda_installation.examine_apart)
        kokkos_found = pool.submit(installation.examine)
        gpus = pool.submit(gpu_descriptions)
        return DoctorReport(
            outcomes={name: check.result() for name, check in checks.items()},
            cuda=cuda_found.result(),
            kokkos=kokkos_found.result(),
            library=level_in_use(),
            cache=cache,
            processor=processor_name(),
            threads=available_threads(),
            gpus=gpus.result(),
            packages=versions(),
        )


def _kokkos(found: Installation) -> dict[str, Any]:
    config = found.config
    return {
        "version": "" if config is None else version_text(config.version),
        "standard": None if config is None else config.standard,
        "spaces": [] if config is None else list(config.spaces),
        "architectures": [] if config is None else list(config.architectures),
        "gxx": version_text(found.gxx),
        "nvcc": version_text(found.nvcc),
    }


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python and of packages, by name; empty if one is not installed."""
    by_name = {"python": platform.python_version()}
    distributions = packages_distributions()
    for package in packages:
        try:
            by_name[package] = version(distributions.get(package, [package])[0])
        except PackageNotFoundError:
            by_name[package] = ""
    return by_name


def processor_name() -> str:
    """Return the name of the processor."""
    with suppress(OSError):
        match = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if match:
            return match[1]
    return platform.processor()


def gpu_descriptions() -> list[str]:
    """Return name, memory and driver of each NVIDIA GPU; none without a driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    printed = answer.stdout if answer.returncode == 0 else answer.stdout + answer.stderr
    return printed.strip().splitlines()


def _cache() -> Cache:
    folders = cache_dirs()
    try:
        for folder in folders:
            check_trusted(folder, Path())
    except BackendError as error:
        return Cache([CacheFolder(str(folders[0]), 0, 0, 0)], refused=str(error))
    return Cache([_folder(folder) for folder in folders], is_writable(folders[-1]))


def _folder(folder: Path) -> CacheFolder:
    """Count the kernel files in a cache folder, and the damaged ones."""
    files = [*folder.glob(f"cpu/*{SUFFIX}"), *folder.glob(f"cuda/*/*{cuda.SUFFIX}")]
    intact = [intact_content(path) is not None for path in files]
    intact += [is_built(path.parent) for path in folder.glob(f"kokkos/*/{BINARY}")]
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return CacheFolder(str(folder), len(intact), intact.count(False), size)
