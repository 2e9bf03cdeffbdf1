"""Kernel launches in a study, by engine, and their share of the memory bandwidth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from jetpy.study.cases import JETPY, application_of, device_of, platform_of
from jetpy.study.efficiency import Cell
from jetpy.study.files import Row, problem_in
from jetpy.study.triad import Roofline


class Engine(NamedTuple):
    """A back end with a number of threads, on a machine."""

    machine: str
    backend: str
    threads: int

    def __str__(self) -> str:
        name = f"{self.machine} {self.backend}"
        return name if device_of(self.backend, 1) == "gpu" else f"{name}/{self.threads}"


class Launches(NamedTuple):
    """All launches of a kernel by an engine; `bytes` is the minimum that they move."""

    kernel: str
    calls: int
    seconds: float
    bytes: int


def launches_by_engine(kernels: Iterable[Row]) -> dict[Engine, list[Launches]]:
    """Return all launches by engine and kernel, longest total time first."""
    by_engine: dict[Engine, dict[str, Launches]] = {}
    for row in kernels:
        if row["share"]:
            own = by_engine.setdefault(_engine(row), {})
            so_far = own.get(row["kernel"], Launches(row["kernel"], 0, 0.0, 0))
            own[row["kernel"]] = Launches(
                row["kernel"],
                so_far.calls + int(row["calls"]),
                so_far.seconds + float(row["seconds"]),
                so_far.bytes + int(row["bytes"]),
            )
    return {
        engine: sorted(own.values(), key=lambda launches: -launches.seconds)
        for engine, own in by_engine.items()
    }


def bandwidth_shares(
    kernels: Iterable[Row], roofline: Callable[[Engine], Roofline]
) -> dict[tuple[str, Cell], float]:
    """Return the share of the bandwidth that all launches of each run use, at most 1.

    Parameters
    ----------
    kernels : iterable of rows
    roofline : callable
        Returns the roofline of an engine.

    Returns
    -------
    dict
        Keys are application and cell; runs whose kernels were not timed have no entry.
    """
    moved: dict[tuple[str, Cell], list[tuple[float, float]]] = {}
    for row in kernels:
        if row["share"]:
            engine = _engine(row)
            application = application_of(JETPY, row["preset"], engine.backend)
            platform = platform_of(engine.machine, engine.backend, engine.threads)
            possible = float(row["seconds"]) * roofline(engine).bandwidth
            where = application, Cell(problem_in(row), platform)
            moved.setdefault(where, []).append((float(row["bytes"]), possible))
    return {
        where: min(1.0, sum(b for b, _ in own) / sum(possible for _, possible in own))
        for where, own in moved.items()
    }


def _engine(row: Row) -> Engine:
    return Engine(row["machine"], row["backend"], int(row["threads"]))
