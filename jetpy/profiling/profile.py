"""The profile of a run: time by stage and level, and by kernel, and a trace."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from typing import Any, NamedTuple

from jetpy.choices import DISTRIBUTION
from jetpy.io.compression import open_output
from jetpy.lazy import cached_property

Owner = tuple[str, int | None]
"""A stage and a level; None if the work belongs to no level."""


class Kind(Enum):
    """Kind of an event; the values are the categories of a trace."""

    STEP = "step"
    FOR = "for"
    REDUCE = "reduce"
    SCAN = "scan"
    UPLOAD = "upload"
    DOWNLOAD = "download"
    PULL = "pull"
    WAIT = "wait"
    SORT = "sort"


LAUNCHES = {Kind.FOR, Kind.REDUCE, Kind.SCAN}
SYNCHRONISATIONS = {Kind.REDUCE, Kind.SCAN, Kind.DOWNLOAD, Kind.WAIT}
"""Kinds of events in which the host waits for the device."""
DOWNLOADS = {Kind.DOWNLOAD, Kind.PULL}
STEP_HEADERS = (
    *("stage", "level", "seconds", "in kernels", "launches"),
    *("host waits", "MB to device", "MB from device"),
)
"""Columns of `step_row`."""
KERNEL_HEADERS = "kernel", "back end", "calls", "seconds", "share", "µs per call"
"""Columns of `kernel_rows`."""


class Event(NamedTuple):
    """A timed event: a kernel, a copy, a wait, or a step with everything in it.

    `start` and `duration` are in nanoseconds; `start` counts from the start of the profile. `size`
    is the number of indices of a launch or keys of a sort, or the bytes of a copy; otherwise 0.
    `backend` is the name of the back end. `traffic` is the minimum number of bytes that a launch
    moves, by the model of `jetpy.profiling.traffic`; otherwise 0.
    """

    kind: Kind
    name: str
    start: int
    duration: int
    owner: Owner
    size: int
    backend: str
    traffic: int = 0


@dataclass(frozen=True)
class Step:
    """The work of a stage on a level.

    Attributes
    ----------
    stage : {'coarsen', 'branch', 'initial', 'refine', 'order'}
    level : int or None
        0 is the input graph. None means work that belongs to no level: the transfers of the graph
        to the device and of the parts to the host.
    seconds : float
        Wall seconds.
    kernel_seconds : float
        Wall seconds in kernels.
    launches : int
        Number of kernel launches.
    synchronisations : int
        Number of times that the host waited for the device: for a sum, a total, a copy, or the end.
    uploaded, downloaded : int
        Bytes copied to the device, and from it.
    """

    stage: str
    level: int | None
    seconds: float
    kernel_seconds: float
    launches: int
    synchronisations: int
    uploaded: int
    downloaded: int


@dataclass(frozen=True)
class Kernel:
    """All launches of one workunit on one back end.

    `bytes` is the minimum that they move, by the model of ``jetpy.profiling.traffic``.
    """

    name: str
    backend: str
    calls: int
    seconds: float
    bytes: int


@dataclass(frozen=True, eq=False)
class Profile:
    """All timed events of a run.

    Attributes
    ----------
    title : str
    events : sequence of `Event`
        In the order of their ends.
    seconds : mapping from stage and level to wall seconds
    """

    title: str
    events: Sequence[Event]
    seconds: Mapping[Owner, float]

    @cached_property
    def steps(self) -> list[Step]:
        """Work by stage and level, in order of its start.

        The work of a V-cycle on coarser levels counts as refinement of the V-cycle's level. The
        coarsening of further hierarchies counts as `branch` on the level at which they separate.
        """
        events: dict[Owner, list[Event]] = {owner: [] for owner in self.seconds}
        for event in self.events:
            events[event.owner].append(event)
        return [_step(owner, self.seconds[owner], own) for owner, own in events.items()]

    @cached_property
    def kernels(self) -> list[Kernel]:
        """Launches grouped by workunit and back end, longest total time first."""
        launches: dict[tuple[str, str], list[Event]] = {}
        for event in self.events:
            if event.kind in LAUNCHES:
                launches.setdefault((event.name, event.backend), []).append(event)
        kernels = [
            Kernel(
                *key,
                len(own),
                sum(event.duration for event in own) / 1e9,
                sum(event.traffic for event in own),
            )
            for key, own in launches.items()
        ]
        return sorted(kernels, key=lambda kernel: -kernel.seconds)

    def trace(self) -> dict[str, Any]:
        """Return the events as Chrome trace events, ready for JSON."""
        named = {"ph": "M", "pid": 1, "tid": 1}
        return {
            "displayTimeUnit": "ms",
            "otherData": {"version": f"jetpy {version(DISTRIBUTION)}", "run": self.title},
            "traceEvents": [
                {**named, "name": "process_name", "args": {"name": f"jetpy: {self.title}"}},
                {**named, "name": "thread_name", "args": {"name": "host"}},
                *map(_traced, sorted(self.events, key=lambda e: (e.start, -e.duration))),
            ],
        }

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the trace for Perfetto (https://ui.perfetto.dev) or chrome://tracing.

        The suffixes .gz, .bz2, .xz and .zst select a compression; Perfetto reads .gz, too.

        Raises
        ------
        JetpyError
            If the file cannot be written.
        """
        with open_output(path) as stream:
            stream.write(json.dumps(self.trace(), separators=(",", ":")).encode())

    def __repr__(self) -> str:
        return f"Profile({self.title}: {sum(step.launches for step in self.steps)} launches)"


