"""The options of a study, and its list of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from jetpy import choices
from jetpy.device.backends import ON_GPU
from jetpy.study.changes import from_scratch
from jetpy.study.mappers import MAPPERS, machine_in
from jetpy.study.programs import PROGRAMS
from jetpy.study.tools import PEERS

How = tuple[str, str, str, int]
"""Tool, preset or method, back end and threads of a run."""
JETPY = "jetpy"
GPU = "gpu"
"""Back end of other partitioners that run on a GPU."""
SERIAL = ("kokkos-serial",)
"""Back ends that always use one thread; all others on CPUs count as threaded."""
FAMILIES: dict[str, str] = {
    "cpu": "",
    "cuda": "",
    "kokkos-openmp": " kokkos",
    "kokkos-cuda": " kokkos",
}
"""Suffix of the application name for each back end. Back ends of equal suffix form a family, which
counts as one program: one of them runs on each platform. Other back ends are separate families.
"""


@dataclass(frozen=True)
class Options:
    """The options of a study.

    Attributes
    ----------
    ks : tuple of int
        Numbers of parts.
    backends, presets : tuple of str
        Back ends and presets of jetpy.
    tools : tuple of str
        Other partitioners, of `jetpy.study.tools.PEERS`.
    threads, seeds : tuple of int
    imbalances : tuple of float
        Allowed imbalances.
    time_limit : float
        Seconds after which a run is stopped.
    repeats : int
        Number of repetitions of each run.
    programs : mapping of str to Path
        Programs of `jetpy.study.programs.PROGRAMS`.
    programs_on_gpu : bool
        Whether these programs use the GPU.
    machines : tuple of str
        Machines to map onto, as text of `jetpy.study.mappers.machine_text`.
    methods : tuple of str
        Methods of jetpy's mappings.
    changes : tuple of str
        Batches of modifiers, as text of `jetpy.study.changes.Changes`; with all `ks`.
    """

    ks: tuple[int, ...]
    backends: tuple[choices.Backend, ...]
    presets: tuple[choices.Preset, ...]
    tools: tuple[str, ...]
    threads: tuple[int, ...]
    seeds: tuple[int, ...]
    imbalances: tuple[float, ...]
    time_limit: float
    repeats: int = 1
    programs: Mapping[str, Path] = field(default_factory=dict)
    programs_on_gpu: bool = False
    machines: tuple[str, ...] = ()
    methods: tuple[choices.Method, ...] = ()
    changes: tuple[str, ...] = ()


class Problem(NamedTuple):
    """A graph, a number of parts and an allowed imbalance; seeds do not distinguish problems.

    The problem of a mapping also has the text of the machine, and as many parts as PEs. That of a
    changing graph has the text of its changes.

    >>> str(Problem("mesh", 8, 0.03)), str(Problem("mesh", 8, 0.03, "4:2/1:10"))
    ('mesh k=8 imbalance=0.03', 'mesh k=8 imbalance=0.03 mapping=4:2/1:10')
    >>> str(Problem("mesh", 8, 0.03, changes="500x10"))
    'mesh k=8 imbalance=0.03 changes=500x10'
    """

    graph: str
    k: int
    imbalance: float
    mapping: str = ""
    changes: str = ""

    def __str__(self) -> str:
        onto = f" mapping={self.mapping}" * bool(self.mapping)
        changes = f" changes={self.changes}" * bool(self.changes)
        return f"{self.graph} k={self.k} imbalance={self.imbalance}{onto}{changes}"


class Case(NamedTuple):
    """A run: a problem and a configuration.

    `backend` is empty for other partitioners, and `GPU` for those that use the GPU. `threads` is
    the maximum number of threads of a run, 1 for a GPU. `mapping` is the machine of a mapping; then
    `preset` is jetpy's method. `changes` are those of a changing graph; then `preset` distinguishes
    jetpy's partitions from scratch.
    """

    graph: str
    k: int
    allowed_imbalance: float
    tool: str
    preset: str
    backend: str
    threads: int
    seed: int
    mapping: str = ""
    changes: str = ""

    @property
    def application(self) -> str:
        """Name of the application: jetpy with preset and family of back ends, or a tool."""
        return application_of(self.tool, self.preset, self.backend)

    @property
    def problem(self) -> str:
        """Name of the problem."""
        return str(Problem(self.graph, self.k, self.allowed_imbalance, self.mapping, self.changes))

    @property
    def uses_threads(self) -> bool:
        """Whether the run can use more than one thread."""
        if self.tool == JETPY:
            return self.backend not in (*ON_GPU, *SERIAL)
        if self.mapping:
            return MAPPERS[self.tool].threaded
        return self.tool in PROGRAMS or PEERS[self.tool].threaded

    def platform(self, machine: str) -> str:
        """Return the name of the platform: a machine's GPU, or a number of its threads."""
        return platform_of(machine, self.backend, self.threads)


