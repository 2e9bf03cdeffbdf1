"""Make the runs that a study lacks, and append what they found to its tables at once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jetpy.errors import BackendError, JetpyError
from jetpy.graph import Graph
from jetpy.io import read_graph
from jetpy.io.compression import split_name
from jetpy.study.arrays import save_arrays
from jetpy.study.cases import JETPY, Case, Options, cases_of, engines
from jetpy.study.child import Task
from jetpy.study.files import (
    CHECKSUMS,
    KERNELS,
    PERFORMANCE,
    STAGE_COLUMNS,
    TABLES,
    Row,
    judge_equal,
)
from jetpy.study.machine import (
    Machine,
    Setting,
    check_same,
    engine_name,
    read_setting,
    write_setting,
)
from jetpy.study.processes import DONE, Outcome, run_apart
from jetpy.study.tools import PACKAGES
from jetpy.study.triad import Roof

Progress = Callable[[int, int], None]
"""Called with the runs made and the runs to make."""


@dataclass(eq=False)
class Study:
    """A study in a folder, on a machine that it gives a name.

    Attributes
    ----------
    folder : Path
    name : str
        Of the machine, in all tables.
    setting : Setting
    runs : dict
        Rows of the runs that there are, by key.
    """

    folder: Path
    name: str
    setting: Setting
    runs: dict[tuple[str, ...], Row]

    @classmethod
    def opened(cls, folder: Path, name: str, machine: Machine, imbalance: float) -> Study:
        """Begin or go on with a study.

        Raises
        ------
        JetpyError
            If what lies in the folder is no study, one with another imbalance, or one of another
            machine of this name.
        """
        folder.mkdir(parents=True, exist_ok=True)
        setting = read_setting(folder) or Setting(imbalance)
        if setting.imbalance != imbalance:
            raise JetpyError(
                f"{folder} is a study with an imbalance of {setting.imbalance}: use another folder"
            )
        if name in setting.machines:
            known = setting.machines[name]
            check_same(name, known, machine)
            machine = replace(machine, roofs=known.roofs)
        runs, *_ = [table.read(folder) for table in TABLES]  # refuses what is no study
        keyed = {PERFORMANCE.key_of(row): row for row in runs}
        study = cls(folder, name, setting, keyed)
        study.keep_machine(machine)
        return study

    @property
    def machine(self) -> Machine:
        """The machine that it runs on."""
        return self.setting.machines[self.name]

    def keep_machine(self, machine: Machine) -> None:
        """Write down what is known of the machine."""
        self.setting = self.setting.with_machine(self.name, machine)
        write_setting(self.folder, self.setting)

    def key_of(self, case: Case) -> tuple[str, ...]:
        """Return the key of a run's row."""
        return PERFORMANCE.key_of({**_texts(case), "machine": self.name})

    def lacks(self, case: Case) -> bool:
        """Whether a run has not been made."""
        return self.key_of(case) not in self.runs

    def append(self, row: dict[str, Any]) -> None:
        """Add a run."""
        PERFORMANCE.append(self.folder, [row])
        texts = {column: str(row[column]) for column in PERFORMANCE.columns}
        self.runs[PERFORMANCE.key_of(texts)] = texts


