"""Wall and processor seconds of new processes that start jetpy.

The kernels are in the cache. With --cold, each process has an empty cache.

Each round measures every case once, so that other load affects all cases equally. The program
prints medians, and the difference between each case and a process that imports NumPy and
scipy.sparse.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import jetpy
from bench.child import ROOT
from bench.harness import Option, parser
from bench.tables import show

BASE = "import numpy, scipy.sparse"
"""The case that the other cases are compared with."""
SHAPE = 25, 40
"""Rows and columns of the grid that the cases partition."""
K = 4


class Seconds(NamedTuple):
    """Wall seconds of a process, and processor seconds of all its threads."""

    wall: float
    processor: float


def cases(backend: str, graph: Path) -> dict[str, list[str]]:
    """Return Python's arguments for each case. `graph` is the file of the grid."""
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
    """Return Python's arguments for each case that is measured with an empty cache."""
    compile_narrow = (
        "from jetpy.device.backends import get_backend, kernel_modules; "
        f"get_backend({backend!r}).compile(kernel_modules())"
    )
    return {
        "jetpy.partition": cases(backend, graph)["jetpy.partition"],
        "compile, narrow kernels": ["-c", compile_narrow],
        "jetpy compile": ["-m", "jetpy", "compile", "--backend", backend],
    }


def measure_cold(arguments: Sequence[str]) -> Seconds:
    """Run Python with an empty cache of kernels and return its times."""
    with tempfile.TemporaryDirectory() as cache:
        return measure(arguments, {"JETPY_CACHE_DIR": cache})


def measure(
    arguments: Sequence[str], environment: Mapping[str, str] = MappingProxyType({})
) -> Seconds:
    """Run Python in the repository root with additional environment variables. Return its times.

    Raises
    ------
    subprocess.CalledProcessError
        If the process fails. Its error output is not captured.
    """
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, child.args)
    return Seconds(wall, usage.ru_utime + usage.ru_stime)


def medians(runs: Sequence[Seconds]) -> Seconds:
    """Return the median times of several processes."""
    return Seconds(*(statistics.median(times) for times in zip(*runs, strict=True)))


OPTIONS = {
    "backend": "auto",
    "rounds": 9,
    "cold": Option(False, "give each process an empty cache of kernels"),
}


def main() -> None:
    """Measure all cases and print the table."""
    options = parser("start", __doc__, OPTIONS).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder, "grid.graph")
        jetpy.write_graph(graph, jetpy.generators.grid(*SHAPE))
        todo = cases(options.backend, graph)
        for arguments in todo.values():  # warm-up: compiles kernels and reads files
            measure(arguments)
        if options.cold:
            todo = {BASE: todo[BASE], **cold_cases(options.backend, graph)}
        run = measure_cold if options.cold else measure
        rounds = [
            {name: run(arguments) for name, arguments in todo.items()}
            for _ in range(options.rounds)
        ]
    seconds = {name: medians([times[name] for times in rounds]) for name in todo}
    base = seconds[BASE]
    rows = [
        [
            name,
            f"{wall:.3f}",
            f"{wall - base.wall:.3f}",
            f"{processor:.3f}",
            f"{processor - base.processor:.3f}",
        ]
        for name, (wall, processor) in seconds.items()
    ]
    title = (
        f"{options.backend}, medians of {options.rounds} processes: seconds, and difference from "
        f"`{BASE}`"
    )
    headers = ["process", "wall", "difference", "processor", "difference"]
    show(title, headers, rows, markdown=options.markdown)


if __name__ == "__main__":
    main()