def total_of(steps: Sequence[Step]) -> Step:
    """Return the work of all steps together."""
    return Step(
        "total",
        None,
        sum(step.seconds for step in steps),
        sum(step.kernel_seconds for step in steps),
        sum(step.launches for step in steps),
        sum(step.synchronisations for step in steps),
        sum(step.uploaded for step in steps),
        sum(step.downloaded for step in steps),
    )


def step_row(step: Step) -> tuple[str, ...]:
    """Describe the work of a stage on a level; `STEP_HEADERS` names the columns."""
    return (
        step.stage,
        "" if step.level is None else f"{step.level}",
        f"{step.seconds:.4f}",
        f"{step.kernel_seconds:.4f}",
        f"{step.launches:,}",
        f"{step.synchronisations:,}",
        f"{step.uploaded / 1e6:,.3f}",
        f"{step.downloaded / 1e6:,.3f}",
    )


def kernel_rows(profile: Profile) -> list[tuple[str, ...]]:
    """Describe kernels, longest total time first; `KERNEL_HEADERS` names the columns."""
    total = sum(kernel.seconds for kernel in profile.kernels)
    return [
        (
            kernel.name,
            kernel.backend,
            f"{kernel.calls:,}",
            f"{kernel.seconds:.4f}",
            f"{100 * kernel.seconds / total:.1f} %",
            f"{1e6 * kernel.seconds / kernel.calls:,.1f}",
        )
        for kernel in profile.kernels
    ]


def _step(owner: Owner, seconds: float, events: Sequence[Event]) -> Step:
    return Step(
        *owner,
        seconds,
        sum(e.duration for e in events if e.kind in LAUNCHES) / 1e9,
        sum(e.kind in LAUNCHES for e in events),
        sum(e.kind in SYNCHRONISATIONS for e in events),
        sum(e.size for e in events if e.kind is Kind.UPLOAD),
        sum(e.size for e in events if e.kind in DOWNLOADS),
    )


def _traced(event: Event) -> dict[str, Any]:
    """Return a complete trace event; its times are in microseconds."""
    stage, level = event.owner
    arguments: dict[str, Any] = {"stage": stage, "level": level}
    if event.kind is not Kind.STEP:
        arguments["backend"] = event.backend
    if event.kind is Kind.UPLOAD or event.kind in DOWNLOADS:
        arguments["bytes"] = event.size
    elif event.kind not in (Kind.STEP, Kind.WAIT):
        arguments["n"] = event.size
    return {
        "ph": "X",
        "pid": 1,
        "tid": 1,
        "name": event.name,
        "cat": event.kind.value,
        "ts": event.start / 1000,
        "dur": event.duration / 1000,
        "args": arguments,
    }