def installed(tools: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return which other partitioners are installed, and which are not."""
    found = [tool for tool in tools if find_spec(PACKAGES[tool])]
    return found, [tool for tool in tools if tool not in found]


def names_of(files: Sequence[Path]) -> dict[str, Path]:
    """Return files of graphs by the names that these have in tables.

    Raises
    ------
    JetpyError
        If two have the same name.
    """
    named: dict[str, Path] = {}
    for file in files:
        name = split_name(file)[0]
        if name in named:
            raise JetpyError(f"{named[name]} and {file} are both called {name}: rename one")
        named[name] = file
    return named


def measure_roofs(study: Study, options: Options) -> None:
    """Run Triad on the back ends for which that has not been done.

    Raises
    ------
    BackendError
        If a back end does not work.
    """
    for backend, threads in engines(options):
        name = engine_name(backend, threads)
        if name not in study.machine.roofs:
            outcome = run_apart("jetpy.study.triad", backend, threads, threads=threads)
            if outcome.status != DONE:
                raise BackendError(f"{backend}: {outcome.words or outcome.status}")
            study.keep_machine(study.machine.with_roof(name, Roof(**outcome.found)))


def make_runs(
    study: Study, files: Sequence[Path], options: Options, progress: Progress
) -> list[Row]:
    """Make all runs that are missing, and return the rows of those that failed.

    Raises
    ------
    JetpyError
        If a graph cannot be read, is not the one of this name that the study has, or one of
        jetpy's back ends is not there.
    """
    todo = {
        name: [case for case in cases_of(name, options) if study.lacks(case)]
        for name in names_of(files)
    }
    total, done = sum(map(len, todo.values())), 0
    failed = []
    for name, file in names_of(files).items():
        if not todo[name]:
            continue
        graph = read_graph(file)
        _check_graph(study, name, graph)
        with tempfile.TemporaryDirectory() as folder:
            save_arrays(Path(folder), graph)
            for case in todo[name]:
                progress(done, total)
                row = _row(study, case, graph, folder, options)
                study.append(row)
                if row["status"] != DONE:
                    failed.append(row)
                done += 1
    return failed


def _check_graph(study: Study, name: str, graph: Graph) -> None:
    sizes = str(graph.n), str(graph.m)
    if any(row["graph"] == name and (row["n"], row["m"]) != sizes for row in study.runs.values()):
        raise JetpyError(
            f"{study.folder} has runs of another graph called {name}: rename the file, or use "
            "another folder"
        )


def _row(study: Study, case: Case, graph: Graph, folder: str, options: Options) -> dict[str, Any]:
    """Make a run, or take that of a serial tool, and return its row."""
    about = {
        **_texts(case),
        "n": graph.n,
        "m": graph.m,
        "application": case.application,
        "problem": case.problem,
        "platform": case.platform(study.name),
        "coverage_key": "",
        "machine": study.name,
    }
    same = next(_same_run(study, case, options), None)
    if same is not None:
        if case.tool == JETPY:
            _repeat_kernels(study, same, case)
        return {**study.runs[study.key_of(same)], **about}
    profile = case.tool == JETPY and not _has_kernels(study, case)
    task = Task(case, folder, options.imbalance, options.time_limit, profile)
    outcome = run_apart(
        "jetpy.study.child",
        task.to_json(),
        threads=case.threads,
        time_limit=options.time_limit,
    )
    if case.tool == JETPY and outcome.status == DONE:
        _keep_details(study, case, outcome.found)
    return {**about, "date": _now(), **_measured(outcome)}


def _same_run(study: Study, case: Case, options: Options) -> Iterator[Case]:
    """Yield runs that more threads would only repeat."""
    if not case.uses_threads:
        for threads in options.threads:
            other = case._replace(threads=threads)
            if not study.lacks(other) and study.runs[study.key_of(other)]["status"] == DONE:
                yield other


def _repeat_kernels(study: Study, same: Case, case: Case) -> None:
    """Append what the kernels of a run took as what those of another would."""
    known, own = ({**_texts(c), "machine": study.name} for c in (same, case))
    shared = [column for column in KERNELS.columns if column in own]
    KERNELS.append(
        study.folder,
        [
            {**row, **{column: own[column] for column in shared}}
            for row in KERNELS.read(study.folder)
            if all(row[column] == known[column] for column in shared)
        ],
    )


_DETAILS = (*STAGE_COLUMNS, "launches")
_NOTHING = dict.fromkeys(("fom", "fom_cut", "cut", "imbalance", "seconds", *_DETAILS), "")


def _measured(outcome: Outcome) -> dict[str, Any]:
    if outcome.status != DONE:
        return {**_NOTHING, "feasible": "no", "status": outcome.status}
    found = outcome.found
    seconds, feasible = f"{found['seconds']:.6f}", found["feasible"]
    return {
        **_NOTHING,
        **{name: found[name] for name in _DETAILS if name in found},
        "fom": seconds if feasible else "",
        "fom_cut": found["cut"] if feasible else "",
        "cut": found["cut"],
        "imbalance": found["imbalance"],
        "feasible": "yes" if feasible else "no",
        "seconds": seconds,
        "status": DONE,
    }


def _keep_details(study: Study, case: Case, found: dict[str, Any]) -> None:
    """Append the checksum, and what kernels took."""
    own = {**_texts(case), "machine": study.name}
    checksum = {column: own[column] for column in CHECKSUMS.key} | {"sha": found["sha"]}
    rows = [row for row in CHECKSUMS.read(study.folder) if _differs(row, checksum)]
    CHECKSUMS.append(study.folder, judge_equal([*rows, checksum])[-1:])
    run = {column: own[column] for column in KERNELS.columns if column in own}
    KERNELS.append(
        study.folder, [{**run, **_kernel(study, case, kernel)} for kernel in found["kernels"]]
    )


def _differs(row: Row, other: Row) -> bool:
    return CHECKSUMS.key_of(row) != CHECKSUMS.key_of(other)


def _kernel(study: Study, case: Case, kernel: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of a kernel; no share of a bandwidth that is not that of its engine."""
    seconds, moved, share = kernel["seconds"], kernel["bytes"], ""
    if moved and seconds and kernel["backend"] == case.backend:
        roof = study.machine.roofs[engine_name(case.backend, case.threads)]
        share = f"{moved / seconds / roof.bandwidth:.6f}"
    return {
        "kernel": kernel["name"],
        "engine": kernel["backend"],
        "calls": kernel["calls"],
        "seconds": f"{seconds:.9f}",
        "bytes": moved or "",
        "share": share,
    }


def _has_kernels(study: Study, case: Case) -> bool:
    """Whether another seed of a run has told what its kernels take."""
    own = {**_texts(case), "machine": study.name}
    columns = [column for column in KERNELS.key if column in own]
    return any(
        all(row[column] == own[column] for column in columns) for row in KERNELS.read(study.folder)
    )


def _texts(case: Case) -> dict[str, str]:
    return {name: str(value) for name, value in case._asdict().items()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
