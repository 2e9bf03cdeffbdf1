"""Where an experiment runs: graphs, back end, threads, seeds and peers; and its runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.child import Unavailable
from bench.instances import Instance
from bench.tables import note
from bench.tools import TOOLS
from jetpy import BackendError, Graph
from jetpy.choices import Backend
from jetpy.study.tools import IMBALANCE, Job, Seconds
from jetpy.study.verdict import judge


class Run(NamedTuple):
    """Cut of a partition, whether it is balanced, and the seconds: total, and jetpy's by stage."""

    cut: int
    balanced: bool
    seconds: Seconds


@dataclass(frozen=True)
class Setting:
    """What the user has chosen for all experiments of a command.

    Attributes
    ----------
    instances : list of Instance
        The graphs at hand. With `quick`, these are small generated ones.
    quick : bool
        Whether to end within a minute on two cores: the fewest graphs and runs that give a value
        for each cell.
    backend : str
        jetpy's back end.
    threads : int
        CPU threads of jetpy and of the peers.
    seeds : int
        Number of runs of each case, with seeds from 0 on.
    """

    instances: list[Instance]
    quick: bool
    backend: Backend
    threads: int
    seeds: int
    _graphs: dict[str, Graph] = field(default_factory=dict)
    _runs: dict[tuple[object, ...], list[Run]] = field(default_factory=dict)

    @property
    def jetpy(self) -> str:
        """Name of jetpy with the chosen back end among the tools."""
        return f"jetpy/{self.backend}"

    def graph(self, instance: Instance) -> Graph:
        """Return a graph; it is read or generated once."""
        if instance.name not in self._graphs:
            self._graphs[instance.name] = instance.load()
        return self._graphs[instance.name]

    def runs(
        self,
        tool: str,
        instance: Instance,
        k: int,
        *,
        preset: str = "default",
        imbalance: float = IMBALANCE,
        threads: int | None = None,
    ) -> list[Run]:
        """Return the runs of a tool on a graph, one for each seed; experiments share them.

        Raises
        ------
        Unavailable
            If the tool is not installed.
        """
        count = threads or self.threads
        key = (tool, instance.name, k, preset, imbalance, count)
        if key not in self._runs:
            note(f"{tool} {preset} {instance.name} k={k}")
            self._runs[key] = list(self._measured(tool, instance, k, preset, imbalance, count))
        return self._runs[key]

    def _measured(
        self, tool: str, instance: Instance, k: int, preset: str, imbalance: float, threads: int
    ) -> Iterator[Run]:
        with tempfile.TemporaryDirectory() as folder:
            job = Job(self.graph(instance), Path(folder), preset, threads, imbalance)
            try:
                solve = TOOLS[tool].prepare(job)
            except (ImportError, BackendError) as error:
                raise Unavailable(str(error)) from error
            for seed in range(self.seeds):
                parts, seconds = solve(k, seed)
                verdict = judge(job, parts, k)
                yield Run(verdict.cut, verdict.feasible, seconds)


def median_cut(runs: Iterable[Run]) -> float:
    """Return the median cut of runs."""
    return median(run.cut for run in runs)


def median_seconds(runs: Iterable[Run], stage: str = "total") -> float:
    """Return the median seconds of runs, in total or of one of jetpy's stages."""
    return median(run.seconds[stage] for run in runs)


def or_missing(measure: Callable[[], float], missing: str) -> float | str:
    """Return a measured number, or the given reason if a tool that it needs is not installed."""
    try:
        return measure()
    except Unavailable:
        return missing
