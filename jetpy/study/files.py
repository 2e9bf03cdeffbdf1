"""The tables of a study: a row is appended at once, and rows that are there are never changed."""

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
from jetpy.multilevel.outcome import STAGES
from jetpy.study.cases import JETPY, Problem

Row = dict[str, str]
STAGE_COLUMNS = tuple(f"{stage}_seconds" for stage in STAGES)
"""Of jetpy's runs: what each stage took."""


@dataclass(frozen=True)
class Table:
    """A CSV file: its name, its columns, and those of them that tell rows apart."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    def key_of(self, row: Mapping[str, str]) -> tuple[str, ...]:
        """Return what tells a row from others."""
        return tuple(row[column] for column in self.key)

    def read(self, folder: Path) -> list[Row]:
        """Return the rows, of each key the last; none if there is no such file.

        A last line that was not finished does not count.

        Raises
        ------
        JetpyError
            If the file has other columns, or a line of it has.
        """
        path = folder / self.name
        if not path.exists():
            return []
        text = path.read_text(encoding="utf-8")
        reader = csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
        header = next(reader, None)
        if header is None:
            return []
        if tuple(header) != self.columns:
            raise JetpyError(
                f"{path}: its columns are not those of a study by this version of jetpy; use "
                "another folder"
            )
        rows = {}
        for cells in reader:
            if len(cells) != len(self.columns):
                raise JetpyError(
                    f"{path}, line {reader.line_num}: {len(cells)} cells, not "
                    f"{len(self.columns)}; remove the line"
                )
            row = dict(zip(self.columns, cells, strict=True))
            rows[self.key_of(row)] = row
        return list(rows.values())

    def append(self, folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows at the end of the file, begun if need be; an unfinished last line goes."""
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
        *("graph", "n", "m", "graph_sha", "k", "tool", "preset", "backend", "threads"),
        *("measured_threads", "seed", "cut", "imbalance", "feasible", "parts_sha"),
        *("repeats", "seconds", "seconds_min", "seconds_max", *STAGE_COLUMNS),
        *("launches", "kernels", "status", "machine"),
    ),
    ("graph", "k", "tool", "preset", "backend", "threads", "seed", "machine"),
)
"""A row a run. The first seven columns are those that p3-analysis-library reads.

`measured_threads` differs from `threads` where a run stands for one that would be the same.
`kernels` is how many rows the other table has of it; empty if its kernels were not timed.
"""
KERNELS = Table(
    "kernels.csv",
    (
        *("graph", "k", "preset", "backend", "threads", "kernel", "engine"),
        *("calls", "seconds", "bytes", "share", "machine"),
    ),
    ("graph", "k", "preset", "backend", "threads", "kernel", "engine", "machine"),
)
"""A row for each kernel of a run; `engine` is what ran it, a GPU's host on small levels."""
TABLES = (PERFORMANCE, KERNELS)
CHECKSUMS = Table(
    "checksums.csv",
    ("graph", "k", "preset", "seed", "backend", "threads", "machine", "parts_sha", "equal"),
    ("graph", "k", "preset", "seed", "backend", "threads", "machine"),
)
"""A row for each run of jetpy's own, taken from those of the runs: `equal` to the first or not."""
_TIMED = ("graph", "k", "preset", "backend", "threads", "machine")


def problem_in(row: Mapping[str, str]) -> Problem:
    """Return the problem that a row of a table is about."""
    return Problem(row["graph"], int(row["k"]))


def timed_run(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return what tells runs whose kernels are timed from others: all but the seed."""
    return tuple(row[column] for column in _TIMED)


def may_be_same_graph(row: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two rows are of graphs of different names, or of what may be one graph.

    That is so if sizes are equal, and checksums where both are known.

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
    """Whether a run stands for one that would be the same with more threads."""
    return row["measured_threads"] != row["threads"]


def compared(runs: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """Return runs of jetpy that should find the same parts, by graph, k, preset and seed."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in runs:
        if row["tool"] == JETPY and row["parts_sha"] and not is_copy(row):
            key = tuple(row[column] for column in ("graph", "k", "preset", "seed"))
            found.setdefault(key, []).append(row)
    return found


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
    """Return runs whose kernels were timed, but are not all in the table of kernels.

    >>> run = {"graph": "a", "k": "2", "preset": "fast", "backend": "cpu", "threads": "1"}
    >>> run |= {"machine": "box"}
    >>> len(without_kernels([{**run, "kernels": "2"}, {**run, "kernels": ""}], [run]))
    1
    """
    kept = Counter(map(timed_run, kernels))
    return [row for row in runs if kept[timed_run(row)] < int(row["kernels"] or 0)]
