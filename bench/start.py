"""Start of a process: wall and processor seconds of fresh processes.

Kernels are in the cache; with `--cold` each process has an empty one.

Each round measures every case once, so that other load meets all cases alike. Prints the medians,
and what each case takes more than a process that imports NumPy and scipy.sparse.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jetpy

BASE = "import numpy, scipy.sparse"
"""The case that others are compared with."""
NOTHING: Mapping[str, str] = {}
SHAPE = 25, 40
"""Rows and columns of the grid that is partitioned."""
K = 4


class Seconds(NamedTuple):
    """What a process took: wall seconds, and processor seconds of all its threads."""

    wall: float
    processor: float


def cases(backend: str, graph: Path) -> dict[str, list[str]]:
    """Return the arguments of Python of each case, given the file of the grid."""
    call = (
        "import jetpy\n"
        f"jetpy.partition(jetpy.generators.grid{SHAPE}, {K}, backend={backend!r}, threads=1)"
    )
    command = ["partition", str(graph), "-k", f"{K}", "--backend", backend, "--threads", "1"]
    return {
        "python": ["-c", "pass"],
        BASE: ["-c", BASE],
        "import jetpy": ["-c", "import jetpy"],
        "jetpy.partition": ["-c", call],
        "jetpy partition": ["-m", "jetpy", *command],
        "jetpy --version": ["-m", "jetpy", "--version"],
        "jetpy --help": ["-m", "jetpy", "--help"],
    }


def cold_cases(backend: str, graph: Path) -> dict[str, list[str]]:
    """Return the arguments of Python of each case that is measured with an empty cache."""
    narrow = (
        "from jetpy.device.backends import get_backend, kernel_modules; "
        f"get_backend({backend!r}).compile(kernel_modules())"
    )
    return {
        "jetpy.partition": cases(backend, graph)["jetpy.partition"],
        "compile, narrow kernels": ["-c", narrow],
        "jetpy compile": ["-m", "jetpy", "compile", "--backend", backend],
    }


def measure_cold(arguments: Sequence[str]) -> Seconds:
    """Run Python as `measure` does, with an empty cache of kernels."""
    with tempfile.TemporaryDirectory() as cache:
        return measure(arguments, {"JETPY_CACHE_DIR": cache})


def measure(arguments: Sequence[str], environment: Mapping[str, str] = NOTHING) -> Seconds:
    """Run Python with some arguments, and more variables of the environment; return what it took.

    Raises
    ------
    subprocess.CalledProcessError
        When the process fails; what it wrote on standard error has been shown.
    """
    started = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, child.args)
    return Seconds(wall, used.ru_utime + used.ru_stime)


def medians(found: Sequence[Seconds]) -> Seconds:
    """Return the medians of what several processes took."""
    return Seconds(*(statistics.median(numbers) for numbers in zip(*found, strict=True)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.start", description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cold", action="store_true", help="with an empty cache of kernels")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder, "grid.graph")
        jetpy.write_graph(graph, jetpy.generators.grid(*SHAPE))
        asked = cases(given.backend, graph)
        for arguments in asked.values():  # compiles kernels, and reads files for the first time
            measure(arguments)
        if given.cold:
            asked = {BASE: asked[BASE], **cold_cases(given.backend, graph)}
        run = measure_cold if given.cold else measure
        rounds = [
            {name: run(arguments) for name, arguments in asked.items()} for _ in range(given.rounds)
        ]
    seconds = {name: medians([found[name] for found in rounds]) for name in asked}
    print(f"{given.backend}, medians of {given.rounds} processes, seconds; more: than `{BASE}`")
    print(f"{'':28}{'wall':>8}{'more':>8}{'processor':>11}{'more':>8}")
    base = seconds[BASE]
    for name, (wall, processor) in seconds.items():
        more = f"{wall - base.wall:8.3f}{processor:11.3f}{processor - base.processor:8.3f}"
        print(f"{name:28}{wall:8.3f}{more}")


if __name__ == "__main__":
    main()
