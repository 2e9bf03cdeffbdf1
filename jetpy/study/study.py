"""A study in its folder: its current content, and additions to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jetpy.errors import JetpyError
from jetpy.study.cases import Case
from jetpy.study.files import (
    BATCHES,
    KERNELS,
    MODIFICATION,
    PERFORMANCE,
    TABLES,
    Row,
    is_copy,
    may_be_same_graph,
    timed_run,
    without_batches,
    without_kernels,
    write_checksums,
)
from jetpy.study.machine import (
    Machine,
    check_same,
    check_version,
    engine_name,
    joined_programs,
    read_machines,
    write_machines,
)
from jetpy.study.processes import DONE, TIME_LIMIT

FINAL = (DONE, TIME_LIMIT)
"""Statuses of runs that are not repeated."""


@dataclass(eq=False)
class Study:
    """A study in a folder, on a named machine.

    Attributes
    ----------
    folder : Path
    name : str
        Name of the machine in all tables.
    machines : dict of str to Machine
        All machines that made runs, by name.
    runs : dict
        Rows of existing runs, by key.
    classes : mapping of str to str
        Classes of graphs; graphs without a class may be missing.
    """

    folder: Path
    name: str
    machines: dict[str, Machine]
    runs: dict[tuple[str, ...], Row]
    classes: Mapping[str, str]

    @classmethod
    def opened(
        cls,
        folder: Path,
        name: str,
        machine: Machine,
        classes: Mapping[str, str] = MappingProxyType({}),
    ) -> Study:
        """Open a study, or begin a new one.

        Runs whose kernel timings or batches were lost do not count as existing, so they are
        repeated. `classes` are the classes of graphs; graphs that it does not contain keep
        theirs.

        Raises
        ------
        JetpyError
            If the folder holds something else, or a study by another version of jetpy, of another
            machine of this name, or with another program for a tool.
        """
        folder.mkdir(parents=True, exist_ok=True)
        machines = read_machines(folder) or {}
        for known in machines.values():
            check_version(folder, known, machine)
        if name in machines:
            known = machines[name]
            check_same(name, known, machine)
            programs = joined_programs(name, known, machine)
            machine = replace(machine, roofs=known.roofs, programs=programs)
        tables = {table: table.read(folder) for table in TABLES}
        runs = tables[PERFORMANCE]
        for run in runs:
            run["class"] = classes.get(run["graph"], run["class"])
        for table, rows in tables.items():
            if (folder / table.name).exists():
                table.write(folder, rows)
        incomplete = (
            *without_kernels(runs, tables[KERNELS]),
            *without_batches(runs, tables[BATCHES]),
        )
        lost = set(map(PERFORMANCE.key_of, incomplete))
        keyed = {key: row for row in runs if (key := PERFORMANCE.key_of(row)) not in lost}
        given = {run["graph"]: run["class"] for run in runs}
        study = cls(folder, name, machines, keyed, {**given, **classes})
        study.keep_machine(machine)
        return study

    @property
    def machine(self) -> Machine:
        """The machine of this process."""
        return self.machines[self.name]

    def keep_machine(self, machine: Machine) -> None:
        """Store the machine of this process."""
        self.machines[self.name] = machine
        write_machines(self.folder, self.machines)

    def key_of(self, case: Case) -> tuple[str, ...]:
        """Return the key of a run's row."""
        return PERFORMANCE.key_of(self._texts(case))

    def lacks(self, case: Case, repeats: int = 1) -> bool:
        """Return whether a run is missing, has too few repeats, or failed (but not by timeout)."""
        row = self.runs.get(self.key_of(case))
        if row is None or row["status"] not in FINAL:
            return True
        return row["status"] == DONE and int(row["repeats"]) < repeats

    def has_measured(self, case: Case, repeats: int = 1) -> bool:
        """Return whether a run was completed with enough repeats, and is not a copy."""
        row = self.runs.get(self.key_of(case))
        if row is None or row["status"] != DONE or is_copy(row):
            return False
        return not self.lacks(case, repeats)

    def check_graph(self, graph: Mapping[str, str]) -> None:
        """Check that a graph, given as in a row, is the study's graph of this name.

        Raises
        ------
        JetpyError
            If it is another graph.
        """
        if not all(may_be_same_graph(row, graph) for row in self.runs.values()):
            raise JetpyError(
                f"{self.folder} has runs of a different graph with the name {graph['graph']}; "
                "rename the file, or use another folder"
            )

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a run to the table."""
        PERFORMANCE.append(self.folder, [row])
        texts = {column: str(row[column]) for column in PERFORMANCE.columns}
        self.runs[PERFORMANCE.key_of(texts)] = texts

    def tidy(self) -> None:
        """Reduce the tables to one row per key, and write the checksums."""
        for table in TABLES:
            if rows := table.read(self.folder):
                table.write(self.folder, rows)
        write_checksums(self.folder, PERFORMANCE.read(self.folder))

    def has_kernels(self, case: Case) -> bool:
        """Return whether kernels were timed in this run with any seed."""
        own = timed_run(self._texts(case))
        return any(row["kernels"] and timed_run(row) == own for row in self.runs.values())

    def append_kernels(self, case: Case, kernels: Iterable[Mapping[str, Any]]) -> None:
        """Append the kernel timings of a run."""
        run = self._timed(case)
        KERNELS.append(self.folder, [{**run, **self._kernel(case, kernel)} for kernel in kernels])

    def repeat_kernels(self, same: Case, case: Case) -> None:
        """Append the kernel timings of `same` as those of `case`."""
        run, wanted = self._timed(case), timed_run(self._texts(same))
        rows = (row for row in KERNELS.read(self.folder) if timed_run(row) == wanted)
        KERNELS.append(self.folder, [{**row, **run} for row in rows])

    def append_batches(self, case: Case, batches: Iterable[Mapping[str, Any]]) -> None:
        """Append the batches of a run on a changing graph."""
        run = self._run(case)
        BATCHES.append(self.folder, [{**run, **_batch(batch)} for batch in batches])

    def repeat_batches(self, same: Case, case: Case) -> None:
        """Append the batches of `same` as those of `case`."""
        run, wanted = self._run(case), self.key_of(same)
        rows = (row for row in BATCHES.read(self.folder) if PERFORMANCE.key_of(row) == wanted)
        BATCHES.append(self.folder, [{**row, **run} for row in rows])

    def _run(self, case: Case) -> dict[str, str]:
        return dict(zip(PERFORMANCE.key, self.key_of(case), strict=True))

    def _timed(self, case: Case) -> dict[str, str]:
        return {name: text for name, text in self._texts(case).items() if name in KERNELS.columns}

    def _kernel(self, case: Case, kernel: Mapping[str, Any]) -> dict[str, Any]:
        """Return the cells of a kernel; the bandwidth share is empty for another engine."""
        seconds, moved, share = kernel["seconds"], kernel["bytes"], ""
        if moved and seconds and kernel["backend"] == case.backend:
            roofline = self.machine.roofs[engine_name(case.backend, case.threads)]
            share = f"{moved / seconds / roofline.bandwidth:.6f}"
        return {
            "kernel": kernel["name"],
            "engine": kernel["backend"],
            "calls": kernel["calls"],
            "seconds": f"{seconds:.9f}",
            "bytes": moved or "",
            "share": share,
        }

    def _texts(self, case: Case) -> dict[str, str]:
        """Return the fields of a run's key as text."""
        fields = {name: str(value) for name, value in case._asdict().items()}
        return {**fields, "machine": self.name}


def _batch(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of a batch, a `jetpy.study.changes.BatchRun` as a mapping."""
    seconds = {name: f"{batch[name]:.6f}" for name in ("seconds", MODIFICATION)}
    return {**batch, **seconds, "feasible": "yes" if batch["feasible"] else "no"}