def application_of(tool: str, preset: str, backend: str) -> str:
    """Return the name of an application.

    >>> application_of("jetpy", "fast", "kokkos-cuda"), application_of("kahip", "fast", "")
    ('jetpy/fast kokkos', 'kahip')
    >>> application_of("jetpy", "fast", "one-of-yours")
    'jetpy/fast one-of-yours'
    """
    return f"{tool}/{preset}{family_of(backend)}" if tool == JETPY else tool


def family_of(backend: str) -> str:
    """Return the suffix of application names for a back end's family."""
    return FAMILIES.get(backend, f" {backend}")


def runs_on(tool: str, backend: str, *, gpu: bool) -> bool:
    """Return whether a run's application supports GPUs (`gpu`) or CPUs.

    >>> [runs_on("jetpy", "cpu", gpu=gpu) for gpu in (False, True)]
    [True, True]
    >>> runs_on("jetpy", "kokkos-serial", gpu=True), runs_on("metis", "", gpu=True)
    (False, False)
    >>> runs_on("jet", "gpu", gpu=False), runs_on("gpu-heipa", "gpu", gpu=False)
    (True, False)
    """
    if tool in PROGRAMS:
        return gpu or PROGRAMS[tool].on_cpu
    if tool != JETPY:
        return not gpu
    family = family_of(backend)
    return any((own in ON_GPU) == gpu for own in (backend, *FAMILIES) if family_of(own) == family)


def platform_of(machine: str, backend: str, threads: int) -> str:
    """Return the name of the platform of a run.

    >>> platform_of("laptop", "cpu", 2)
    'laptop cpu-2'
    """
    return f"{machine} {device_of(backend, threads)}"


def device_of(backend: str, threads: int) -> str:
    """Return the name of the device that a back end uses.

    >>> device_of("cpu", 2), device_of("cuda", 1)
    ('cpu-2', 'gpu')
    """
    return "gpu" if backend in (*ON_GPU, GPU) else f"cpu-{threads}"


def engines(options: Options) -> Iterator[tuple[choices.Backend, int]]:
    """Yield jetpy's back ends, each with every number of threads."""
    for backend in options.backends:
        for threads in (1,) if backend in ON_GPU else options.threads:
            yield backend, threads


def cases_of(graph: str, options: Options) -> list[Case]:
    """Return all runs on one graph; runs with few parts come first."""
    backend, threads_of = (GPU, (1,)) if options.programs_on_gpu else ("", options.threads)
    programs = [
        (name, PROGRAMS[name].preset, backend, threads)
        for name in options.programs
        for threads in threads_of
    ]
    peers = _peers(options)
    partitioners = [*_ours(options.presets, options), *peers, *programs]
    mappers = [
        (tool, MAPPERS[tool].preset, "", threads)
        for tool in options.tools
        if tool in MAPPERS
        for threads in options.threads
    ]
    again = [from_scratch(preset) for preset in options.presets]
    followers = [*_ours([*options.presets, *again], options), *peers]
    with_ks = [(k, "", "") for k in options.ks]
    with_machines = [(machine_in(text).k, text, "") for text in options.machines]
    with_changes = [(k, "", text) for k in options.ks for text in options.changes]
    return [
        Case(graph, k, imbalance, *how, seed, mapping, changes)
        for problems, tools in (
            (with_ks, partitioners),
            (with_machines, [*_ours(options.methods, options), *mappers]),
            (with_changes, followers),
        )
        for k, mapping, changes in problems
        for imbalance in options.imbalances
        for seed in options.seeds
        for how in tools
    ]


def _ours(presets: Iterable[str], options: Options) -> list[How]:
    """Return jetpy's back ends with every number of threads, for each preset or method."""
    return [
        (JETPY, preset, backend, threads)
        for preset in presets
        for backend, threads in engines(options)
    ]


def _peers(options: Options) -> list[How]:
    """Return other partitioners with every number of threads."""
    return [
        (tool, PEERS[tool].preset or "", "", threads)
        for tool in options.tools
        if tool in PEERS
        for threads in options.threads
    ]
