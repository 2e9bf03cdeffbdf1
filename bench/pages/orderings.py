"""The table of orderings: `bench.orderings`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from bench.ordering_tools import AMD, BASELINE, MT_METIS
from bench.orderings import Results, better_rows, by_matrix, mean_rows
from bench.pages.table import Cells
from bench.records import Record, is_jetpy, read_records
from jetpy.choices import OrderingPreset

MILLION = 1_000_000
TITLES = {
    **{f"jetpy/{preset}": f"`{preset}`" for preset in get_args(OrderingPreset)},
    "jetpy/minimum_degree": "`minimum_degree`",
    AMD: "AMD",
    MT_METIS: "mt-METIS",
}
"""Names of the tools in the table."""
HEADERS = [
    *("order", "matrices", "fill", "operations", "worst operations", "height"),
    *("critical path", "time"),
]

SIZES = {
    "0.1 to 1 million": lambda n: n < MILLION,
    "1 million and more": lambda n: n >= MILLION,
}
"""Ranges of the numbers of rows."""


def results(paths: Sequence[Path]) -> tuple[Results, int]:
    """Return the records of half B by tool and matrix, and jetpy's number of threads.

    If jetpy has run with several numbers of threads, the largest number counts. It has run on one
    back end.
    """
    records: list[Record] = [record for path in paths for record in read_records(path)]
    own = [record for record in records if is_jetpy(record["tool"])]
    threads = max(record["threads"] for record in own)
    (backend,) = {record["backend"] for record in own}
    return by_matrix((r for r in records if r["half"] == "B"), threads, backend), threads


def rows_of(found: Results, *first: str) -> list[list[str]]:
    """Return a row per tool, after cells that all rows have: means over METIS_NodeND."""
    rows = []
    for tool, number, fill, operations, worst, height, path, _, time, _ in mean_rows(found):
        if tool != BASELINE:
            rows.append([*first, TITLES[tool], number, fill, operations, worst, height, path, time])
    return rows


def by_order(*paths: Path) -> Cells:
    """Return a row per tool, for half B: geometric means over METIS_NodeND, the worst matrix."""
    found, _ = results(paths)
    return Cells(HEADERS, rows_of(found))


def by_size(*paths: Path) -> Cells:
    """Return a row per range of sizes and tool, for half B: means over METIS_NodeND."""
    found, _ = results(paths)
    rows = []
    for title, is_inside in SIZES.items():
        every = {
            tool: {name: record for name, record in records.items() if is_inside(record["n"])}
            for tool, records in found.items()
        }
        rows += rows_of({tool: records for tool, records in every.items() if records}, title)
    return Cells(["rows", *HEADERS], rows)


def over_the_better(paths: Sequence[Path]) -> list[str]:
    """Return jetpy's threads, the matrices of half B, and the operations of each preset.

    The operations are geometric means over the better of METIS and AMD on each matrix.
    """
    found, threads = results(paths)
    rows = {tool: row for tool, *row in better_rows(found)}
    presets = [rows[f"jetpy/{preset}"] for preset in get_args(OrderingPreset)]
    return [str(threads), presets[0][0], *(operations for _, _, operations, _ in presets)]
