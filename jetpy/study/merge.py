"""Merging of the studies of several machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from jetpy.errors import JetpyError, count
from jetpy.study.files import (
    BATCHES,
    KERNELS,
    PERFORMANCE,
    TABLES,
    Row,
    Table,
    may_be_same_graph,
    without_batches,
    without_kernels,
    write_checksums,
)
from jetpy.study.machine import (
    FILE,
    Machine,
    check_same,
    check_version,
    joined_programs,
    read_machines,
    write_machines,
)


def merge(folders: Sequence[Path], target: Path) -> None:
    """Write the merged tables and machines of several studies to a folder.

    Raises
    ------
    JetpyError
        If a folder holds no study or has lost kernels or batches, or the target holds a study; if
        two machines have the same name, two studies have the same run with other results, two
        graphs of one name differ, or versions of jetpy differ.
    """
    if (target / PERFORMANCE.name).exists():
        raise JetpyError(f"{target} already contains a study; use another folder")
    for folder in folders:
        _check_whole(folder)
    machines = _machines(folders)
    joined = {table: _joined(table, folders) for table in TABLES}
    _check_graphs(joined[PERFORMANCE])
    target.mkdir(parents=True, exist_ok=True)
    write_machines(target, machines)
    for table, rows in joined.items():
        if any((folder / table.name).exists() for folder in folders):
            table.write(target, rows)
    write_checksums(target, joined[PERFORMANCE])


def _check_whole(folder: Path) -> None:
    if not (folder / PERFORMANCE.name).exists():
        raise JetpyError(f"{folder} is not the folder of a study: {PERFORMANCE.name} is missing")
    runs = PERFORMANCE.read(folder)
    for table, what, missing_in in (
        (KERNELS, "kernels", without_kernels),
        (BATCHES, "batches", without_batches),
    ):
        if lost := missing_in(runs, table.read(folder)):
            raise JetpyError(
                f"{folder / table.name} lacks the {what} of {count(len(lost), 'run')}, for example "
                f"{lost[0]['problem']} on {lost[0]['platform']}; repeat the command that made the "
                "study"
            )


def _machines(folders: Sequence[Path]) -> dict[str, Machine]:
    joined: dict[str, Machine] = {}
    for folder in folders:
        own = read_machines(folder)
        if own is None:
            raise JetpyError(f"{folder} is not the folder of a study: {FILE} is missing")
        for name, machine in own.items():
            known = joined.get(name, machine)
            check_same(name, known, machine)
            machine = replace(machine, programs=joined_programs(name, known, machine))
            for other in joined.values():
                check_version(folder, machine, other)
            joined[name] = machine
    return joined


def _joined(table: Table, folders: Sequence[Path]) -> list[Row]:
    by_key: dict[tuple[str, ...], Row] = {}
    for folder in folders:
        for row in table.read(folder):
            key = table.key_of(row)
            if by_key.setdefault(key, row) != row:
                raise JetpyError(
                    f"{folder}: {table.name} and the table of an earlier folder have different "
                    f"rows for {' '.join(filter(None, key))}; give each machine its own name "
                    "(--machine)"
                )
    return list(by_key.values())


def _check_graphs(rows: Sequence[Row]) -> None:
    graphs: dict[tuple[str, ...], Row] = {}
    for row in rows:
        graphs.setdefault(tuple(row[column] for column in ("graph", "n", "m", "graph_sha")), row)
    for one, other in combinations(graphs.values(), 2):
        if not may_be_same_graph(one, other):
            raise JetpyError(
                f"two different graphs have the name {one['graph']}: size, edges, weights or the "
                "order of vertices differ. Rename the file of one, and run its study again"
            )
