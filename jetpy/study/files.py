"""The tables of a study: rows are appended immediately, and existing rows never change."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jetpy.errors import JetpyError
from jetpy.io.atomic import atomic_write
from jetpy.multilevel.execution import STAGES
from jetpy.study.cases import JETPY, Problem
from jetpy.study.changes import changes_in
from jetpy.study.processes import DONE

Row = dict[str, str]
ALLOWED = "allowed_imbalance"
"""Column with the imbalance that a run may have; the column `imbalance` is that of its parts."""
STAGE_COLUMNS = tuple(f"{stage}_seconds" for stage in STAGES)
"""Columns with the seconds of each stage of jetpy's runs."""
FINEST = "finest_seconds"
"""Column with the seconds that jetpy's runs spend on the finest level, as `child` defines them."""
MODIFICATION = "modification_seconds"
"""Column with the seconds in which a changing graph is modified."""
_PROBLEM = ("graph", "k", ALLOWED, "mapping", "changes")
_RUN = (*_PROBLEM, "tool", "preset", "backend", "threads", "seed", "machine")


@dataclass(frozen=True)
class Table:
    """A CSV file: its name, its columns, and the columns that form the key of a row."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    def key_of(self, row: Mapping[str, str]) -> tuple[str, ...]:
        """Return the key of a row."""
        return tuple(row[column] for column in self.key)

    def read(self, folder: Path) -> list[Row]:
        """Return the rows, the last one of each key; none if the file does not exist.

        An unfinished last line is ignored.

        Raises
        ------
        JetpyError
            If the file or one of its lines has other columns.
        """
        path = folder / self.name
        if not path.exists():
            return []
        text = path.read_text(encoding="utf-8")
        reader = csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
        header = next(reader, None)
        if header is None:
            return []
        if header != list(self.columns):
            raise JetpyError(
                f"{path}: the columns do not match this version of jetpy; use another folder"
            )
        rows = {}
        for cells in reader:
            if len(cells) != len(header):
                raise JetpyError(
                    f"{path}, line {reader.line_num}: the line has {len(cells)} cells, but must "
                    f"have {len(header)}; remove the line"
                )
            row = dict(zip(header, cells, strict=True))
            rows[self.key_of(row)] = row
        return list(rows.values())

    def append(self, folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows to the file, which is created if necessary; drop an unfinished last line."""
        content = io.StringIO(newline="")
        writer = csv.DictWriter(content, self.columns, lineterminator="\n")
        with open(folder / self.name, "a+b") as stream:
            stream.seek(0)
            size = stream.read().rfind(b"\n") + 1
            stream.truncate(size)
            if not size:
                writer.writeheader()
            writer.writerows(rows)
            stream.write(content.getvalue().encode())

    def write(self, folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write the whole file."""
        content = io.StringIO(newline="")
        writer = csv.DictWriter(content, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        with atomic_write(folder / self.name) as stream:
            stream.write(content.getvalue().encode())


PERFORMANCE = Table(
    "performance.csv",
    (
        *("date", "fom", "fom_cut", "application", "problem", "platform", "coverage_key"),
        *("graph", "class", "n", "m", "graph_sha", "k", ALLOWED, "mapping", "changes"),
        *("tool", "preset", "backend", "threads"),
        *("measured_threads", "seed", "cut", "cost", "imbalance", "feasible", "parts_sha"),
        *("repeats", "seconds", "seconds_min", "seconds_max", MODIFICATION),
        *(*STAGE_COLUMNS, FINEST, "launches", "kernels", "status", "machine"),
    ),
    _RUN,
)
"""One row per run. The first seven columns are those that p3-analysis-library reads.

`measured_threads` differs from `threads` if the row is a copy of a run that would be the same.
`kernels` is the run's number of rows in the other table; empty if its kernels were not timed.
"""
KERNELS = Table(
    "kernels.csv",
    (
        *(*_PROBLEM, "preset", "backend", "threads", "kernel", "engine"),
        *("calls", "seconds", "bytes", "share", "machine"),
    ),
    (*_PROBLEM, "preset", "backend", "threads", "kernel", "engine", "machine"),
)
"""One row per kernel of a run; `engine` is its back end, the host of a GPU on small levels."""
BATCHES = Table(
    "batches.csv",
    (
        *(*_RUN, "batch", "seconds", MODIFICATION, "cut", "imbalance", "feasible", "moved"),
        "action",
    ),
    (*_RUN, "batch"),
)
"""One row per batch of a run on a changing graph; the file is missing if there is none."""
TABLES = (PERFORMANCE, KERNELS, BATCHES)
CHECKSUMS = Table(
    "checksums.csv",
    (
        *(*_PROBLEM, "preset", "seed", "backend", "threads", "machine", "parts_sha"),
        "equal",
    ),
    (*_PROBLEM, "preset", "seed", "backend", "threads", "machine"),
)
"""One row per run of jetpy, derived from `PERFORMANCE`: whether the parts `equal` the first."""
_TIMED = (*_PROBLEM, "preset", "backend", "threads", "machine")
_PARTS = (*_PROBLEM, "preset", "seed")


def problem_in(row: Mapping[str, str]) -> Problem:
    """Return the problem of a row."""
    return Problem(row["graph"], int(row["k"]), float(row[ALLOWED]), row["mapping"], row["changes"])


def objective(row: Mapping[str, str]) -> str:
    """Return what a run minimises: the cost of a mapping, or the (mean) cut of a partition."""
    return row["cost"] if row["mapping"] else row["cut"]


def timed_run(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return the key of runs whose kernels are timed: all fields but the seed."""
    return tuple(row[column] for column in _TIMED)


def may_be_same_graph(row: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether two rows have graphs of different names, or possibly the same graph.

    The latter requires equal sizes, and equal checksums if both are known.

    >>> known = {"graph": "mesh", "n": "9", "m": "12", "graph_sha": "x"}
    >>> may_be_same_graph(known, {**known, "graph_sha": ""})
    True
    >>> may_be_same_graph(known, {**known, "graph_sha": "y"})
    False
    """
    if row["graph"] != other["graph"]:
        return True
    shas = {row["graph_sha"], other["graph_sha"]} - {""}
    return (row["n"], row["m"]) == (other["n"], other["m"]) and len(shas) <= 1


def is_copy(row: Mapping[str, str]) -> bool:
    """Return whether a row is a copy of a run that more threads would only repeat."""
    return row["measured_threads"] != row["threads"]


def compared(runs: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """Return runs of jetpy that should find the same parts.

    The keys are graph, k, allowed imbalance, machine of a mapping, changes, preset and seed.
    """
    runs_of: dict[tuple[str, ...], list[Row]] = {}
    for row in runs:
        if row["tool"] == JETPY and row["parts_sha"] and not is_copy(row):
            key = tuple(row[column] for column in _PARTS)
            runs_of.setdefault(key, []).append(row)
    return runs_of


def write_checksums(folder: Path, runs: Iterable[Row]) -> None:
    """Write the checksums of the parts of jetpy's runs, and whether they are equal."""
    CHECKSUMS.write(
        folder,
        (
            {
                **{column: row[column] for column in CHECKSUMS.columns if column != "equal"},
                "equal": "yes" if row["parts_sha"] == same[0]["parts_sha"] else "no",
            }
            for same in compared(runs).values()
            for row in same
        ),
    )


def without_kernels(runs: Iterable[Row], kernels: Iterable[Row]) -> list[Row]:
    """Return runs whose kernels were timed but are not all in the table of kernels.

    >>> run = {"graph": "a", "k": "2", "allowed_imbalance": "0.03", "mapping": "", "changes": ""}
    >>> run |= {"preset": "fast", "backend": "cpu", "threads": "1", "machine": "box"}
    >>> len(without_kernels([{**run, "kernels": "2"}, {**run, "kernels": ""}], [run]))
    1
    """
    kept = Counter(map(timed_run, kernels))
    return [row for row in runs if kept[timed_run(row)] < int(row["kernels"] or 0)]


def without_batches(runs: Iterable[Row], batches: Iterable[Row]) -> list[Row]:
    """Return completed runs on changing graphs whose batches are not all in their table.

    >>> run = dict.fromkeys(PERFORMANCE.columns, "") | {"changes": "50x2", "status": "done"}
    >>> batches = [dict.fromkeys(BATCHES.columns, "") | {"changes": "50x2"}]
    >>> len(without_batches([run], batches)), len(without_batches([run], 2 * batches))
    (1, 0)
    """
    kept = Counter(map(PERFORMANCE.key_of, batches))
    return [
        row
        for row in runs
        if row["changes"]
        and row["status"] == DONE
        and kept[PERFORMANCE.key_of(row)] < changes_in(row["changes"]).batches
    ]
