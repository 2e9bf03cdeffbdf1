"""Where an experiment runs: graphs, back end, threads, seeds and peers; and its runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from bench.child import Unavailable
from bench.instances import Instance
from bench.tables import note
from bench.tools import TOOLS
from jetpy import BackendError, Graph, Level, Partition, partition
from jetpy.choices import Backend
from jetpy.study.tools import IMBALANCE, Job, Seconds
from jetpy.study.verdict import judge

JETPY = "jetpy/"
"""Prefix of jetpy's back ends among the tools."""
T = TypeVar("T")
NO_CHANGES: Mapping[str, Any] = MappingProxyType({})


class Run(NamedTuple):
    """A partition of a tool: its cut, whether it is balanced, and the seconds in total.

    Runs of jetpy also have the seconds of each stage, and the refined levels, finest first.
    """

    cut: int
    balanced: bool
    seconds: Seconds
    levels: Sequence[Level] = ()


@dataclass(frozen=True)
class Setting:
    """What the user has chosen for all experiments of a command.

    Attributes
    ----------
    instances : list of Instance
        The selected graphs. With `quick`, these are small generated ones.
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
    _kept: dict[tuple[object, ...], Any] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    @property
    def jetpy(self) -> str:
        """Name of jetpy with the chosen back end among the tools."""
        return JETPY + self.backend

    def graph(self, instance: Instance) -> Graph:
        """Return a graph; it is read or generated once."""
        if instance.name not in self._graphs:
            self._graphs[instance.name] = instance.load()
        return self._graphs[instance.name]

    def keep(self, key: tuple[object, ...], measure: Callable[[], T]) -> T:
        """Return what `measure` returned at the first call with this key, and print new keys."""
        if key not in self._kept:
            note(" ".join(map(str, key)))
            self._kept[key] = measure()
        return cast("T", self._kept[key])

    def runs(
        self,
        tool: str,
        instance: Instance,
        k: int,
        *,
        preset: str = "default",
        imbalance: float = IMBALANCE,
        threads: int | None = None,
        options: Mapping[str, Any] = NO_CHANGES,
    ) -> list[Run]:
        """Return the runs of a tool on a graph, one for each seed; experiments share them.

        `options` are changes of the preset by name, for jetpy only.

        Raises
        ------
        Unavailable
            If the tool is not installed.
        """
        count = threads or self.threads

        def measure() -> list[Run]:
            is_first = tool not in self._used
            seeds = [0] * is_first + list(range(self.seeds))  # a tool's first run loads its code
            if tool.startswith(JETPY):
                how: dict[str, Any] = {"preset": preset, "options": options, "threads": count}
                how |= {"imbalance": imbalance, "backend": tool.removeprefix(JETPY)}
                found = (self._run(instance, k, seed, how) for seed in seeds)
            else:
                found = self._runs_of_peer(tool, seeds, instance, k, imbalance, count)
            try:
                runs = list(found)[is_first:]
            except (ImportError, BackendError) as error:
                raise Unavailable(str(error)) from error
            self._used.add(tool)
            return runs

        key = (tool, instance.name, k, preset, imbalance, count, *sorted(options.items()))
        return self.keep(key, measure)

    def partition(self, instance: Instance, k: int, seed: int, **how: Any) -> Partition:
        """Partition a graph with jetpy, `how` as for `jetpy.partition`; the result is not kept."""
        chosen = {"backend": self.backend, "threads": self.threads, **how}
        return partition(self.graph(instance), k, seed=seed, **chosen)

    def _run(self, instance: Instance, k: int, seed: int, how: Mapping[str, Any]) -> Run:
        found = self.partition(instance, k, seed, **how)
        return Run(found.cut, found.feasible, found.seconds, found.levels)

    def _runs_of_peer(
        self,
        tool: str,
        seeds: Iterable[int],
        instance: Instance,
        k: int,
        imbalance: float,
        threads: int,
    ) -> Iterator[Run]:
        with tempfile.TemporaryDirectory() as folder:
            job = Job(self.graph(instance), Path(folder), "default", threads, imbalance)
            solve = TOOLS[tool].prepare(job)
            for seed in seeds:
                parts, seconds = solve(k, seed)
                verdict = judge(job, parts, k)
                yield Run(verdict.cut, verdict.feasible, seconds)


def median_cut(runs: Iterable[Run]) -> float:
    """Return the median cut of runs."""
    return median(run.cut for run in runs)


def median_seconds(runs: Iterable[Run], stage: str = "total") -> float:
    """Return the median seconds of runs, in total or of one of jetpy's stages."""
    return median(run.seconds[stage] for run in runs)


def or_missing(measure: Callable[[], float | str], missing: str) -> float | str:
    """Return what is measured, or the given reason if a tool that it needs is not installed."""
    try:
        return measure()
    except Unavailable:
        return missing
